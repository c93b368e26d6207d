// The console in a real Chromium: two admins, every page, every button.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PATIENCE, World } from './world.mjs';

const [EVM, TRON] = [139, 136];

let world;
let alice;
let bob;
before(async () => {
  world = await World.start();
  [alice, bob] = [await world.admin('alice'), await world.admin('bob')];
});
after(async () => world?.close());

const open = (page, name) => page.goto(`${world.adminUrl}/${name}`);

/** Loads a page again until a place on it says what it should. */
async function until(page, selector, words) {
  const began = Date.now();
  for (;;) {
    const text = await page.locator(selector).first().textContent({ timeout: 1000 }).catch(() => '');
    if (words.test(text)) return text;
    assert.ok(Date.now() - began < PATIENCE, `${selector} says ${JSON.stringify(text)}, not ${words}`);
    await page.waitForTimeout(100);
    await page.reload();
  }
}

test('an admin says who they are', async () => {
  const page = await world.window();
  await page.goto(`${world.adminUrl}/plans`);
  assert.match(page.url(), /\/login$/);
  await world.look(page, 'console-login');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await page.textContent('#account'), 'bob', 'by keyboard alone');
});

test('a plan needs two admins', async () => {
  await open(alice, 'plans');
  await alice.fill('#planId', '41');
  await alice.selectOption('#plan-chain', String(TRON));
  await alice.fill('#plan-name', 'Silver');
  await alice.fill('#plan-amount', '2.5');
  await alice.click('#propose');
  await until(alice, `#plan-41-${TRON}-1`, /waits for another admin/);
  assert.equal(await alice.locator(`#approve-41-${TRON}-1`).count(), 0, 'not by the one who proposed it');
  await assert.rejects(world.link(TRON, 'too-early', 41), /./, 'a pending plan gives no links');
  await open(bob, 'plans');
  await until(bob, `#plan-41-${TRON}-1`, /Approve and sign/);
  await world.look(bob, 'console-plans');
  await bob.click(`#approve-41-${TRON}-1`);
  await until(bob, `#plan-41-${TRON}-1 .state`, /Active/);
  await world.link(TRON, 'in-time', 41);
  await alice.fill('#planId', '41');
  await alice.selectOption('#plan-chain', String(TRON));
  await alice.click('#propose');
  assert.match(await alice.textContent('#error'), /./, 'an id is used once');
  await world.look(alice, 'console-plans-refused');
});

test('a withdrawal is approved, another rejected, and what is old on a page is refused', async () => {
  const state = await world.state();
  const [evm] = state.chains.filter((chain) => chain.chainId === EVM);
  // What subscriptions have brought in so far.
  await world.control('fault', { kind: 'drain', chainId: EVM, wallet: evm.payee, amount: '500' });
  const apply = async (number) => {
    const answer = await world.call('POST', '/api/mer/withdraw/apply', {
      chainId: EVM, currencyId: 1391, withdrawAddress: evm.wallets[0].address, withdrawAmount: '1.25', outTradeNo: number,
      notifyUrl: `${world.shop.url}/withdrawals`,
    });
    assert.equal(answer.code, 200, JSON.stringify(answer));
    return answer.data.withdrawId;
  };
  const [good, bad] = [await apply('payout-1'), await apply('payout-2')];
  await open(alice, 'withdrawals');
  await open(bob, 'withdrawals');
  await world.look(bob, 'console-withdrawals');
  await bob.click(`#approve-${good}`);
  await bob.click(`#reject-${bad}`);
  await alice.click(`#reject-${good}`);
  assert.match(await alice.textContent('#error'), /does not wait for approval/);
  await until(bob, `#withdrawal-${good} .state`, /paid/);
  await until(bob, `#withdrawal-${bad} .state`, /reject/i);
  await world.look(bob, 'console-withdrawals-decided');
  const paid = await world.told((event) => event.outTradeNo === 'payout-1');
  assert.equal(paid.withdrawStatus, 0);
  assert.equal((await world.told((event) => event.outTradeNo === 'payout-2')).withdrawStatus, 5);
});

