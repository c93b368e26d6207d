// Every page and every flow in a real Chromium. `node --test sandbox/tests/browser`, after `cargo build -p sandbox`.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { World } from './world.mjs';
import { Wallet } from './wallet.mjs';

const [EVM, TRON] = [139, 136];
/** A key that the sandbox does not have. */
const OWN_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';

let world;
before(async () => (world = await World.start()));
after(async () => world?.close());

/** A user with a test wallet goes to the end of a link, and gives the order number. */
async function subscribe(page, link, wallet) {
  await page.goto(link);
  const order = await page.textContent('#order');
  await page.check(`#wallet-${wallet}`);
  await page.click('#confirm');
  await page.click('#sign');
  await page.click('#authorise');
  await page.waitForSelector('#done');
  return order;
}

/** Who, what and how much stand on the screen, before and above whatever can be pressed. */
async function known(page) {
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const said = await page.evaluate(() => {
      const told = ['merchant', 'plan', 'price'].map((id) => document.getElementById(id));
      const enabled = [...document.querySelectorAll('main form button')].filter((one) => !one.disabled && one.offsetParent);
      const before = (one) => told.every((place) => place.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
      const above = (one) => told.every((place) => place.getBoundingClientRect().bottom <= one.getBoundingClientRect().top || innerWidth > 600);
      const seen = told.every((place) => place.checkVisibility() && place.getBoundingClientRect().bottom <= innerHeight);
      return { words: told.map((place) => place.textContent), buttons: enabled.length, before: enabled.every(before), above: enabled.every(above), seen };
    });
    assert.ok(said.buttons > 0 && said.before && said.above && said.seen, `${width}: ${JSON.stringify(said)}`);
    assert.deepEqual(said.words.map((word) => word.length > 3), [true, true, true]);
    assert.match(said.words[2], /^10 USDT every month/);
  }
}

for (const [chain, name] of [[EVM, 'evm'], [TRON, 'tron']]) {
  test(`a user takes the three steps with a test wallet and leaves again, on ${name}`, async () => {
    const page = await world.window();
    await page.goto(await world.link(chain, `user-${name}`));
    assert.equal(await page.textContent('ol.steps li[aria-current=step]'), 'Wallet');
    await known(page);
    await world.look(page, `subscribe-1-confirm-${name}`);
    const order = await page.textContent('#order');
    await page.check('#wallet-cleo');
    await page.click('#confirm');
    await page.waitForSelector('#step-2');
    await world.look(page, `subscribe-2-sign-${name}`);
    await page.click('#sign');
    await page.waitForSelector('#step-3');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'step-3', 'whoever listens hears the step');
    await known(page);
    await world.look(page, `subscribe-3-authorise-${name}`);
    await page.fill('#amount', '9.99');
    assert.ok(await page.isChecked('#cap-other'), 'what is typed is chosen');
    await page.click('#authorise');
    assert.match(await page.textContent('#error'), /less than one period/);
    assert.ok(await page.isChecked('#cap-other'), 'the choice stands');
    assert.equal(await page.inputValue('#amount'), '9.99');
    await world.look(page, `subscribe-3-too-little-${name}`);
    await page.fill('#amount', '40');
    assert.equal(await page.textContent('#authorise'), 'Authorise 40 USDT', 'the button says what it does');
    await page.click('#authorise');
    await page.waitForSelector('#done');
    assert.match(await page.textContent('#authorised'), /You authorised 40 USDT\. That covers 4 periods\./);
    const { wallets } = (await world.state()).chains.find((one) => one.chainId === chain);
    assert.equal(wallets.find((one) => one.name === 'cleo').allowance, '40', 'the chain says the same');
    await world.look(page, `subscribe-4-done-${name}`);
    await page.waitForURL(`${world.shop.url}/thanks`);
    await world.told((event) => event.subscriptionType === 'SubscriptionApprove' && event.outTradeNo === order);

    await page.goto(await world.cancelLink(order));
    await world.look(page, `unsubscribe-1-${name}`);
    await page.click('#cancel:is(button)');
    await page.waitForSelector('#cancelled');
    await world.look(page, `unsubscribe-2-cancelled-${name}`);
    await page.click('#back');
    await page.waitForURL(`${world.shop.url}/bye`);
    await world.told((event) => event.subscriptionType === 'SubscriptionCancel' && event.outTradeNo === order);
    assert.deepEqual(page.complaints, []);
  });
}

test('it is dark where the system is', async () => {
  const page = await world.window({ colorScheme: 'dark' });
  await page.goto(await world.link(EVM, 'user-dark'));
  await page.check('#wallet-ben');
  await page.click('#confirm');
  await page.click('#sign');
  await page.waitForSelector('#step-3');
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
  assert.ok(Math.max(...paper) < 64, `${paper}`);
  await world.look(page, 'subscribe-3-dark');
});

