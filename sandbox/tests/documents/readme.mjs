// README.md, "Run it": its first block as it stands, on anvil; its second for every network that `init` knows, each on
// anvil with the id of that chain or on the sandbox's TRON node. Each in an empty home directory. What cargo would compile
// is compiled already.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { areServed } from './layouts.mjs';
import { PATIENCE, pause, root } from './world.mjs';

const programs = process.env.PROGRAMS ?? join(root, 'target', 'debug');
const SIGNER = 'http://127.0.0.1:9980';
const NODE = 'http://127.0.0.1:8545';
const anvil = (() => {
  const makers = join(root, 'tests', 'node', 'node_modules', '@foundry-rs');
  const of = readdirSync(makers).find((name) => existsSync(join(makers, name, 'bin', 'anvil')));
  return join(makers, of, 'bin', 'anvil');
})();

/** The blocks of "Run it". */
function blocks() {
  const part = readFileSync(join(root, 'README.md'), 'utf8').split(/^## /m).find((text) => text.startsWith('Run it'));
  return [...part.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text);
}

/** An empty home directory, and the commands that are not of this repository. */
function home(edit = 'exit 1') {
  const at = mkdtempSync(join(tmpdir(), 'home-'));
  const scripts = join(at, '.stubs');
  const put = (name, text) => { writeFileSync(join(scripts, name), `#!/bin/sh\n${text}\n`); chmodSync(join(scripts, name), 0o755); };
  mkdirSync(scripts);
  put('anvil', `exec ${anvil} "$@"`);
  put('cargo', `mkdir -p "$HOME/.cargo/bin"
case "$*" in
  "install --locked --path .") ln -sf ${programs}/merchant-signer "$HOME/.cargo/bin/" ;;
  "install --locked --path sandbox") ln -sf ${programs}/sandbox "$HOME/.cargo/bin/" ;;
  *) echo "cargo $*: is not in the README" >&2; exit 1 ;;
esac`);
  put('editor', edit);
  const env = { HOME: at, EDITOR: join(scripts, 'editor'), PATH: `${at}/.cargo/bin:${scripts}:${process.env.PATH}` };
  return { at, env };
}

const install = (place) => spawnSync('sh', ['-c', 'cargo install --locked --path . && cargo install --locked --path sandbox'], place);

/** Runs what a person pastes, until it has done what it is for; then ends all of it. */
async function paste(text, { at, env }, done) {
  const child = spawn('bash', ['-c', `set -e\n${text}\nwait`], { cwd: at, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (part) => { said += part; });
  const isGone = async () => {
    try {
      process.kill(-child.pid, 0);
      return false;
    } catch {
      return true;
    }
  };
  try {
    for (const began = Date.now(); !(await done(said)); await pause(250)) {
      assert.ok(child.exitCode === null && Date.now() - began < 2 * PATIENCE, said);
    }
  } finally {
    if (!(await isGone())) process.kill(-child.pid, 'SIGTERM');
    await until(isGone);
    rmSync(at, { recursive: true, force: true });
  }
  return said;
}

const isUp = (url) => fetch(url).then(() => true, () => false);
async function until(done) {
  for (const began = Date.now(); !(await done()); await pause(250)) assert.ok(Date.now() - began < PATIENCE, String(done));
}

async function locally(text) {
  const said = await paste(text, home(), (said) => /"txHash": ?"0x/.test(said));
  assert.match(said, /ready to bill/);
  assert.match(said, /"code": ?1/);
}

/** As somebody edits signer.toml who has deployed the contract. */
const editor = (told) => `exec node ${join(root, 'sandbox', 'tests', 'documents', 'fill.mjs')} "$1" '${JSON.stringify(told)}'`;

async function onAnvil(text, network) {
  const id = /^eip155_id = (\d+)$/m.exec(readFileSync(join(root, 'config', 'networks', `${network}.toml`), 'utf8'))[1];
  const node = spawn(anvil, ['--chain-id', id, '--block-time', '1', '--slots-in-an-epoch', '1'], { stdio: 'ignore' });
  try {
    await until(() => isUp(NODE));
    await isServed(text, network, editor({ node: NODE }));
  } finally {
    node.kill('SIGKILL');
  }
}

/** The sandbox's TRON node has an id of its own. */
async function onTron(text, network) {
  const sandbox = spawn(join(programs, 'sandbox'), ['--bare', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const told = JSON.parse(String(await new Promise((done) => sandbox.stdout.once('data', done))));
    await isServed(text, network, editor({ tron: told.signerConfig }));
  } finally {
    sandbox.kill('SIGTERM');
  }
}

async function isServed(text, network, edit) {
  const wanted = text.replace('--network polygon', `--network ${network}`);
  const place = home(edit);
  install(place);
  const said = await paste(wanted, place, async () => (await fetch(`${SIGNER}/health/ready`).catch(() => ({}))).ok);
  assert.match(said, /ready to bill/, network);
}

/** What is deployed with operate/ begins with the same files. */
async function deployed() {
  const node = spawn(anvil, ['--block-time', '1'], { stdio: 'ignore' });
  const place = home();
  try {
    await until(() => isUp(NODE));
    install(place);
    areServed(NODE, place);
  } finally {
    node.kill('SIGKILL');
    rmSync(place.at, { recursive: true, force: true });
  }
}

export async function readme() {
  const [local, network, ...more] = blocks();
  assert.deepEqual(more, []);
  assert.match(network, /--network polygon/);
  await locally(local);
  console.log('local: charged');
  await deployed();
  console.log('operate/: ready');
  const all = readdirSync(join(root, 'config', 'networks')).map((name) => name.replace('.toml', '')).filter((name) => name !== 'local');
  assert.ok(all.length > 12);
  for (const name of process.env.NETWORKS?.split(' ') ?? all) {
    await (['tron', 'nile', 'shasta'].includes(name) ? onTron : onAnvil)(network, name);
    console.log(`${name}: ready`);
  }
}
