// The Node client against the vectors, the stub ($STUB) and, where one runs, the sandbox ($SANDBOX).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as client from './merchant.mjs';
import { Conflict, NotKnown, NotProven, NotVerified, Platform, Signer, VERSION, eventKey, parse, sign, stringify, verifyAnswer, verifyCallback, whatToDo } from './merchant.mjs';

const { vectors, answers, clocks, callback, bodies, events } = JSON.parse(readFileSync(new URL('../../docs/vectors/signing.json', import.meta.url)));

test('every vector is made, accepted, and refused with one byte changed', () => {
  for (const { name, secret, sign: wanted, ...signed } of vectors) {
    assert.equal(sign(secret, signed), wanted, name);
    const headers = { 'x-pay-key': 'k', 'x-pay-timestamp': signed.timestamp, 'x-pay-sign': wanted };
    const check = (changes) => verifyCallback({ headers, ...signed, credentials: { k: secret }, now: Number(signed.timestamp), ...changes });
    if (signed.body.startsWith('{')) assert.equal(stringify(check({})) === '', false);
    else assert.throws(() => check({}), /no JSON/, name);
    assert.throws(() => check({ body: `${signed.body} ` }), NotVerified, name);
    assert.throws(() => check({ pathAndQuery: `${signed.pathAndQuery}x` }), NotVerified, name);
    assert.throws(() => check({ now: Number(signed.timestamp) + 61 }), /at most 60 s/, name);
    assert.throws(() => check({ credentials: { other: secret } }), NotVerified, name);
    assert.throws(() => check({ headers: { ...headers, 'x-pay-sign': `${wanted}, ${wanted}` } }), NotVerified, name);
  }
});

test('of what is signed, JSON objects alone are taken, and all else is one error', () => {
  assert.ok(bodies.length > 40);
  for (const { name, taken, body, sign: made } of bodies) {
    const raw = Buffer.from(body, 'base64');
    const headers = { 'x-pay-key': 'k', 'x-pay-timestamp': callback.timestamp, 'x-pay-sign': made };
    const check = () => verifyCallback({ headers, ...callback, body: raw, credentials: { k: callback.secret }, now: Number(callback.timestamp) });
    if (taken) assert.equal(typeof check(), 'object', name);
    else assert.throws(check, NotVerified, name);
  }
});

test('all deliveries of an event have one key, and no two events', () => {
  for (const { name, body, key } of events) assert.equal(eventKey(parse(body), Buffer.from(body)), key, name);
});

