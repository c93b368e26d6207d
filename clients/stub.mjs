// A platform and a Signer that misbehave, for the tests of the clients: a list that shrinks while it is
// read, limits smaller than announced, answers that are late, lost, or silent about some entries. Under
// /impostor/ somebody else sits in the Signer's place, who says of everybody that he is charged.
//
//   node stub.mjs    prints its address, serves until its standard input ends

import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

const SECRET = 'the secret of the clients';
const AMOUNT = (2n ** 256n - 1n).toString();
const entry = (id) => `{"subscribeId":${9_000_000_000_000_000_000n + BigInt(id)},"chainId":${id % 2 ? 139 : 136},"amount":${AMOUNT},"novel":1e400,"text":"\\u00e4 \\"[,]"}`;

const lists = new Map();
const tries = new Map();
const faults = [];

function signedRight(request, body) {
  const timestamp = request.headers['x-pay-timestamp'];
  const sign = createHmac('sha256', SECRET).update(timestamp + request.method + request.url).update(body).digest('base64');
  return sign === request.headers['x-pay-sign'] && Math.abs(Date.now() / 1000 - Number(timestamp)) < 60;
}

function chargeable(request) {
  const caller = request.headers['x-pay-key'];
  if (caller === 'empty') return done('{"count":3,"page":1,"size":500,"list":[]}');
  if (!lists.has(caller)) lists.set(caller, Array.from({ length: 1234 }, (_, n) => n + 1));
  const list = lists.get(caller);
  if (list[0] < 20) list.shift();
  const query = new URL(request.url, 'http://stub').searchParams;
  const [page, size] = [Number(query.get('page')), Number(query.get('size'))];
  const shown = list.slice((page - 1) * size, page * size).map(entry);
  return [200, `{"code":200,"msg":"success","data":{"count":${list.length},"page":${page},"size":${size},"list":[${shown.join(',')}]}}`];
}

/** Withdrawals, by caller and number. The answer to the first application of each is lost. */
const payments = new Map();

/** A page of somebody between the platform and whoever asks. */
const page = (status) => [status, '<html><h1>Try again later</h1></html>', { 'Content-Type': 'text/html' }];

/** Numbers for which nobody may apply: of one no look says anything, of the other the record is somebody else's. */
const UNSEEN = {
  'a proxy alone': () => page(404),
  mistaken: () => done('{"withdrawId":6,"outTradeNo":"w-9","chainId":139,"currencyId":1391,"withdrawAddress":"0xabc","withdrawAmount":10500000000000000000,"withdrawStatus":0}'),
};

function withdrawal(request, body) {
  const caller = request.headers['x-pay-key'];
  if (request.method === 'GET') {
    const number = new URL(request.url, 'http://stub').searchParams.get('outTradeNo');
    if (number in UNSEEN) return UNSEEN[number]();
    // The platform is asked once, and then a proxy answers in its place.
    if (number === 'behind a proxy' && payments.has(`${caller} ${number}`)) return page(404);
    if (number === 'taken') return done(`{"withdrawId":5,"outTradeNo":"taken","chainId":139,"currencyId":1391,"withdrawAddress":"0xother","withdrawAmount":1,"withdrawStatus":0}`);
    return payments.has(`${caller} ${number}`) ? done(payments.get(`${caller} ${number}`)) : [200, '{"code":1404,"msg":"no such withdrawal","data":null}'];
  }
  const wanted = JSON.parse(body);
  if (body !== `{"chainId":139,"currencyId":1391,"withdrawAddress":"0xAbC","withdrawAmount":"10.50","outTradeNo":"${wanted.outTradeNo}"}`) faults.push(`an odd withdrawal: ${body}`);
  const known = `${caller} ${wanted.outTradeNo}`;
  if (payments.has(known)) faults.push(`applied for twice: ${known}`);
  if (wanted.outTradeNo in UNSEEN) faults.push(`applied for unseen: ${known}`);
  if (wanted.outTradeNo === 'nobody knows') return null;
  if (wanted.outTradeNo === 'busy') return [200, '{"code":503,"msg":"busy","data":null}'];
  payments.set(known, `{"withdrawId":9007199254740993,"outTradeNo":"${wanted.outTradeNo}","chainId":139,"currencyId":1391,"withdrawAddress":"0xabc","withdrawAmount":10500000000000000000,"withdrawStatus":0}`);
  return wanted.outTradeNo === 'behind a proxy' ? page(504) : null;
}

const done = (data) => [200, `{"code":200,"msg":"success","data":${data}}`];
const USER = 'u/1 &\u00e9';

