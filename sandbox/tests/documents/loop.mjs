// docs/merchant-loop.md: its configuration, its two programs, what people do beside them, and what programs read of them.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { get } from './signed.mjs';
import { blocks, commands, folder, kill, must, pause, PATIENCE, read, runBeside, start, until } from './world.mjs';

const ONWARD = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SIGNER = ['sandbox-scheduler', 'everybody-knows-this-secret'];
const INBOX = ['events', 'a local secret of my own'];

/** The configuration of the document, with the values of the sandbox where it has dots, and the files that it names. */
function configure() {
  const written = blocks('merchant-loop.md').find(({ language }) => language === 'toml').text;
  const values = {
    platform: { base_url: 'http://127.0.0.1:7100', payment_url: 'http://127.0.0.1:7101', key: 'sandbox-merchant' },
    signer: { key: SIGNER[0] },
    inbox: { key: INBOX[0] },
  };
  let section;
  const lines = written.split('\n').map((line) => {
    section = /^\[(\w+)\]/.exec(line)?.[1] ?? section;
    return line.replace(/^(\w+)( *= *)"[^"]*…"/, (_, name, is) => `${name}${is}"${values[section][name]}"`);
  });
  assert.doesNotMatch(lines.join('\n'), /…/);
  writeFileSync(join(folder, 'merchant.toml'), lines.join('\n'));
  const secrets = { platform: 'everybody-knows-this-api-secret', signer: SIGNER[1], inbox: INBOX[1], onward: ONWARD };
  for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(folder, `${name}.secret`), `${secret}\n`, { mode: 0o600 });
}

/** The shop's own backend. It takes what is signed, once told to; some events it never wants. */
class Shop {
  constructor() {
    this.events = [];
    this.unwanted = new Set(['Recharge', 'SubscriptionCancel']);
    const server = createServer((request, response) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => response.writeHead(this.take(request.headers, Buffer.concat(parts))).end());
    });
    this.open = new Promise((done, failed) => server.on('error', failed).listen(8080, '127.0.0.1', done));
  }

  take(headers, body) {
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = headers;
    const wanted = createHmac('sha256', Buffer.from(ONWARD.slice(6), 'base64')).update(`${id}.${at}.`).update(body).digest('base64');
    if (given !== `v1,${wanted}`) return 401;
    const event = JSON.parse(body);
    this.events.push(event);
    return this.unwanted.has(event.type) ? 410 : 200;
  }

  /** Waits until it has been told of something. */
  async hears(what, test) {
    for (const began = Date.now(); !this.events.some(test); await pause(100)) {
      assert.ok(Date.now() - began < PATIENCE, `the shop does not hear ${what}: ${JSON.stringify(this.events.slice(-5))}`);
    }
  }
}

/** Every metric that the document names is on the page of its program. */
async function metrics(url, prefix) {
  const text = read('merchant-loop.md');
  const named = prefix === 'merchant_inbox_'
    ? [...text.matchAll(/`merchant_inbox_(\w+)/g)]
    : [...text.split('Metrics: ')[1].split('. Alarm')[0].matchAll(/`(?:merchant_schedule_)?(\w+)/g)];
  const names = new Set(named.map(([, name]) => name).filter((name) => !['verdict', 'split', 'name_taken', 'silence'].includes(name)));
  assert.ok(names.size > 3);
  // Nothing was declined or differs yet, and what counts nothing is not on the page.
  const empty = ['merchant_inbox_outcomes_total'];
  const whole = [...names].map((name) => prefix + name).filter((name) => !empty.includes(name));
  // Some are counted only when the next callback comes.
  for (const began = Date.now(); ; await pause(250)) {
    const page = await (await fetch(`${url}/metrics`)).text();
    const lacks = whole.filter((name) => !page.includes(name));
    if (lacks.length === 0) return;
    assert.ok(Date.now() - began < 60_000, `${url} has no ${lacks}:\n${page}`);
  }
}

async function ready(url) {
  for (const began = Date.now(); (await fetch(`${url}/health/ready`)).status !== 200; await pause(250)) {
    assert.ok(Date.now() - began < PATIENCE, `${url} is not ready`);
  }
}

/** What people do with events that nobody took: `list --dead`, `show`, `replay`, `skip`. */
async function desk(shop) {
  const said = await until('merchant events list --dead --json', /"Recharge".*"SubscriptionCancel"|"SubscriptionCancel".*"Recharge"/s);
  shop.unwanted.clear();
  for (const { id, type } of JSON.parse(said)) {
    await until(`merchant events show ${id}`, /dead.*410/s);
    await until(`merchant events ${type === 'Recharge' ? 'replay' : 'skip'} ${id}`, /(?:)/);
    if (type === 'Recharge') await shop.hears('the replay', (event) => event.id === id && event.isReplay);
  }
  await until('merchant events list --dead', /^(?!.*dead)/s);
}

export async function loop() {
  await kill('merchant inbox');
  configure();
  const shop = new Shop();
  await shop.open;
  must('sandbox month');
  const [inbox, schedule, ...rest] = commands('merchant-loop.md').map((command) => command.replace(/ +#.*/, ''));
  assert.deepEqual([rest, inbox.startsWith('merchant inbox'), schedule.startsWith('merchant schedule')], [[], true, true]);
  const starts = [[inbox, /callbacks on 127\.0\.0\.1:9981, feed on 127\.0\.0\.1:9982/], [schedule, /run \d+: .* accepted/]];
  for (const [command, words] of starts) await start(command, words);
  await shop.hears('a charge', (event) => event.type === 'SubscriptionBilling' && event.outcome?.state === 'charged');
  await shop.hears('the scheduler', (event) => event.type === 'Scheduler' && event.payload.type === 'charged');
  await desk(shop);

  await ready('http://127.0.0.1:9982');
  await ready('http://127.0.0.1:9983');
  await metrics('http://127.0.0.1:9982', 'merchant_inbox_');
  await metrics('http://127.0.0.1:9983', 'merchant_schedule_');
  const pulled = await get(INBOX, 'http://127.0.0.1:9982', '/events?after=0&limit=500&wait=30');
  const end = await get(INBOX, 'http://127.0.0.1:9982', `/events?after=${pulled.data.next}`);
  assert.ok(end.data.events.every((event) => event.position > pulled.data.events.at(-1).position));
  const fields = /each carries (.*?)\. */.exec(read('merchant-loop.md'))?.[1] ?? '';
  for (const [, name] of fields.matchAll(/`(\w+)`/g)) assert.ok(name in pulled.data.events[0], `an event has no ${name}`);
  const billing = pulled.data.events.find((event) => event.type === 'SubscriptionBilling');
  const known = await get(SIGNER, 'http://127.0.0.1:9980', `/PayTool/billings/${billing.payload.transferHash}`);
  assert.equal(known.data[0].state, 'charged');

  await until('merchant schedule --status', /subscriptions charged/);
  const { chainId, subscribeId } = pulled.data.events.find((event) => event.type === 'Scheduler').payload;
  await until(`merchant schedule --status --of ${chainId}/${subscribeId}`, /./);
  const second = await runBeside('merchant schedule --once --chain 139=EVM --chain 136=TVM');
  assert.ok(!second.good && /another process holds/.test(second.said), second.said);
  await until('merchant schedule --dry-run --chain 139=EVM --chain 136=TVM', /./);
  for (const [command, words] of starts) {
    await kill(command);
    await start(command, words);
  }
  await kill(schedule);
  await until('merchant schedule --once --spread 60 --keep 30 --chain 139=EVM --chain 136=TVM', /run \d+/);
}
