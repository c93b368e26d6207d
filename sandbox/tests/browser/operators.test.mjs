// The Signer's page for operators in a real Chromium, over what the demonstration has billed on both chains.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { PATIENCE, World, root } from './world.mjs';

let world;
let page;
let url;
let operator;

/** A port that nobody listens on. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The demonstration, up to where it stays: the address of the page and who may control. */
async function demonstration() {
  const program = process.env.SANDBOX_BINARY ?? join(root, 'target', 'debug', 'sandbox');
  const ports = ['--platform-port', '0', '--evm-port', '0', '--tron-port', '0', '--admin-port', '0', '--signer-port', String(await freePort())];
  const child = spawn(program, ports, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const told = /The Signer's page: (\S+)\/, as (\S+) with (\S+)/.exec(line);
    if (!told) continue;
    child.stdout.resume();
    return { child, url: told[1], operator: { key: told[2], secret: told[3] } };
  }
  throw new Error('the demonstration ended');
}

before(async () => {
  const [browser, story] = await Promise.all([World.browser(), demonstration()]);
  world = browser;
  world.child = story.child;
  ({ url, operator } = story);
  page = await world.window();
});
after(async () => world?.close());

const go = (hash) => page.evaluate((wanted) => { location.hash = wanted; }, `#${hash}`);
const text = (selector) => page.locator(selector).first().textContent();
const says = (selector, words) => page.locator(selector).filter({ hasText: words }).first().waitFor();

async function signIn({ key, secret }) {
  await page.click('#sign-in-button');
  await page.fill('#sign-in [name=key]', key);
  await page.fill('#sign-in [name=secret]', secret);
  await page.keyboard.press('Enter');
}

test('anybody who gets there sees how it stands, and no charge', async () => {
  await page.goto(`${url}/`);
  await says('#standing', /^ready$/);
  for (const chain of [139, 136]) assert.match(await text(`#chain-${chain} dl`), /Gas money.*coins.*Billings left/s);
  assert.equal(await page.locator('#chain-139 button').count(), 0, 'nothing to press for who has not signed in');
  await world.look(page, 'signer-overview');
  await go('/charges');
  await says('.alert', /right to read/);
  assert.equal(await page.locator('tbody tr').count(), 0);
});

test('a wrong secret is told and shows nothing', async () => {
  await go('/');
  await signIn({ ...operator, secret: 'not-the-secret-of-anybody' });
  await says('#sign-in [role=alert]', /signature/);
  // The browser's own complaint about the answer 401.
  page.complaints.splice(0);
  await page.keyboard.press('Escape');
});

test('whoever may control pauses and resumes a chain', async () => {
  await go('/');
  await signIn(operator);
  await says('#who', operator.key);
  await page.click('#chain-139 >> text=Pause');
  await world.look(page, 'signer-confirm');
  await page.click('#confirm-yes');
  await says('#chain-139 .alert', /Nothing new is signed/);
  assert.equal(await page.locator('#chain-136 .alert').filter({ hasText: 'paused' }).count(), 0);
  await page.click('#chain-139 >> text=Resume');
  await page.click('#confirm-yes');
  await page.locator('#chain-139 .alert').waitFor({ state: 'detached' });
});

test('what the Signer has not signed is not shown', async () => {
  const charge = { acceptedAt: 1, subscribeId: '424242', planId: '1', amount: '5', chainId: 139, state: 'charged', txHash: null };
  for (const status of [200, 401]) {
    const body = JSON.stringify({ code: 1, msg: 'success', data: { charges: [charge], next: null } });
    await page.route('**/PayTool/charges**', (route) => route.fulfill({ status, contentType: 'application/json', body }));
    await go(`/charges?subscribeId=${status}`);
    await says('.alert', new RegExp(`not signed by the Signer \\(HTTP ${status}\\)`));
    assert.equal(await page.locator('tbody tr').count(), 0);
    await page.unroute('**/PayTool/charges**');
  }
  // The browser's own complaint about the answer 401.
  page.complaints.splice(0);
});

