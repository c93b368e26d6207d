// The proof of answers as the operators' page asks for it, against the vectors. The module is imported with the function
// handed out that it judges answers by.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const { answers } = JSON.parse(read('../docs/vectors/signing.json'));

// Of the module that asks the Signer, with what it keeps to itself.
const asks = await import(`data:text/javascript,${encodeURIComponent(`${read('../src/http/page/ask.js')}\nexport { bytes, told };`)}`);
const page = {
  told: asks.told,
  of: async (secret, now) => {
    asks.session.caller = { secret: await crypto.subtle.importKey('raw', asks.bytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']) };
    asks.session.skewMs = now * 1000 - Date.now();
  },
};

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
