// docs/merchant.md: every command of its table, with values for what stands in capitals, and its Python.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signed } from './signed.mjs';
import { blocks, folder, must, read, root, until } from './world.mjs';

const PLATFORM = ['sandbox-merchant', 'everybody-knows-this-api-secret'];
const OPERATOR = 'MERCHANT__SIGNER__KEY=sandbox-operator MERCHANT__SIGNER__SECRET=everybody-knows-this-one-too ';
const PATH = '/callbacks?shop=7';

/** What each command of the table says, in the order of the table. */
const promised = [
  [/^merchant link create/, /apiSign=/],
  [/^merchant link cancel/, /apiSign=/],
  [/^merchant chargeable list/, /(?:)/],
  [/^merchant subscription list/, /SUB[0-9A-F]+/],
  [/^merchant chain list/, /139.*136/s],
  [/^merchant currency list/, /USDT/],
  [/^merchant user create/, /user +\d+/],
  [/^merchant user show/, /0x\w{40}/],
  [/^merchant recharge show/, /success.*(12\.50|3\.25) USDT/s],
  [/^merchant withdraw apply/, /applied for now/],
  [/^merchant withdraw show \d/, /success.*payout-1/s],
  [/^merchant withdraw show --trade/, /pending approval/],
  [/^merchant callback verify/, /SubscriptionRegister/],
  [/^merchant signer status/, /charged/],
  [/^merchant signer control/, /136.*139/s],
  [/^merchant signer pause/, /sandbox-evm.*operator/s],
  [/^merchant signer resume/, /sandbox-evm/],
];

/** What stands in capitals, by the words before it. */
const values = new Map([
  ['--chain N', () => '--chain 139'],
  ['--plan N', () => '--plan 7'],
  ['--currency N', () => '--currency 1391'],
  ['--user ID', () => '--user reader'],
  ['--redirect URL', () => '--redirect https://shop.example/thanks'],
  ['--notify URL', () => '--notify http://127.0.0.1:9981/callbacks'],
  ['--to ADDRESS', () => '--to 0x00000000000000000000000000000000000000bb'],
  ['--trade NUMBER', () => '--trade table-1'],
  ['--trade ORDER', () => `--trade ${order()}`],
  [' UUID', () => ' reader'],
  ['recharge show ID', () => `recharge show ${event('Recharge').payload.rechargeId}`],
  ['withdraw show ID', () => `withdraw show ${json('merchant withdraw show --trade payout-1 --json').withdrawId}`],
  ['status ID', () => `status ${event('SubscriptionBilling').payload.transferHash}`],
  ['--path PATH', () => `--path '${PATH}'`],
]);

const json = (command) => JSON.parse(must(command));
const event = (type) => json('merchant events list --limit 1000 --json').find((one) => one.type === type);
const order = () => json('merchant subscription list --json').find((one) => one.externalUserId === 'reader').outTradeNo;

function filled(written) {
  let command = written;
  for (const [words, value] of values) if (command.includes(words)) command = command.replace(words, value);
  assert.doesNotMatch(command.replace(/'[^']*'/g, ''), /\b[A-Z]{2,}$|\b(N|ID|URL)\b/, command);
  return command;
}

/** The headers and the body of a callback, where the document has dots. */
function withCallback(command, at) {
  const body = '{"subscriptionType":"SubscriptionRegister","outTradeNo":"SUB1","chainId":139}';
  writeFileSync(join(folder, 'body'), body);
  const headers = signed(PLATFORM, 'POST', PATH, body, at);
  return command.replace(/(X-PAY-\w+): …/g, (_, name) => `${name}: ${headers[name]}`);
}

export async function table() {
  const cells = [...read('merchant.md').matchAll(/^\| (`merchant [^|]*) \|/gm)].map(([, cell]) => cell);
  const commands = cells.flatMap((cell) => [...cell.matchAll(/`(merchant \w+ [^`]+)`/g)].map(([, command]) => command));
  for (const written of commands) {
    const [which, words] = promised.shift() ?? [];
    const command = filled(withCallback(written));
    assert.ok(which?.test(command), `the table has ${command}, and here is ${which}`);
    const who = /^merchant signer (control|pause|resume)/.test(command) ? OPERATOR : '';
    const said = must(who + command, words);
    // A subscription that can be cancelled is one that was made.
    if (/^merchant link create/.test(command)) {
      must(`sandbox follow '${/https?:\S+apiSign=\w+/.exec(said)[0]}' --wallet cleo`);
      await until('merchant subscription list --json', /"reader"/);
    }
    if (/^merchant callback/.test(command)) {
      const then = 1_700_000_000;
      must(`${withCallback(written, then).replace('PATH', `'${PATH}'`)} --at ${then}`, words);
    }
  }
  assert.deepEqual(promised, [], 'the table has every command that something is promised of');
}

/** The Python of the document, with the addresses and secrets of the sandbox. */
export function library() {
  const written = blocks('merchant.md').find(({ language }) => language === 'python').text;
  const code = written
    .replace('"https://api.example", "key", "secret"', `"http://127.0.0.1:7100", "${PLATFORM.join('", "')}"`)
    .replace('"scheduler", "secret"', '"sandbox-scheduler", "everybody-knows-this-secret"');
  writeFileSync(join(folder, 'bill.py'), `${code}print(len(due), len(result["open"]))\n`);
  must(`PYTHONPATH='${join(root, 'clients', 'python')}' python3 -B bill.py`, /^\d+ 0$/m);
}