test('the ledger is filtered, by wallet too, and downloaded as a file that says the same', async () => {
  await go('/charges');
  await says('tbody td', /charged/);
  await world.look(page, 'signer-charges');
  const all = await page.locator('tbody tr').count();
  await page.selectOption('[name=chainId]', '136');
  await page.click('text=Show');
  await page.waitForURL(/chainId=136/);
  await says('tbody td', /charged/);
  const some = await page.locator('tbody tr').count();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('text=Download all as CSV')]);
  const rows = (await readFile(await file.path(), 'utf8')).trim().split('\r\n').map((line) => line.split(','));
  assert.equal(rows.length, some + 1);
  assert.match(rows[0].join(), /^billing,subscribeId,.*feeShare,.*tokenBalance$/);
  const charged = rows.find((row) => row.includes('"charged"'));
  const wallet = charged[rows[0].indexOf('wallet')].replaceAll('"', '');
  assert.match(wallet, /^T/);
  await page.fill('#search input', wallet);
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`wallet=${wallet}`));
  await says('tbody td', /charged/);
  const own = rows.filter((row) => row.join().includes(wallet)).length;
  // The same key is a wallet on the other chain as well.
  const shown = page.locator('tbody tr', { hasText: 'sandbox-tron' });
  // The rows of the page before may still be there.
  await shown.nth(own - 1).waitFor();
  assert.equal(await shown.count(), own, 'what the wallet paid, and nothing else');
});

test('who was refused is there with the reason, and can be asked for by it', async () => {
  await go('/charges?state=refused');
  await says('tbody td', /^refused/);
  await world.look(page, 'signer-refusals');
  assert.equal(await page.locator('tbody td[data-label=State]', { hasText: 'charged' }).count(), 0);
  await page.selectOption('[name=reason]', 'ALLOWANCE_INSUFFICIENT');
  await page.click('text=Show');
  await page.waitForURL(/reason=ALLOWANCE_INSUFFICIENT/);
  await says('tbody td', /refused.*ALLOWANCE_INSUFFICIENT/);
  assert.equal(await page.locator('tbody td', { hasText: 'BALANCE_INSUFFICIENT' }).count(), 0);
});

test('a search finds a subscription, a user and a transaction, and shows its life', async () => {
  const search = async (what, view) => {
    await page.fill('#search input', what);
    await page.keyboard.press('Enter');
    await page.waitForURL(view);
    await says('td', /charged|failed/);
  };
  await go('/charges?state=charged');
  await says('tbody td', /charged/);
  const id = await text('tbody td[data-label=Subscription]');
  await search(id, new RegExp(`subscribeId=${id}`));
  const hash = await page.locator('tbody td[data-label=Transaction] a').first().getAttribute('title');
  await search(hash, new RegExp(`billing/${hash}`));
  assert.match(await text('ol.life'), /Signed and durable.*In block.*SUCCESS.*Final: charged/s);
  await world.look(page, 'signer-billing');
  const user = await page.locator('td[data-label=User] span').first().getAttribute('title');
  await search(user, /userHash=0x/);
  await page.fill('#search input', 'nothing-is-called-so');
  await page.keyboard.press('Enter');
  await says('.alert', /Nothing is called nothing-is-called-so/);
  page.complaints.splice(0);
});

test('events arrive while somebody looks', async () => {
  await go('/events');
  await says('#listening', /listening/);
  const other = await world.window();
  await other.goto(`${url}/`);
  await other.click('#sign-in-button');
  await other.fill('#sign-in [name=key]', operator.key);
  await other.fill('#sign-in [name=secret]', operator.secret);
  await other.keyboard.press('Enter');
  await other.locator('#chain-136 button').filter({ hasText: 'Pause' }).click();
  await other.click('#confirm-yes');
  await says('td', /paused/);
  await other.locator('#chain-136 button').filter({ hasText: 'Resume' }).click();
  await other.click('#confirm-yes');
  await says('td', /resumed/);
  await world.look(page, 'signer-events');
});

test('it is used by keyboard alone, and dark where the system is', async () => {
  const dark = await world.window({ colorScheme: 'dark' });
  await dark.goto(`${url}/`);
  await dark.locator('#standing').filter({ hasText: /^ready$/ }).waitFor({ timeout: PATIENCE });
  await dark.keyboard.press('/');
  assert.equal(await dark.evaluate(() => document.activeElement.name), 'what');
  await world.look(dark, 'signer-overview-dark');
});
