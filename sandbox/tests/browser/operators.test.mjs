// The Signer's page for operators in a real Chromium, over what the demonstration has billed on both chains.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { createServer } from 'node:net';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { sign } from '../../../clients/node/merchant.mjs';
import { PATIENCE, World, root } from './world.mjs';

let world;
let page;
let url;
let operator;
let state;

/** A port that nobody listens on. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The demonstration, up to where it stays: the address of the page and who may control. `state` is kept from one to the next. */
async function demonstration(state) {
  const program = process.env.SANDBOX_BINARY ?? join(root, 'target', 'debug', 'sandbox');
  const ports = ['--state', state, '--platform-port', '0', '--evm-port', '0', '--tron-port', '0', '--admin-port', '0', '--signer-port', String(await freePort())];
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
  state = await mkdtemp(join(tmpdir(), 'signer-page-'));
  const [browser, story] = await Promise.all([World.browser(), demonstration(state)]);
  world = browser;
  world.child = story.child;
  ({ url, operator } = story);
  page = await world.window();
});
after(async () => {
  await world?.close();
  if (state) await rm(state, { recursive: true, force: true });
});

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
  for (const chain of [139, 136]) assert.match(await text(`#chain-${chain} dl`), /Gas money.*(ETH|TRX).*Billings left/s);
  assert.equal(await page.locator('#chain-139 button:not(.copy)').count(), 0, 'nothing to press for who has not signed in');
  assert.equal(await page.locator('#rate, .chart').count(), 0, 'what was charged is for those who may read');
  await world.look(page, 'signer-overview-open');
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
  await page.locator('#rate').waitFor();
  assert.match(await text('#taken .figure'), /^[\d.\u2009]+ USDT/, 'money in units, with its symbol');
  await world.look(page, 'signer-overview');
  await page.click('#chain-139 >> text=Pause');
  await world.look(page, 'signer-confirm');
  await page.click('#confirm-yes');
  await says('#chain-139 .alert', /Nothing new is signed.*Since.*for \d+ s.*Resume it/);
  await world.look(page, 'signer-paused');
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
  assert.ok(!(await page.isVisible('[name=userHash]')), 'most filters are folded');
  const heights = await page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
  assert.ok(Math.max(...heights) <= 45, `a row is a line: ${Math.max(...heights)} px`);
  assert.match(await text('tbody td[data-label=Amount]'), /^\d+ USDT$/);
  const fees = await page.locator('tbody td[data-label=Fee]').allTextContents();
  assert.ok(fees.some((fee) => /^0\.0000\d+ ETH$/.test(fee)) && !fees.some((fee) => /^0 /.test(fee)), 'what is small is not nothing');
  await page.selectOption('[name=chainId]', '136');
  await page.click('text=Show');
  await page.waitForURL(/chainId=136/);
  await says('tbody td', /charged/);
  const some = await page.locator('tbody tr').count();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('text=Download all as CSV')]);
  const rows = (await readFile(await file.path(), 'utf8')).trim().split('\r\n').map((line) => line.split(','));
  assert.equal(rows.length, some + 1);
  assert.match(rows[0].join(), /^cursor,billing,subscribeId,.*amountDecimal,symbol,.*feeShare,.*tokenBalance$/);
  const charged = rows.find((row) => row.includes('charged'));
  const wallet = charged[rows[0].indexOf('wallet')];
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
  await page.click('text=More filters');
  await page.selectOption('[name=reason]', 'ALLOWANCE_INSUFFICIENT');
  await page.click('text=Show');
  await page.waitForURL(/reason=ALLOWANCE_INSUFFICIENT/);
  await says('tbody td', /^ALLOWANCE_INSUFFICIENT$/);
  assert.ok(await page.isVisible('[name=reason]'), 'what is used is not folded');
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
  const user = await page.locator('td[data-label=User] [title]').first().getAttribute('title');
  await search(user, /userHash=0x/);
  await page.fill('#search input', 'nothing-is-called-so');
  await page.keyboard.press('Enter');
  await says('.alert', /Nothing is called nothing-is-called-so/);
  page.complaints.splice(0);
});

test('a hash is copied by its button', async () => {
  const own = await world.window({ permissions: ['clipboard-read', 'clipboard-write'] });
  await own.goto(`${url}/`);
  await own.locator('#chain-139 button.copy').first().click();
  await own.locator('#chain-139 button.copy.done').waitFor();
  assert.match(await own.evaluate(() => navigator.clipboard.readText()), /^0x[0-9a-fA-F]{40}$/);
});

