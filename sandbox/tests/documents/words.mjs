// The words of the documents: every option that they give a program is one that it has, every name in a configuration is
// known, every test that they name is there.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocks, folder, read, root, run } from './world.mjs';

/** The options of a program's command, by its own words. */
const helped = new Map();
function options(words) {
  const command = words.join(' ');
  if (!helped.has(command)) helped.set(command, run(`${command} --help`));
  const { good, said } = helped.get(command);
  return good ? new Set(said.match(/--[a-z][a-z-]*/g)) : undefined;
}

export function everyOptionIsThere(name) {
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

/** A configuration of a document is one that the program reads: no name in it is misspelt, also of those that are not set. */
export function everyNameIsKnown(name) {
  const written = blocks(name).find(({ language }) => language === 'toml').text;
  const all = written.replace(/^# (?=[a-z_]+ = )/gm, '').replace(/secret_file = ".*?"/g, 'secret_file = "secret"');
  writeFileSync(join(folder, 'secret'), 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { mode: 0o600 });
  writeFileSync(join(folder, 'written.toml'), all);
  const { said } = run('merchant --config written.toml events list --state none.db');
  // Certificates are nowhere but in the document.
  const faults = said.trim().split('\n').filter((line) => !/^merchant: the configuration is not usable|signer\.(ca|identity)_file: is for/.test(line));
  assert.ok(faults.every((line) => /there is no inbox at none\.db/.test(line)), `${name}: ${said}`);
}

/** A test that a document names by its path is there. */
export function everyTestIsThere(name) {
  for (const [, path, test] of read(name).matchAll(/`((?:[a-z_]+::)+)([a-z_]+)[`(]/g)) {
    const found = spawnSync('grep', ['-rqE', `fn ${test}\\(`, 'crates', 'merchant', 'sandbox', 'tests'], { cwd: root });
    assert.equal(found.status, 0, `${name}: there is no ${path}${test}`);
  }
}

