// The files of operate/ start with what `init` and `keys new` write: the commands that stand in their heads are run as they
// stand, the files are laid where each of them mounts them, and `init` and `check` have to find all of them from there.
// Every path is below a directory of the test.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './world.mjs';

const operate = (name) => readFileSync(join(root, 'operate', name), 'utf8');
/** The commands in the head of a file that write what it mounts. */
const head = (text) => [...text.matchAll(/^# +(merchant-signer (?:.*init --network|.*keys new).*)$/gm)].map(([, line]) => line);
const image = readFileSync(join(root, 'Dockerfile'), 'utf8');
const [, inImage] = /^ENTRYPOINT .*"--config", "(.*?)"/m.exec(image);

/** Each: where its commands are given, where its configuration is read, and what is mounted where, all of it by its own words. */
const layouts = {
  'merchant-signer.service'(text) {
    const [, config] = /^ExecStart=\S+ --config (\S+)$/m.exec(text);
    assert.ok(text.includes(`#   cd ${dirname(config)}\n`));
    return { from: dirname(config), config, data: `/var/lib/${/^StateDirectory=(.*)$/m.exec(text)[1]}`, mounts: [] };
  },
  'compose.yml'(text) {
    const [, data] = /^ +- journal:(.*)$/m.exec(text);
    const mounts = [...text.split('  proxy:')[0].matchAll(/^ +- \.\/(\w+):(.*):ro$/gm)].map(([, from, to]) => [from, to]);
    return { from: '/work', config: inImage, data, mounts };
  },
  'kubernetes/signer.yml'(text) {
    const place = (name) => new RegExp(`name: ${name}, mountPath: ([^,}]+)`).exec(text)[1];
    const files = { 'signer.toml': 'signer.toml', 'scheduler': 'secrets/scheduler', 'operator': 'secrets/operator', 'billing.json': 'keys/billing.json', 'billing.password': 'keys/billing.password' };
    const items = [...text.matchAll(/\{key: (\S+), path: (\S+)\}/g)];
    return { from: '/work', config: inImage, data: place('journal'), mounts: items.map(([, key, path]) => [files[key], join(place('config'), path)]) };
  },
};

/** Runs them beside a local node; whoever bills is entitled on it by `deploy`. */
export function areServed(node, { at, env }) {
  for (const [name, layout] of Object.entries(layouts)) {
    const text = operate(name);
    const { from, config, data, mounts } = layout(text);
    const base = join(at, 'layouts', name);
    const below = (path) => join(base, path);
    const run = (command, cwd) => {
      const placed = command.replace('--network polygon', '--network local').replace(`--data ${data}`, `--data ${below(data)}`);
      const done = spawnSync('sh', ['-c', placed], { cwd, env, encoding: 'utf8' });
      assert.equal(done.status, 0, `${name}: ${command}: ${done.stdout}${done.stderr}`);
      return done.stdout;
    };
    mkdirSync(below(from), { recursive: true });
    const commands = head(text);
    assert.equal(commands.length, 2, `${name}: ${commands}`);
    const said = commands.map((command) => run(command, below(from)));
    const [biller] = said[1].split(' ');
    for (const [file, to] of mounts) {
      mkdirSync(dirname(below(to)), { recursive: true });
      cpSync(join(below(from), file), below(to), { recursive: true });
    }
    const told = execFileSync('sandbox', ['deploy', '--biller', biller, '--rpc', node, '--people', '0', '--due', '/dev/null'], { env, encoding: 'utf8' });
    const of = (word) => new RegExp(`^${word} +(\\S+)`, 'm').exec(told)[1];
    const own = { SIGNER__CHAINS__7__CONTRACT: of('contract'), SIGNER__CHAINS__7__MULTICALL: of('multicall') };
    for (const [key, value] of Object.entries(own)) env[key] = value;
    assert.match(run(`merchant-signer -c ${below(config)} init`, '/'), new RegExp(`made the journal ${below(data)}/`), name);
    assert.match(run(`merchant-signer -c ${below(config)} check`, '/'), /ready to bill/, name);
    for (const key of Object.keys(own)) delete env[key];
  }
}