test('the organisation has an address for recharges, a user has deposits, and callbacks are sent again', async () => {
  await open(alice, 'organisation');
  await alice.fill('#rechargeCallbackUrl', `${world.shop.url}/recharge`);
  await alice.click('#save');
  assert.equal(await alice.inputValue('#rechargeCallbackUrl'), `${world.shop.url}/recharge`);
  await world.look(alice, 'console-organisation');
  const user = await world.call('POST', '/api/mer/user/create', { uuid: 'depositor' });
  const detail = await world.call('GET', '/api/mer/user/detail?uuid=depositor');
  const { walletAddress } = detail.data.userWallet.find((one) => one.chainId === TRON);
  await open(alice, 'controls');
  await alice.selectOption('#transfer-chain', String(TRON));
  await alice.fill('#transfer-to', walletAddress);
  await alice.fill('#transfer-amount', '7.5');
  await alice.click('#transfer');
  await open(alice, 'users');
  await until(alice, '#deposits tbody .state', /final/);
  assert.match(await alice.textContent('#deposits tbody'), /7\.5 USDT/);
  await world.look(alice, 'console-users');
  await alice.click(`#sweep-${user.data}-${TRON}`);
  assert.equal(await alice.locator('#error').count(), 0);
  const told = await world.told((event) => event.rechargeId);
  assert.equal(told.rechargeStatus, 0);

  await open(alice, 'callbacks');
  const row = alice.locator('details').filter({ hasText: String(told.rechargeId) }).filter({ hasText: 'recharge' }).first();
  await row.locator('summary').click();
  assert.match(await row.textContent(), /1 try/);
  await world.look(alice, 'console-callbacks');
  const heard = world.shop.heard.length;
  await row.locator('button').click();
  await world.told(() => world.shop.heard.length > heard);
  await open(alice, 'callbacks');
  await until(alice, 'details', /./);
  const again = alice.locator('details').filter({ hasText: '2 tries' });
  assert.equal(await again.count(), 1);
});

test('subscriptions and chains are listed', async () => {
  await world.link(EVM, 'somebody <b>bold</b>');
  await open(bob, 'subscriptions');
  assert.match(await bob.textContent('#subscriptions'), /somebody <b>bold<\/b>/, 'what a merchant sends is text');
  await world.look(bob, 'console-subscriptions');
  await open(bob, 'chains');
  assert.match(await bob.textContent(`#chain-${EVM} .state`), /up/);
  await world.look(bob, 'console-chains');
});

test('every control of the sandbox works by its button', async () => {
  await open(bob, 'controls');
  await world.look(bob, 'console-controls');
  const now = async () => (await world.state()).now;
  const press = async (id) => {
    await bob.click(`#${id}`);
    assert.equal(await bob.locator('#error').count(), 0, id);
  };
  const start = await now();
  await press('day');
  assert.ok((await now()) >= start + 86_400);
  await press('month');
  assert.ok((await now()) >= start + 31 * 86_400);
  for (const id of ['advance', 'blocks', 'reorg', 'fees', 'hold']) await press(id);
  assert.ok((await world.state()).held);
  const chain = async () => (await world.state()).chains.find((one) => one.chainId === EVM);
  const kind = (name) => bob.locator('form').filter({ has: bob.locator(`#${name}`) });
  await kind('hold').locator('select[name=on]').selectOption('false');
  await press('hold');
  assert.ok(!(await world.state()).held);
  await press('node-down');
  assert.ok((await chain()).nodeDown);
  await open(bob, 'chains');
  assert.match(await bob.textContent(`#chain-${EVM} .state`), /down/);
  await open(bob, 'controls');
  await kind('node-down').locator('select[name=on]').selectOption('false');
  await press('node-down');
  assert.ok(!(await chain()).nodeDown);
  await bob.fill('#drain-wallet', 'eve');
  await press('drain');
  await bob.fill('#revoke-wallet', 'eve');
  await press('revoke');
  await bob.fill('#block-wallet', 'eve');
  await press('block');
  await bob.fill('#fund-wallet', '0x00000000000000000000000000000000000000aa');
  await press('fund');
  await open(bob, 'chains');
  await until(bob, `h2:first-of-type ~ .scroll tr:has(td:text-is("eve"))`, /eve.*0 USDT/s);
  await open(bob, 'controls');
  await bob.fill('#drain-wallet', 'nobody');
  await bob.click('#drain');
  assert.match(await bob.textContent('#error'), /nobody/);
  await world.look(bob, 'console-controls-refused');
});