/** The other calls of the platform, each with what it has to be asked. */
const CALLS = {
  'POST /api/mer/subscribe/payment/create': (asked) => asked === '{"chainId":139,"planId":7,"externalUserId":"u-1","redirectionUrl":"https://shop.example/thanks","notifyUrl":"https://shop.example/hooks"}' && done('{"subscriptionId":9007199254740993,"paymentUrl":"/pay/a?b=c","expiration":1767225600}'),
  'POST /api/mer/subscribe/cancel/create': (asked) => asked === '{"outTradeNo":"SUB1","redirectionUrl":"https://shop.example/bye","notifyUrl":"https://shop.example/hooks"}' && done('{"paymentUrl":"//elsewhere.example/pay","expiration":1767225600}'),
  'GET /api/mer/subscribe/list?page=1&size=500': () => done('{"count":1,"list":[{"subscriptionId":9007199254740993,"outTradeNo":"SUB1"}]}'),
  'GET /api/mer/conf/list/chain': () => done('[{"chainId":139,"chainName":"Ethereum"}]'),
  'GET /api/mer/conf/list/currency?chainId=139': () => done('[{"currencyId":1391,"symbol":"USDT","decimals":18}]'),
  'POST /api/mer/user/create': (asked) => JSON.parse(asked).uuid === USER && done('9007199254740993'),
  [`GET /api/mer/user/detail?uuid=${encodeURIComponent(USER)}`]: () => done('{"uuid":"u","wallets":[]}'),
  'GET /api/mer/user/detail?uuid=nobody': () => [404, '{"code":404,"msg":"no such user","data":null}'],
  'GET /api/mer/recharge/detail?rechargeId=9007199254740993': () => done('{"rechargeId":9007199254740993}'),
  'POST /PayTool/control/pause': (asked) => asked === '{"chainId":139,"why":"a drill"}' && [200, '{"code":1,"msg":"success","data":[{"chainId":139,"pausedSince":1767225600000}]}'],
  'POST /PayTool/control/resume': (asked) => asked === '{"pauses":{"139":1767225600000}}' && [200, '{"code":1,"msg":"success","data":[{"chainId":139,"pausedSince":null}]}'],
  'GET /PayTool/control': () => [200, '{"code":1,"msg":"success","data":[{"chainId":139,"pausedSince":1767225600000}]}'],
  'GET /PayTool/charges?wallet=0xab&state=charged': () => [200, '{"code":1,"msg":"success","data":{"charges":[{"subscribeId":"7"}],"next":null}}'],
};

/** Everything that is asked for in another way than it should be is a fault. */
function called(request, body) {
  const call = CALLS[`${request.method} ${request.url}`];
  const answer = call?.(body);
  if (!answer) faults.push(`an odd call: ${request.method} ${request.url} ${body}`);
  return answer ?? [404, '{"code":404,"msg":"no such call","data":null}'];
}

/** On one chain a batch of so many is refused for good; on the other one it takes too long at present. */
function tooManyFor(url, count) {
  if (url.includes('/EVM/')) return count > 400 && [413, '{"code":0,"msg":"too many","description":null,"data":null}'];
  return count > 120 && [503, '{"code":0,"msg":"charges at once take too long","description":null,"data":{"maxBatch":120}}', { 'Retry-After': '60' }];
}