test('events have their past, and arrive while somebody looks', async () => {
  await page.fill('#search input', '');
  await go('/events');
  await says('#listening', /listening: newest/);
  const past = await page.locator('tbody tr').count();
  assert.ok(past > 10, `${past} of what happened before`);
  assert.match(await page.locator('tbody').textContent(), /accepted.*charged|charged.*accepted/s);
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

/** Every line of the ledger, as a caller who may read is told it. */
async function ledger() {
  const lines = [];
  for (let after = ''; after !== null;) {
    const path = `/PayTool/charges?limit=1000${after && `&after=${after}`}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const headers = { 'X-PAY-KEY': operator.key, 'X-PAY-TIMESTAMP': timestamp, 'X-PAY-SIGN': sign(operator.secret, { timestamp, method: 'GET', pathAndQuery: path, body: '' }) };
    const { data } = await (await fetch(url + path, { headers })).json();
    lines.push(...data.charges);
    after = data.next;
  }
  return lines;
}

/** Ends the demonstration, and begins it again on what it left, with the past spread over four weeks. */
async function again() {
  const ended = new Promise((resolve) => world.child.once('exit', resolve));
  world.child.kill('SIGTERM');
  await ended;
  await promisify(execFile)('python3', [join(root, 'sandbox', 'tests', 'browser', 'weeks.py'), state]);
  const story = await demonstration(state);
  world.child = story.child;
  ({ url, operator } = story);
}

test('after a restart charts and totals are what the ledger says, slot by slot', async () => {
  await again();
  const lines = await ledger();
  page = await world.window();
  await page.goto(`${url}/`);
  await signIn(operator);
  await page.locator('#rate').waitFor();
  await page.click('.picks >> text=30 days');
  await page.waitForFunction(() => document.querySelector('#chart-charges .chart')?.plot?.data[0].length === 30);
  const drawn = await page.evaluate(() => document.querySelector('#chart-charges .chart').plot.data.map((values) => [...values]));
  const idle = ['ALREADY_CHARGED', 'BILLING_IN_PROGRESS', 'DUPLICATE_ENTRY', 'NOT_DUE_YET'];
  const slots = drawn[0].map((from) => lines.filter((line) => (line.acceptedAt ?? line.refusedAt) >= from && (line.acceptedAt ?? line.refusedAt) < from + 86_400));
  const charged = slots.map((some) => some.filter((line) => line.state === 'charged'));
  const asked = slots.map((some) => some.filter((line) => line.state !== 'open' && !(line.state === 'refused' && idle.includes(line.failCode))));
  assert.deepEqual(drawn[2], charged.map((some) => some.length), 'charged');
  assert.deepEqual(drawn[1], asked.map((some) => some.length), 'charged and not charged');
  assert.ok(charged.filter((some) => some.length > 0).length >= 4, 'over days, and from before this process');
  const units = { 136: 6, 139: 18 };
  const money = await page.evaluate(() => document.querySelector('#chart-taken-USDT .chart').plot.data[1]);
  assert.deepEqual([...Object.values(money)], charged.map((some) => some.reduce((sum, line) => sum + Number(line.amount) / 10 ** units[line.chainId], 0)), 'USDT');
  const today = charged.at(-1).length;
  assert.match(await text('#rate p.soft'), new RegExp(`^${today} charged of ${asked.at(-1).length} `));
  await world.look(page, 'signer-charts');
});

test('a charge of the ledger has its certificate, and the page that verifies takes it', async () => {
  await go('/charges?state=charged&chainId=139');
  const [download] = await Promise.all([page.waitForEvent('download', { timeout: PATIENCE }), page.locator('tbody a', { hasText: 'certificate' }).first().click()]);
  const file = await download.path();
  const own = await world.window();
  await own.goto(`${url}/page/certificate.html`);
  await own.setInputFiles('[name=file]', file);
  await own.fill('[name=block]', JSON.parse(await readFile(file, 'utf8')).block);
  await own.click('text=Verify');
  await own.locator('#said').filter({ hasText: 'It is valid' }).waitFor({ timeout: PATIENCE });
});

test('a certificate is verified by the page alone, and proves nothing of another block', async () => {
  const own = await world.window();
  await own.goto(`${url}/page/certificate.html`);
  await own.setInputFiles('[name=file]', join(root, 'tests', 'golden', 'certificates', 'evm.json'));
  const said = (words) => own.locator('#said').filter({ hasText: words }).waitFor({ timeout: PATIENCE });
  await own.fill('[name=block]', '0xa66b2f2d07698f87795fb7b6415c4fa33bd67ffac4e9be971ec95204302a1e13');
  await own.click('text=Verify');
  await said('It is valid');
  assert.match(await own.locator('#shown').textContent(), /event: value2/);
  await own.fill('[name=block]', '00'.repeat(32));
  await own.click('text=Verify');
  await said('which is not the trusted one');
  assert.equal(await own.locator('#shown').isVisible(), false);
});

test('it is used by keyboard alone, and dark where the system is', async () => {
  const dark = await world.window({ colorScheme: 'dark' });
  await dark.goto(`${url}/`);
  await dark.locator('#standing').filter({ hasText: /^ready$/ }).waitFor({ timeout: PATIENCE });
  await dark.keyboard.press('/');
  assert.equal(await dark.evaluate(() => document.activeElement.name), 'what');
  await dark.click('#sign-in-button');
  await dark.fill('#sign-in [name=key]', operator.key);
  await dark.fill('#sign-in [name=secret]', operator.secret);
  await dark.keyboard.press('Enter');
  await dark.click('.picks >> text=30 days');
  await dark.waitForFunction(() => document.querySelector('#chart-charges .chart')?.plot?.data[0].length === 30);
  await world.look(dark, 'signer-overview-dark');
});
