// The documents, as written: every command of docs/integrate.md in its order, then the controls of docs/sandbox.md, on one
// sandbox; and every option that the documents give `merchant` and `sandbox` is one that the program has.
// `node sandbox/tests/documents.mjs`, after `cargo build -p sandbox -p merchant`.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const programs = process.env.PROGRAMS ?? join(root, 'target', 'debug');
const folder = mkdtempSync(join(tmpdir(), 'documents-'));
const env = { ...process.env, PATH: `${programs}:${process.env.PATH}` };
/** How long something may take on a busy machine (ms). */
const PATIENCE = 60_000;

const running = [];
/** Ends everything that was started. */
const end = () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
};
process.on('exit', end);

const read = (name) => readFileSync(join(root, 'docs', name), 'utf8');

/** The fenced blocks of a document: language and text. */
function blocks(name) {
  return [...read(name).matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text }));
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts a program that stays, and waits until it has said something. */
async function start(command, words) {
  const log = join(folder, `${command.split(' ')[0]}.log`);
  const output = openSync(log, 'w');
  const child = spawn('bash', ['-c', `exec ${command}`], { cwd: folder, env, stdio: ['ignore', output, output] });
  running.push(child);
  for (const began = Date.now(); ; await pause(100)) {
    const said = readFileSync(log, 'utf8');
    if (words.test(said)) return said;
    assert.ok(child.exitCode === null && Date.now() - began < 3 * PATIENCE, `${command}: ${said}`);
  }
}

function run(command) {
  const done = spawnSync('bash', ['-c', command], { cwd: folder, env, encoding: 'utf8', timeout: 2 * PATIENCE });
  return { good: done.status === 0, said: `${done.stdout}${done.stderr}` };
}

/** Runs a command, and again until it says what it should: what is final comes seconds later. */
async function until(command, words) {
  for (const began = Date.now(); ; await pause(250)) {
    const { good, said } = run(command);
    if (good && words.test(said)) return said;
    assert.ok(Date.now() - began < PATIENCE, `${command} does not say ${words}:\n${said}`);
  }
}

/** What stands for something that an earlier command has printed. */
const known = {};
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
  [/^merchant withdraw show/, /success/],
];

async function guide() {
  const all = blocks('integrate.md');
  writeFileSync(join(folder, 'merchant.toml'), all.find(({ language }) => language === 'toml').text);
  const commands = all.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.replaceAll('\\\n', ' ').trim().split('\n'));
  for (const written of commands) {
    const command = fill(written);
    if (/^(cargo build|alias) /.test(command)) continue; // done by whoever runs this
    if (command === 'sandbox') await startSandbox();
    else if (command === 'merchant inbox') await start(command, /callbacks on 127\.0\.0\.1:9981, feed on 127\.0\.0\.1:9982/);
    else learn(await guided(command));
  }
  assert.deepEqual(promised, [], 'the guide has every command that something is promised of');
  await until('merchant events list', /Scheduler .* customerMustAct.*SubscriptionCancel.*Recharge/s);
}

async function guided(command) {
  const looks = /^merchant (events|withdraw show)/.test(command);
  const words = promised[0]?.[0].test(command) ? promised.shift()[1] : /(?:)/;
  if (looks) return until(command, words);
  const { good, said } = run(command);
  assert.ok(good && words.test(said), `${command} does not say ${words}:\n${said}`);
  return said;
}

async function startSandbox() {
  const said = await start('sandbox', /until Ctrl-C/);
  for (const port of [7100, 7101, 7102, 9980]) {
    assert.ok(said.includes(`http://127.0.0.1:${port}`), `port ${port} is taken: end the sandbox that runs on this machine`);
  }
}

/** The controls, each a command of its own. */
async function controls() {
  const text = blocks('sandbox.md').flatMap(({ text }) => text.split('\n'));
  const commands = text.filter((line) => line.startsWith('cargo run -qp sandbox -- ')).map((line) => line.slice('cargo run -qp '.length).replace('sandbox -- ', 'sandbox '));
  assert.ok(commands.length > 20, commands.join('\n'));
  for (const command of commands) await until(command, /./); // what an admin approves has to be in a block
}

/** The options of a program's command, by its own words. */
const helped = new Map();
function options(words) {
  const command = words.join(' ');
  if (!helped.has(command)) helped.set(command, run(`${command} --help`));
  const { good, said } = helped.get(command);
  return good ? new Set(said.match(/--[a-z][a-z-]*/g)) : undefined;
}

function everyOptionIsThere(name) {
  const text = read(name).replaceAll('cargo run -qp sandbox -- ', 'sandbox ').replaceAll('cargo run -p sandbox', 'sandbox').replaceAll('\\\n', ' ');
  const spans = [...text.matchAll(/`((?:merchant|sandbox) [^`\n]+)`/g)].map(([, span]) => span);
  const lines = text.split('\n').filter((line) => /^(merchant|sandbox) /.test(line));
  assert.ok(spans.length + lines.length > 3, name);
  for (const command of [...spans, ...lines]) {
    const words = command.split(/\s+/);
    const first = words.findIndex((word) => !/^[a-z][a-z-]*,?$/.test(word));
    let path = words.slice(0, first < 0 ? undefined : first).map((word) => word.replace(',', ''));
    // `events list`: two words of the program; a third one is an argument.
    while (path.length > 1 && !options(path)) path = path.slice(0, -1);
    assert.ok(path.length > 1 || words[1].startsWith('-') || words[1] === 'help', `${name}: ${command}: there is no such command`);
    for (const option of command.match(/(?<= )--[a-z][a-z-]*/g) ?? []) {
      assert.ok(options(path).has(option), `${name}: ${command}: ${path.join(' ')} has no ${option}`);
    }
  }
}

/** A configuration of a document is one that the program reads: no name in it is misspelt. */
function everyNameIsKnown(name) {
  const written = blocks(name).find(({ language }) => language === 'toml').text;
  writeFileSync(join(folder, 'written.toml'), written.replace(/_file = ".*"/g, ' = "x"').replace(/^# (?=[a-z_]+ = )/gm, '').replace(/^former_secret_file.*/m, ''));
  const { said } = run('merchant --config written.toml events list --state none.db');
  assert.match(said, /there is no/, `${name}: ${said}`);
}

/** A test that a document names by its path is there. */
function everyTestIsThere(name) {
  for (const [, path, test] of read(name).matchAll(/`((?:[a-z_]+::)+)([a-z_]+)[`(]/g)) {
    const found = spawnSync('grep', ['-rqE', `fn ${test}\\(`, 'crates', 'merchant', 'sandbox', 'tests'], { cwd: root });
    assert.equal(found.status, 0, `${name}: there is no ${path}${test}`);
  }
}

for (const name of ['merchant.md', 'merchant-loop.md', 'integrate.md', 'sandbox.md']) everyOptionIsThere(name);
for (const name of ['merchant.md', 'sandbox.md']) everyTestIsThere(name);
for (const name of ['merchant.md', 'merchant-loop.md', 'integrate.md']) everyNameIsKnown(name);
await guide();
await controls();
console.log('every command of the documents did what they say');
process.exit(0);
