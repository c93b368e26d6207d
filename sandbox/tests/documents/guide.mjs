// docs/integrate.md in its order, then the controls of docs/sandbox.md, on one sandbox.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocks, commands, folder, must, root, start, until } from './world.mjs';

/** What is installed first, by whoever runs this: each with the features that its programs need. */
const installed = ['cargo install --locked --path sandbox', 'cargo install --locked --path merchant --features program'];

function installs(all) {
  assert.deepEqual(all.filter((command) => command.startsWith('cargo install ')), installed);
  const told = spawnSync('cargo', ['metadata', '--no-deps', '--locked', '--format-version', '1'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  const { packages } = JSON.parse(told.stdout);
  for (const command of installed) {
    const [, path, , features = ''] = / --path (\S+)( --features (\S+))?$/.exec(command);
    const { targets } = packages.find(({ manifest_path: manifest }) => manifest === join(root, path, 'Cargo.toml'));
    const programs = targets.filter(({ kind }) => kind.includes('bin'));
    assert.ok(programs.length > 0, command);
    for (const { name, 'required-features': needed = [] } of programs) {
      assert.deepEqual(needed.filter((feature) => !features.split(',').includes(feature)), [], `${command}: ${name}`);
    }
  }
}

/** What stands for something that an earlier command has printed. */
export const known = {};
const fill = (command) => command
  .replaceAll("'THE LINK'", () => `'${known.link}'`)
  .replaceAll('SUB…', () => known.order)
  .replaceAll('0x…', () => known.address)
  .replace(/ ID$/, () => ` ${known.withdrawal}`);

function learn(said) {
  known.link = /https?:\S+apiSign=\w+/.exec(said)?.[0] ?? known.link;
  known.order = /\bSUB[0-9A-F]+\b/.exec(said)?.[0] ?? known.order;
  known.address = /pays to .*(0x\w{40})/.exec(said)?.[1] ?? known.address;
  known.withdrawal = /withdrawal +(\d+)/.exec(said)?.[1] ?? known.withdrawal;
}

/** What the guide says of its commands, in the order in which it says so. */
const promised = [
  [/^merchant chain list/, /139.*136/s],
  [/^merchant events list/, /SubscriptionRegister.*SubscriptionApprove/s],
  [/^merchant schedule --dry-run/, /would be charged/],
  [/^merchant schedule --once/, /[1-9]\d* accepted/],
  [/^merchant events list/, /SubscriptionBilling .* charged/],
  [/^merchant schedule --once/, /[1-9]\d* accepted/],
  [/^merchant schedule --once/, /[1-9]\d* declined/],
  [/^merchant schedule --status/, /subscriptions paused/],
  [/^merchant schedule --once/, /[1-9]\d* accepted/],
  [/^merchant schedule --once \|\|/, /[1-9]\d* accepted/],
  [/^merchant schedule --once/, /[1-9]\d* accepted/],
  [/^merchant schedule --once/, /run \d+/],
  [/^merchant events list/, /notCharged PERIOD_PASSED.*periodLost/s],
  [/^merchant withdraw show/, /success/],
];

export async function guide() {
  writeFileSync(join(folder, 'merchant.toml'), blocks('integrate.md').find(({ language }) => language === 'toml').text);
  const all = commands('integrate.md');
  installs(all);
  for (const written of all.filter((command) => !installed.includes(command))) {
    const command = fill(written);
    if (command === 'sandbox') await startSandbox();
    else if (command === 'merchant inbox') await start(command, /callbacks on 127\.0\.0\.1:9981, feed on 127\.0\.0\.1:9982/);
    else learn(await guided(command));
  }
  assert.deepEqual(promised, [], 'the guide has every command that something is promised of');
  await until('merchant events list --limit 1000', /Scheduler .* customerMustAct.*SubscriptionCancel.*Recharge/s);
  // Weeks after the first billing, by the clock that both programs follow: nothing is missed in any book.
  assert.match(must('merchant schedule --once'), / 0 differences/);
  assert.doesNotMatch(must('merchant schedule --status') + must('merchant events list --limit 1000'), /since \d|booksDiffer/);
}

async function guided(command) {
  const looks = /^merchant (events|withdraw show)/.test(command);
  const words = promised[0]?.[0].test(command) ? promised.shift()[1] : /(?:)/;
  if (looks) return until(command, words);
  return must(command, words);
}

async function startSandbox() {
  const said = await start('sandbox', /until Ctrl-C/);
  for (const port of [7100, 7101, 7102, 9980]) {
    assert.ok(said.includes(`http://127.0.0.1:${port}`), `port ${port} is taken: end the sandbox that runs on this machine`);
  }
}

/** The controls, each a command of its own. */
export async function controls() {
  const text = blocks('sandbox.md').flatMap(({ text }) => text.split('\n'));
  const all = text.filter((line) => line.startsWith('cargo run -qp sandbox -- ')).map((line) => line.slice('cargo run -qp '.length).replace('sandbox -- ', 'sandbox '));
  assert.ok(all.length > 20, all.join('\n'));
  for (const command of all) await until(command, /./); // what an admin approves has to be in a block
}