test('another wallet may be chosen, a step may be reloaded, and a second window sees where the first is', async () => {
  const [page, link] = [await world.window(), await world.link(EVM, 'user-back')];
  await page.goto(link);
  await page.check('#wallet-dan');
  await page.click('#confirm');
  await page.click('#back-to-1');
  await page.check('#wallet-eve');
  await page.click('#confirm');
  await page.waitForSelector('#step-2');
  await page.reload();
  await page.waitForSelector('#step-2');
  const second = await world.window();
  await second.goto(link);
  await page.click('#sign');
  await page.waitForSelector('#step-3');
  // The second window still shows step 2, which is done.
  await second.click('#sign');
  assert.match(await second.textContent('#error'), /there is nothing to do at this step/);
  await second.waitForSelector('#step-3');
});

test('the page that waits for a block says so', async () => {
  const page = await world.window();
  const link = await world.link(TRON, 'user-waiting');
  await page.goto(link);
  await page.check('#wallet-ben');
  await page.click('#confirm');
  await world.control('hold', { on: true });
  await page.click('#sign');
  await page.waitForSelector('#waiting');
  assert.equal(await page.locator('main button:not(.copy)').count(), 0, 'there is nothing to press');
  // An answer without a page lets the browser stay where it is while the picture is taken.
  await page.route(link, (route) => route.fulfill({ status: 204 }));
  assert.match(await page.textContent('#waiting'), /Waiting for the next block/);
  await world.look(page, 'subscribe-waiting');
  await page.unroute(link);
  await page.goto(link);
  await page.waitForSelector('#waiting');
  await world.control('hold', { on: false });
  await page.waitForSelector('#step-3');
});

test('a transaction that the chain has lost is sent again by the user', async () => {
  const page = await world.window();
  await page.goto(await world.link(EVM, 'user-unlucky'));
  await page.check('#wallet-finn');
  await page.click('#confirm');
  await page.waitForSelector('#step-2');
  await world.control('hold', { on: true });
  await page.click('#sign');
  await page.waitForSelector('#waiting');
  await world.control('blocks', { count: 1 });
  await page.waitForSelector('#step-3');
  await world.control('fault', { kind: 'reorg', chainId: EVM, depth: 1, keep: false });
  await page.reload();
  assert.match(await page.textContent('#error'), /lost the last transaction/);
  await world.look(page, 'subscribe-2-lost');
  await page.click('#sign');
  await page.waitForSelector('#waiting');
  await world.control('hold', { on: false });
  await page.waitForSelector('#step-3');
});

test('by keyboard alone', async () => {
  const page = await world.window();
  await page.goto(await world.link(EVM, 'user-keys'));
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  await tabTo(page, 'wallet-ada');
  await page.keyboard.press('ArrowDown');
  assert.ok(await page.isChecked('#wallet-ben'), 'the arrow goes to the next wallet');
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#step-2');
  await tabTo(page, 'sign');
  assert.ok(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== 'none'), 'it is seen where one is');
  await page.keyboard.press('Space');
  await page.waitForSelector('#step-3');
  await tabTo(page, 'authorise');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#done');
});

/** Presses Tab until an element has the focus. */
async function tabTo(page, id) {
  for (let step = 0; step < 20; step += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(() => document.activeElement.id)) === id) return;
  }
  assert.fail(`Tab does not come to #${id}`);
}

test('without script a test wallet does it all, and the page says what a wallet of one\'s own needs', async () => {
  const page = await world.window({ javaScriptEnabled: false });
  await page.goto(await world.link(EVM, 'user-no-script'));
  assert.match(await page.textContent('noscript'), /needs JavaScript/);
  await subscribe(page, page.url(), 'finn');
});

test('a link that is none, one that has expired, and the pages around', async () => {
  const page = await world.window();
  await page.goto(world.paymentUrl);
  await world.look(page, 'payment-home');
  await page.goto(`${world.paymentUrl}/subscribe?apiSign=none`);
  assert.match(await page.textContent('[role=alert]'), /not known here/);
  await world.look(page, 'link-unknown');
  const link = await world.link(EVM, 'user-late');
  await page.goto(link);
  await world.control('advance', { days: 2 });
  await page.click('#confirm');
  assert.match(await page.textContent('#error'), /has expired/, 'the page that was open says so');
  await page.goto(link);
  assert.match(await page.textContent('#error'), /has expired/);
  assert.equal(await page.locator('main button:not(.copy)').count(), 0, 'there is nothing to press any more');
  await world.look(page, 'link-expired');
});

/** A window with a wallet of the user's own, which has coins and tokens. */
async function ownWallet(options) {
  const state = await world.state();
  const chain = state.chains.find((one) => one.chainId === EVM);
  const status = await fetch(world.evm, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }) });
  const wallet = new Wallet(world, OWN_KEY, Number((await status.json()).result));
  await world.control('fund', { chainId: EVM, wallet: wallet.account.address });
  const page = await world.window();
  await wallet.into(page, options);
  return { page, wallet, chain };
}

