// What the browser tests stand on: a sandbox of their own, a shop that users come back to, and a real Chromium that looks
// at every page in two widths, and keeps what it saw.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sign } from '../../../clients/node/merchant.mjs';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
export const require = createRequire(join(root, 'tests', 'node', 'package.json'));
const { chromium } = require('playwright-core');

export const SCREENSHOTS = process.env.SCREENSHOTS ?? join(root, 'target', 'screenshots');
/** How long a page may take to say what it should on a busy machine (ms). */
export const PATIENCE = 60_000;
/** The widths at which every page is looked at: a desk and a small phone (CSS px). */
const DESK = { width: 1100, height: 800 };
const PHONE = { width: 320, height: 640 };

/** Starts a sandbox without a story, on ports of its own. */
async function startSandbox() {
  const program = process.env.SANDBOX_BINARY ?? join(root, 'target', 'debug', 'sandbox');
  const ports = ['--platform-port', '0', '--signer-port', '0', '--evm-port', '0', '--tron-port', '0'];
  const child = spawn(program, ['--bare', '--json', '--beat', '150', ...ports], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const first = await new Promise((resolve, reject) => {
    lines.once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the sandbox ended with ${code}`)));
  });
  return { child, addresses: JSON.parse(first) };
}

/** The shop: takes callbacks, and greets whoever comes back. */
async function startShop() {
  const heard = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      if (request.method === 'POST') {
        heard.push(JSON.parse(body));
        response.end('success');
        return;
      }
      response.setHeader('content-type', 'text/html');
      response.end(shopPage(request.url));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, heard, url: `http://127.0.0.1:${server.address().port}` };
}

/** A page of the shop; `/evil?URL` posts a form to URL by itself. */
function shopPage(url) {
  const [path, target] = url.split('?');
  const form = `<form method="post" action="${decodeURIComponent(target ?? '')}"><input name="months" value="1"></form><script>document.forms[0].submit()</script>`;
  return `<!doctype html><title>Shop</title><h1>${path.slice(1)}</h1>${path === '/evil' ? form : ''}`;
}

/** A real Chromium without a network of its own. */
function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    chromiumSandbox: false,
    args: [
      '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
    ],
  });
}

export class World {
  /** A browser, and nothing to look at yet. */
  static async browser() {
    const world = new World();
    mkdirSync(SCREENSHOTS, { recursive: true });
    world.browser = await launch();
    return world;
  }

  /** Everything that a test needs. `close` ends it. */
  static async start() {
    const world = new World();
    mkdirSync(SCREENSHOTS, { recursive: true });
    const [{ child, addresses }, shop] = await Promise.all([startSandbox(), startShop()]);
    Object.assign(world, { child, ...addresses, shop });
    world.browser = await launch();
    return world;
  }

  async close() {
    await this.browser?.close();
    this.shop?.server.close();
    this.child?.kill('SIGKILL');
  }

  /** A window of its own, without cookies. Whatever a page complains of fails the test that `complaints` is given to. */
  async window(options = {}) {
    const context = await this.browser.newContext({ viewport: DESK, ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const complaints = [];
    page.on('pageerror', (error) => complaints.push(`script: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
    });
    return Object.assign(page, { complaints });
  }

  /** A window at the console, as an admin. */
  async admin(account) {
    const page = await this.window();
    await page.goto(this.adminUrl);
    await page.check(`#account-${account}`);
    await page.click('#login');
    await page.waitForSelector('#account');
    return page;
  }

  /** Keeps what a page looks like in both widths, and that it fits into the narrow one. */
  async look(page, name) {
    const fits = () => page.evaluate(() => {
      const [wide, room] = [document.documentElement.scrollWidth, document.documentElement.clientWidth];
      const out = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > room + 1 && !one.closest('.scroll, pre'));
      return { wide, room, out: out.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)) };
    });
    for (const [suffix, size] of [['', DESK], ['-phone', PHONE]]) {
      await page.setViewportSize(size);
      const { wide, room, out } = await fits();
      assert.ok(wide <= room, `${name} is ${wide} px wide in a window of ${room}: ${out.join('\n')}`);
      await page.screenshot({ path: join(SCREENSHOTS, `${name}${suffix}.png`), fullPage: true });
    }
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('button, select, input:not([type=hidden])')]
        .filter((one) => one.offsetParent && (one.getBoundingClientRect().height < 24 || one.getBoundingClientRect().width < 24))
        .map((one) => one.outerHTML));
    assert.deepEqual(small, [], `${name}: too small to be hit by a finger`);
    await page.setViewportSize(DESK);
    assert.equal(await page.locator('h1').count(), 1, `${name} has one heading of the first order`);
    assert.deepEqual(page.complaints, [], name);
  }

  /** A control of the sandbox. */
  async control(name, body) {
    const response = await fetch(`${this.adminUrl}/sandbox/${name}`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
    });
    const answer = await response.json();
    assert.ok(response.ok, `${name}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async state() {
    return (await fetch(`${this.adminUrl}/sandbox`)).json();
  }

  /** A call of the platform's interface, signed. */
  async call(method, path, object) {
    const { apiKey, apiSecret } = (this.known ??= await this.state());
    const [timestamp, body] = [String(Math.floor(Date.now() / 1000)), object ? JSON.stringify(object) : ''];
    const headers = {
      'content-type': 'application/json', 'X-PAY-KEY': apiKey, 'X-PAY-TIMESTAMP': timestamp,
      'X-PAY-SIGN': sign(apiSecret, { timestamp, method, pathAndQuery: path, body }),
    };
    const response = await fetch(this.baseUrl + path, { method, headers, body: body || undefined });
    return response.json();
  }

  /** A link for a user; the whole address. */
  async link(chainId, externalUserId, planId = 7) {
    const answer = await this.call('POST', '/api/mer/subscribe/payment/create', {
      chainId, planId, externalUserId, redirectionUrl: `${this.shop.url}/thanks`, notifyUrl: `${this.shop.url}/notify`,
    });
    assert.equal(answer.code, 200, JSON.stringify(answer));
    return this.paymentUrl + answer.data.paymentUrl;
  }

  /** A link to leave by. */
  async cancelLink(outTradeNo) {
    const answer = await this.call('POST', '/api/mer/subscribe/cancel/create', {
      outTradeNo, redirectionUrl: `${this.shop.url}/bye`, notifyUrl: `${this.shop.url}/notify`,
    });
    assert.equal(answer.code, 200, JSON.stringify(answer));
    return this.paymentUrl + answer.data.paymentUrl;
  }

  /** The first callback that a test holds for, when it has come. */
  async told(test) {
    const began = Date.now();
    for (;;) {
      const found = this.shop.heard.find(test);
      if (found) return found;
      assert.ok(Date.now() - began < PATIENCE, `not told: ${test} in ${JSON.stringify(this.shop.heard)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
