'use strict';

const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');

/** The path of the program for this machine; $MERCHANT_SANDBOX names another one. */
function program() {
  if (process.env.MERCHANT_SANDBOX) return process.env.MERCHANT_SANDBOX;
  const name = `merchant-sandbox-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/merchant-sandbox`);
  } catch {
    throw new Error(`merchant-sandbox has no program for ${process.platform} on ${process.arch} here (package ${name}): build it from source, and name it in MERCHANT_SANDBOX`);
  }
}

/**
 * Starts a sandbox on free ports; it ends with `stop()` or with this process. `seed`, `at`, `subscribers` and `beat` are the
 * options of `merchant-sandbox --ci`.
 */
async function start(options = {}) {
  const words = Object.entries(options).filter(([, value]) => value !== undefined).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(program(), ['--ci', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = new Promise((resolve, reject) => { child.once('exit', resolve); child.once('error', reject); });
  const first = new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  const line = await Promise.race([first, gone.then((code) => Promise.reject(new Error(`the sandbox ended with ${code}`)))]);
  const addresses = JSON.parse(line);
  // A test that forgets to stop it still ends, and the sandbox with it.
  child.unref();
  child.stdout.unref();
  return {
    ...addresses,
    async control(name, body = {}) {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${addresses.adminUrl}/sandbox/${name}`, { method: 'POST', headers, body: JSON.stringify(body) });
      const answer = await response.json();
      if (!response.ok) throw new Error(`${name}: ${answer.error}`);
      return answer;
    },
    async stop() {
      child.ref();
      child.kill();
      await gone;
    },
  };
}

module.exports = { program, start };
