// The proof of answers as the operators' page asks for it, against the vectors. The page is a script and no module:
// it runs here in a window that has nothing in it, and hands out the function that it judges answers by.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const { answers } = JSON.parse(read('../docs/vectors/signing.json'));

/** Whatever is asked of it, it is there and does nothing. */
const nothing = new Proxy(() => nothing, { get: (_, name) => (name === Symbol.toPrimitive ? () => '' : nothing), set: () => true });
const handOut = `
  return { told, of: async (secret, now) => {
    caller = { secret: await crypto.subtle.importKey('raw', bytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']) };
    skewMs = now * 1000 - Date.now();
  } };`;
const inWindow = new Function('document', 'location', 'addEventListener', 'fetch', 'setTimeout', 'clearTimeout', read('../src/http/page/script.js') + handOut);
const page = inWindow(nothing, { hash: '' }, () => {}, async () => new Response('{}'), () => 0, () => {});

test('the page takes an answer where it is proven, and nowhere else', async () => {
  for (const { name, proven, secret, requestSign, now, status, headers, body } of answers) {
    await page.of(secret, now);
    const told = page.told(new Response(body, { status, headers: new Headers(headers) }), requestSign);
    const end = await told.then(() => 'told', (problem) => problem.message);
    assert.equal(/not signed by the Signer/.test(end), !proven, `${name}: ${end}`);
  }
});

test('an HTTP 401 is an error whatever it says, and its words are shown', async () => {
  const [{ secret, now }] = answers;
  await page.of(secret, now);
  for (const body of ['{"code":1,"msg":"success","data":[{"state":"charged"}]}', '{"code":0,"msg":"signature or key is wrong","data":null}']) {
    await assert.rejects(page.told(new Response(body, { status: 401 }), 'A'.repeat(44)), ({ status, message }) => status === 401 && message.includes(JSON.parse(body).msg));
  }
});