test('the types name what is there, and no more', () => {
  const types = readFileSync(new URL('merchant.d.mts', import.meta.url), 'utf8');
  const named = [...types.matchAll(/^export (?:const|function|class) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(named.sort(), Object.keys(client).sort());
  for (const name of ['Platform', 'Signer']) {
    const [, body] = new RegExp(`^export class ${name} {\n([^]*?)^}`, 'm').exec(types);
    const methods = [...body.matchAll(/^  (\w+)\(/gm)].map(([, method]) => method);
    assert.deepEqual(methods.sort(), Object.getOwnPropertyNames(client[name].prototype).sort(), name);
  }
});

test('the package is this file, in this version', () => {
  const { version, exports, files } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
  assert.equal(version, VERSION);
  assert.deepEqual(files, ['merchant.mjs', 'merchant.d.mts', 'merchant.cjs', 'merchant.d.cts']);
  assert.deepEqual(exports['.'].import, { types: './merchant.d.mts', default: './merchant.mjs' });
});

test('an answer is taken where it is proven, and nowhere else', () => {
  assert.ok(answers.length > 20);
  for (const { name, proven, headers, ...answer } of answers) {
    const check = () => verifyAnswer({ ...answer, headers: new Headers(headers) });
    if (proven) check();
    else assert.throws(check, NotVerified, name);
  }
});

test('JSON goes through without loss', () => {
  const text = `{"a":[1,${2n ** 256n - 1n},-0.5e3,1e400,"a,b:{\\"",{},[]],"__proto__":null,"":true}`;
  assert.equal(stringify(parse(text)), text);
  assert.equal(parse('9223372036854775807'), 9223372036854775807n);
  for (const bad of ['', '{', '[1,]', '01', '{"a":1,"a":2}', 'NaN', '[1] 2', '"\n"']) assert.throws(() => parse(bad), SyntaxError, bad);
  assert.throws(() => stringify(2 ** 60), TypeError);
});

const peer = (key) => ({ url: process.env.STUB, key, secret: 'the secret of the clients', pause: 0.01 });

test('every entry has exactly one end, whatever the Signer does', { skip: !process.env.STUB && 'no $STUB' }, async () => {
  const entries = await new Platform(peer('node')).chargeable();
  const ids = entries.map((entry) => Number(entry.subscribeId % 1_000_000n));
  for (let id = 20; id <= 1234; id += 1) assert.ok(ids.includes(id), `${id} was lost`);
  const { sent, failed, open } = await new Signer(peer('node')).bill(entries, { families: { 139: 'EVM', 136: 'TVM' } });
  const ends = [...sent.flatMap((one) => one.subscriptionIds), ...failed.map((one) => one.subscribeId), ...open.map((one) => one.entry.subscribeId)];
  assert.equal(ends.length, entries.length);
  assert.equal(new Set(ends).size, entries.length);
  assert.ok(failed.length > 100 && failed.every((one) => one.todo.who === 'customer'));
  assert.ok(open.every((one) => one.entry.subscribeId % 1_000_000n % 7n === 0n));
  const stranger = new Signer({ ...peer('node'), secret: 'another' });
  await assert.rejects(stranger.status('x'), (error) => error instanceof NotProven && /signature or key is wrong/.test(error.message));
  assert.deepEqual(await new Signer(peer('node')).status('a/b?c'), []);
  assert.equal(whatToDo({ retry: 'constructor' }).who, 'operator');
});

test('every call of the platform asks and is answered without loss', { skip: !process.env.STUB && 'no $STUB' }, async () => {
  const platform = new Platform({ ...peer('node'), paymentUrl: 'https://pay.example/', notFoundCodes: [1404] });
  const notifyUrl = 'https://shop.example/hooks';
  const link = await platform.createLink({ chainId: 139, planId: 7n, externalUserId: 'u-1', redirectionUrl: 'https://shop.example/thanks', notifyUrl });
  assert.deepEqual([link.url, link.subscriptionId], ['https://pay.example/pay/a?b=c', 9007199254740993n]);
  await assert.rejects(platform.createCancelLink({ outTradeNo: 'SUB1', redirectionUrl: 'https://shop.example/bye', notifyUrl }), /no path/);
  assert.equal((await platform.subscriptions())[0].subscriptionId, 9007199254740993n);
  assert.equal((await platform.chains())[0].chainId, 139n);
  assert.equal((await platform.currencies(139))[0].decimals, 18n);
  assert.equal(await platform.createUser('u/1 &\u00e9'), 9007199254740993n);
  assert.equal((await platform.user('u/1 &\u00e9')).uuid, 'u');
  assert.equal(await platform.user('nobody'), null);
  assert.equal((await platform.recharge(9007199254740993n)).rechargeId, 9007199254740993n);
  const payment = (outTradeNo) => ({ chainId: 139, currencyId: 1391, withdrawAddress: '0xAbC', withdrawAmount: '10.50', outTradeNo });
  const taken = { withdrawId: 9007199254740993n, found: true };
  assert.deepEqual(await platform.withdraw(payment('w-1')), taken, 'the answer was lost');
  assert.deepEqual(await platform.withdraw(payment('w-1')), taken, 'and it is made once');
  await assert.rejects(platform.withdraw(payment('taken')), (error) => error instanceof Conflict && error.withdrawId === 5n);
  for (const number of ['nobody knows', 'busy', 'behind a proxy', 'behind a proxy', 'a proxy alone', 'mistaken']) {
    await assert.rejects(platform.withdraw(payment(number)), NotKnown, number);
  }
  await assert.rejects(new Platform(peer('empty')).chargeable(), /has 3 entries/);
  await assert.rejects(platform.withdraw({ ...payment('w-2'), withdrawAmount: '0.0000000000000000001' }), TypeError);
});

test('the Signer tells charges and is paused', { skip: !process.env.STUB && 'no $STUB' }, async () => {
  const signer = new Signer(peer('node'));
  assert.equal((await signer.charges({ wallet: '0xab', state: 'charged' })).charges[0].subscribeId, '7');
  const [paused] = await signer.pause({ chainId: 139, why: 'a drill' });
  assert.equal((await signer.control())[0].pausedSince, paused.pausedSince);
  assert.equal((await signer.resume({ 139: paused.pausedSince }))[0].pausedSince, null);
});

test('an impostor is no verdict', { skip: !process.env.STUB && 'no $STUB' }, async () => {
  for (const forgery of ['nothing', 'another-secret', 'another-request', 'an-echo']) {
    const impostor = new Signer({ ...peer('node'), url: `${process.env.STUB}/impostor/${forgery}`, tries: 2 });
    const { sent, failed, open } = await impostor.bill([{ subscribeId: 1n, chainId: 139n }, { subscribeId: 2n, chainId: 136n }], { families: { 139: 'EVM', 136: 'TVM' } });
    assert.deepEqual([sent.length, failed.length, open.length], [0, 0, 2], forgery);
    assert.match(open[0].why, /without the Signer's proof/);
    await assert.rejects(impostor.status('0xab'), NotProven, forgery);
  }
});

test('a clock that is off is told where it explains a refusal, and nowhere else', { skip: !process.env.STUB && 'no $STUB' }, async () => {
  assert.ok(clocks.length > 10);
  for (const { signer, status, proven, off, told } of clocks) {
    const url = `${process.env.STUB}/clock/${status}/${proven ? 'proven' : 'unproven'}/${off}`;
    const one = { ...peer('node'), url, tries: 1, clock: () => 1767225600 };
    const asked = signer ? new Signer(one).control() : new Platform(one).chains();
    const words = `the clock here is ${Math.abs(off)} s ${off > 0 ? 'ahead' : 'behind'}, and at most ${signer && off > 0 ? 5 : 60} s are allowed`;
    await assert.rejects(asked, (error) => error.message.includes(words) === told && error.message.includes('the clock here') === told, `${url}: ${told}`);
  }
});

test('nobody there is no verdict', async () => {
  const signer = new Signer({ url: 'http://127.0.0.1:1', key: 'k', secret: 's', tries: 2, pause: 0.01 });
  const { sent, open } = await signer.bill([{ subscribeId: 1n, chainId: 139n }], { families: { 139: 'EVM' } });
  assert.deepEqual([sent.length, open.length], [0, 1]);
});

test('the sandbox bills once, however often it is asked', { skip: !process.env.SANDBOX && 'no $SANDBOX' }, async () => {
  const sandbox = JSON.parse(process.env.SANDBOX);
  const signer = new Signer(sandbox.signer);
  for (const [family, file] of Object.entries(sandbox.lists)) {
    const list = parse(readFileSync(file, 'utf8'));
    const families = { [list[0].chainId]: family };
    const first = await signer.bill(list, { families });
    assert.equal(first.sent.length, 1, stringify(first));
    const again = await signer.bill(list, { families });
    assert.equal(again.sent[0]?.txHash ?? again.failed[0].txHash, first.sent[0].txHash);
    const [billing] = await signer.status(first.sent[0].txHash);
    assert.equal(billing.subscriptions[0].subscribeId, list[0].subscribeId);
  }
});
