// What every part of the documents' test works with: one folder, programs that are started in it, and words to wait for.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const programs = process.env.PROGRAMS ?? join(root, 'target', 'debug');
/** An empty home directory, and the folder in it in which the guide works. */
const home = mkdtempSync(join(tmpdir(), 'documents-'));
export const folder = join(home, 'shop');
mkdirSync(folder);
const env = { ...process.env, HOME: home, PATH: `${programs}:${process.env.PATH}` };
/** How long something may take on a busy machine (ms). */
export const PATIENCE = 60_000;

const running = new Map();
process.on('exit', () => {
  for (const child of running.values()) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

export const read = (name) => readFileSync(join(root, 'docs', name), 'utf8');

/** The fenced blocks of a document: language and text. */
export function blocks(name) {
  return [...read(name).matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text }));
}

/** The commands of a document's blocks of a language, a line each. */
export function commands(name, language = 'sh') {
  const texts = blocks(name).filter((block) => block.language === language).map(({ text }) => text);
  return texts.flatMap((text) => text.replaceAll('\\\n', ' ').trim().split('\n'));
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts a program that stays, and waits until it has said something. */
export async function start(command, words) {
  const log = join(folder, `${command.split(' ').slice(0, 2).join('-')}.log`);
  const output = openSync(log, 'w');
  const child = spawn('bash', ['-c', `exec ${command}`], { cwd: folder, env, stdio: ['ignore', output, output] });
  running.set(command, child);
  for (const began = Date.now(); ; await pause(100)) {
    const said = readFileSync(log, 'utf8');
    if (words.test(said)) return said;
    assert.ok(child.exitCode === null && Date.now() - began < 3 * PATIENCE, `${command}: ${said}`);
  }
}

/** Ends a program as a power cut would. */
export async function kill(command) {
  const child = running.get(command);
  running.delete(command);
  const gone = new Promise((done) => child.on('exit', done));
  child.kill('SIGKILL');
  await gone;
}

/** What a program that stays does meanwhile goes on: nothing here blocks it but commands that end. */
export function run(command, input = '') {
  const done = spawnSync('bash', ['-c', command], { cwd: folder, env, input, encoding: 'utf8', timeout: 2 * PATIENCE });
  return { good: done.status === 0, said: `${done.stdout}${done.stderr}` };
}

/** The same for a command that this process itself has to answer. */
export function runBeside(command) {
  return new Promise((done) => {
    const child = spawn('bash', ['-c', command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const output of [child.stdout, child.stderr]) output.on('data', (part) => { said += part; });
    child.on('close', (status) => done({ good: status === 0, said }));
  });
}

/** Runs a command, and again until it says what it should: what is final comes seconds later. */
export async function until(command, words) {
  for (const began = Date.now(); ; await pause(250)) {
    const { good, said } = await runBeside(command);
    if (good && words.test(said)) return said;
    assert.ok(Date.now() - began < PATIENCE, `${command} does not say ${words}:\n${said}`);
  }
}

/** Runs a command that has to do what it is for, and to say it. */
export function must(command, words = /(?:)/, input = '') {
  const { good, said } = run(command, input);
  assert.ok(good && words.test(said), `${command} does not say ${words}:\n${said}`);
  return said;
}