test('a wallet in the browser takes the three steps, whatever its owner does meanwhile', async () => {
  const { page, wallet } = await ownWallet();
  await page.goto(await world.link(EVM, 'user-own'));
  const said = (words) => page.waitForFunction((text) => document.getElementById('wallet-status')?.textContent.includes(text), words);
  wallet.refuse('eth_requestAccounts', 4001, 'User rejected the request.');
  await page.click('#connect');
  await said('You declined it in your wallet');
  wallet.refuse('eth_requestAccounts', -32002, 'Already pending');
  await page.click('#connect');
  await said('has a question open already');
  // It stands on another chain: it is asked to change.
  wallet.chainId = 1;
  await world.look(page, 'own-wallet-1-connect');
  await page.click('#connect');
  await page.waitForSelector('#step-2');
  assert.ok(wallet.asked.includes('wallet_switchEthereumChain'));
  wallet.refuse('eth_sendTransaction', 4001, 'User denied transaction signature.');
  await page.click('#sign');
  await said('You declined it');
  const first = wallet.account;
  // Another account, chosen meanwhile, must not sign.
  wallet.account = { ...first, address: '0x000000000000000000000000000000000000dEaD' };
  await page.click('#sign');
  await said(`Choose the account ${first.address}`);
  wallet.account = first;
  await world.look(page, 'own-wallet-2-sign');
  await page.click('#sign');
  await page.waitForSelector('#step-3');
  await page.check('#cap-one');
  await world.look(page, 'own-wallet-3-authorise');
  await page.click('#authorise');
  await page.waitForSelector('#done');
  assert.match(await page.textContent('main'), /covers 1 period/);
  assert.deepEqual(page.complaints, []);
});

test('a wallet that announces itself resets what it allowed before, and leaves', async () => {
  // The allowance of the test before stands; this link is for another user of the same wallet.
  const { page, wallet } = await ownWallet({ announce: true });
  const link = await world.link(EVM, 'user-announced');
  await page.goto(link);
  const order = await page.textContent('#order');
  await page.click('#connect');
  await page.click('#sign');
  await page.waitForSelector('#step-3');
  assert.match(await page.textContent('main'), /There are two confirmations/);
  const before = wallet.asked.filter((method) => method === 'eth_sendTransaction').length;
  await page.check('#cap-unlimited');
  await page.click('#authorise');
  await page.waitForSelector('#done');
  assert.equal(wallet.asked.filter((method) => method === 'eth_sendTransaction').length, before + 2);
  assert.match(await page.textContent('main'), /covers more than a thousand periods/);
  await page.goto(await world.cancelLink(order));
  await page.click('button.ask-wallet');
  await page.waitForSelector('#cancelled');
  assert.deepEqual(page.complaints, []);
});

test('what is typed is what a wallet in the browser is asked to authorise, for all that it pays for', async () => {
  const { page, wallet } = await ownWallet();
  await page.goto(await world.link(EVM, 'user-typed'));
  await page.click('#connect');
  await page.click('#sign');
  await page.waitForSelector('#step-3');
  assert.match(await page.textContent('#others'), /pays for more.*Monthly, 10 USDT every month/s);
  await world.look(page, 'subscribe-3-others');
  await page.fill('#amount', '15');
  await page.click('#authorise');
  await page.waitForFunction(() => document.getElementById('wallet-status').textContent.includes('less than one period'));
  await page.fill('#amount', '45.5');
  assert.match(await page.textContent('#authorise'), /Authorise 45\.5 USDT/);
  await page.click('#authorise');
  await page.waitForSelector('#done');
  const asked = wallet.sent.at(-1).data;
  assert.equal(BigInt(`0x${asked.slice(-64)}`), 455n * 10n ** 17n);
  assert.match(await page.textContent('#authorised'), /You authorised 45\.5 USDT\. That covers 2 periods of this and of the other subscription of the wallet together/);
});

test('an address is copied by its button', async () => {
  const page = await world.window({ permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto(await world.link(EVM, 'user-copy'));
  const button = page.locator('.offer button.copy').first();
  const whole = await button.getAttribute('data-copy');
  assert.match(whole, /^0x[0-9a-fA-F]{40}$/);
  await button.click();
  await page.waitForSelector('.offer button.copy.done');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), whole);
});

test('a cap that its owner makes smaller than a period is asked for again', async () => {
  const { page, wallet } = await ownWallet();
  await page.goto(await world.link(EVM, 'user-small'));
  await page.click('#connect');
  await page.click('#sign');
  await page.waitForSelector('#step-3');
  wallet.cap = 5n * 10n ** 18n;
  await page.click('#authorise');
  await page.waitForFunction(() => document.body.textContent.includes('Authorise the payments again'));
  wallet.cap = undefined;
  await page.click('#authorise');
  await page.waitForSelector('#done');
  assert.match(await page.textContent('main'), /covers 12 periods of this and of 2 other subscriptions/);
  assert.deepEqual(page.complaints, []);
});

test('a foreign page moves nothing', async () => {
  const page = await world.admin('alice');
  const before = await world.state();
  const target = encodeURIComponent(`${world.adminUrl}/do/advance`);
  const [response] = await Promise.all([
    page.waitForResponse((one) => one.url().endsWith('/do/advance')),
    page.goto(`${world.shop.url}/evil?${target}`),
  ]);
  assert.equal(response.status(), 403);
  assert.ok((await world.state()).now < before.now + 86_400);
});