function bill(request, body) {
  const head = /^\{"requestId":"([0-9a-f]{32})","mode":"partial","dryRun":false,"list":\[/.exec(body);
  const ids = [...body.matchAll(/"subscribeId":(\d+)/g)].map((match) => match[1]);
  const amounts = [...body.matchAll(/"amount":(\d+),"novel":1e400/g)].filter((match) => match[1] === AMOUNT);
  if (!head || amounts.length !== ids.length) faults.push(`not as it was listed: ${body.slice(0, 300)}`);
  const known = `${request.headers['x-pay-key']} ${body}`;
  const tooMany = tooManyFor(request.url, ids.length);
  if (tooMany) {
    if (tries.has(known)) faults.push(`posted again although it is too large: ${ids.length} entries`);
    tries.set(known, 1);
    return tooMany;
  }
  tries.set(known, (tries.get(known) ?? 0) + 1);
  if (tries.get(known) === 1) return ids.length % 2 ? null : [503, '{"code":0,"msg":"again","description":null,"data":null}'];
  const small = (id) => Number(BigInt(id) % 1_000_000n);
  const failed = ids.filter((id) => small(id) % 10 === 0).map((id) => `{"subscribeId":${id},"amount":${AMOUNT},"failReason":"Balance insufficient","retry":"USER"}`);
  const told = ids.filter((id) => small(id) % 10 !== 0 && small(id) % 7 !== 0);
  const earlier = (list) => list.map((id) => `{"subscribeId":${id},"txHash":"0xee","state":"open"}`);
  // Nothing is signed for a list of which earlier transactions have what can be charged.
  if (ids.length % 3 === 0 && failed.length > 0) return [200, `{"code":2,"msg":"refused","description":null,"data":[${failed}],"earlier":[${earlier(told)}]}`];
  const sent = told.filter((id) => small(id) % 11 !== 0);
  const rest = earlier(told.filter((id) => small(id) % 11 === 0));
  return [200, `{"code":1,"msg":"sent","description":null,"data":{"txHash":"0x${head?.[1]}","subscriptionIds":[${sent}],"failed":[${failed}],"earlier":[${rest}]}}`];
}

/** The proof that the Signer gives with an answer: over its time and status, the request's signature and the body. */
function proof(requestSign, [status, body], secret = SECRET, now = Math.floor(Date.now() / 1000)) {
  const timestamp = String(now);
  return { 'X-PAY-TIMESTAMP': timestamp, 'X-PAY-SIGN': createHmac('sha256', secret).update(`${timestamp}${status}${requestSign}`).update(body).digest('base64') };
}

/** Refuses, by a clock that the one of whoever asks is so far ahead of: /clock/401/proven/55/PayTool/… */
function lateOrEarly(request) {
  const [, , status, proven, off] = request.url.split('/');
  const now = Number(request.headers['x-pay-timestamp']) - Number(off);
  const answer = [Number(status), '{"code":0,"msg":"no","description":null,"data":null}'];
  return [...answer, { Date: new Date(now * 1000).toUTCString(), ...(proven === 'proven' ? proof(request.headers['x-pay-sign'], answer, SECRET, now) : {}) }];
}

const FORGERIES = {
  nothing: () => ({}),
  'another-secret': (sign, answer) => proof(sign, answer, 'a secret of his own'),
  'another-request': (sign, answer) => proof('A'.repeat(44), answer),
  'an-echo': (sign, answer, timestamp) => ({ 'X-PAY-TIMESTAMP': timestamp, 'X-PAY-SIGN': sign }),
};

/** Whatever is posted is sent, whatever is asked for is charged, and nothing of it is true. */
function lie(request, body) {
  const ids = [...body.matchAll(/"subscribeId":(\d+)/g)].map((match) => match[1]);
  const sent = `{"txHash":"0xab","subscriptionIds":[${ids}]}`;
  const charged = '[{"txHash":"0xab","state":"charged","subscriptions":[{"subscribeId":1,"state":"charged"}]}]';
  const answer = [200, `{"code":1,"msg":"success","description":null,"data":${request.method === 'POST' ? sent : charged}}`];
  const forgery = FORGERIES[request.url.split('/')[2]];
  return [...answer, forgery(request.headers['x-pay-sign'], answer, request.headers['x-pay-timestamp'])];
}

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString();
    const agent = request.headers['user-agent'] ?? '';
    if (request.headers['x-pay-key'] && !/^merchant-(node|python|php|java)\/[0-9]+\.[0-9]+\.[0-9]+$/.test(agent)) faults.push(`no version: ${agent}`);
    let answer;
    if (request.url === '/faults') answer = [200, JSON.stringify(faults)];
    else if (request.url.startsWith('/impostor/')) answer = lie(request, body);
    else if (request.url.startsWith('/clock/')) answer = lateOrEarly(request);
    else if (!signedRight(request, body)) answer = [401, '{"code":0,"msg":"signature or key is wrong","description":null,"data":null}'];
    else if (request.url.startsWith('/api/mer/subscribe/chargeable/list?')) answer = chargeable(request);
    else if (request.url.startsWith('/api/mer/withdraw/')) answer = withdrawal(request, body);
    else if (request.url.startsWith('/api/') || /^\/PayTool\/(control|charges)/.test(request.url)) answer = called(request, body);
    else if (request.method === 'POST') answer = bill(request, body);
    else answer = [404, '{"code":0,"msg":"no billing","description":null,"data":null}'];
    if (!answer) return request.socket.destroy();
    const [status, text, headers] = answer;
    // Of the two the Signer alone signs what it answers, and to nobody whom it does not know.
    const signed = request.url.startsWith('/PayTool/') && status !== 401 ? proof(request.headers['x-pay-sign'], [status, text]) : {};
    response.writeHead(status, { 'Content-Type': 'application/json', ...signed, ...headers }).end(text);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => process.exit());
