// The merchant's side of the interface in one file, for Node.js 18 and later, without dependencies:
//
//   sign, verifyCallback     the signature of requests and callbacks
//   eventKey                 the name of the event of a callback, the same for each of its deliveries
//   parse, stringify         JSON without loss: integers are BigInt, other numbers keep their text
//   Platform                 every call of the platform: links, what is due, users, recharges, withdrawals
//   verifyAnswer             the proof that an answer is the Signer's
//   Signer                   bills it: splits, repeats what got no answer, sorts the verdicts
//   RETRY                    what to do about a subscription that could not be charged
//
// docs/merchant.md says how to use it, docs/vectors/signing.json what it is held to.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The version of this file; what it asks says so as its User-Agent. */
export const VERSION = '0.1.0';

export const CLOCK_WINDOW_SECONDS = 60;
/** How far a clock may be ahead of the Signer's. */
export const SIGNER_AHEAD_SECONDS = 5;
/** A clock that is behind seems less so by what a Date header in whole seconds and the way here hide. */
const HIDDEN_SECONDS = 5;
/** The most entries that the Signer takes in one request, unless it is configured otherwise. */
export const MOST_ENTRIES = 500;
/** The longest body that the Signer reads is 1 MiB, unless it is configured otherwise. */
export const MOST_BYTES = 1_000_000;

/** By the `retry` of a failure: whether to post it again, and who has to act first. */
export const RETRY = Object.freeze({
  USER: { again: true, who: 'customer', what: 'ask for an allowance or a balance, then post it again, with growing pauses' },
  WAIT: { again: true, who: 'nobody', what: 'post it again with the next list' },
  RETRY: { again: true, who: 'nobody', what: 'post it again after a pause' },
  DONE: { again: false, who: 'nobody', what: 'treat it as paid; the callback follows' },
  LOST: { again: false, who: 'nobody', what: 'not paid, and not to be billed for this period' },
  STOP: { again: false, who: 'merchant', what: 'end the subscription' },
  FIX: { again: false, who: 'operator', what: 'look at it: nothing will change by itself' },
});

/** What to do about a failure; a word that is not known is for a person to look at. */
export const whatToDo = (failure) => (Object.hasOwn(RETRY, failure.retry ?? '') ? RETRY[failure.retry] : RETRY.FIX);

// ---- signature

/** base64(HMAC-SHA256(secret, timestamp + METHOD + path with query + body)). */
export function sign(secret, { timestamp, method, pathAndQuery, body = '' }) {
  return createHmac('sha256', secret).update(`${timestamp}${method}${pathAndQuery}`).update(body).digest('base64');
}

/** Why a signature, a callback or an answer is not accepted. */
export class NotVerified extends Error {
  name = 'NotVerified';
}

/**
 * Checks a callback and returns its body, parsed. Throws NotVerified for everything else.
 *
 * `headers`: of node:http, or of fetch. `body`: a Buffer with the raw bytes, or their text.
 * `pathAndQuery`: of the notify address as it was given to the platform. `credentials`: {key: secret}
 * or {key: [secret, former secret]}. `now`: Unix seconds.
 */
export function verifyCallback({ headers, pathAndQuery, body = '', credentials, method = 'POST', now = unixNow() }) {
  const key = header(headers, 'x-pay-key');
  const secrets = Object.hasOwn(credentials, key) ? [credentials[key]].flat() : [];
  if (secrets.some((secret) => typeof secret !== 'string' || secret === '')) throw new TypeError(`the secret of ${key} is empty`);
  proven(headers, now, (timestamp) => secrets.map((secret) => sign(secret, { timestamp, method, pathAndQuery, body })));
  let event;
  try {
    event = parse(typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch (cause) {
    throw new NotVerified(`the signature holds, but the body is no JSON: ${cause.message}`, { cause });
  }
  if (event === null || typeof event !== 'object' || Array.isArray(event) || event instanceof JsonNumber) {
    throw new NotVerified('the signature holds, but the body is no JSON object');
  }
  return event;
}

/**
 * What all deliveries of one event have in common, and no two events: keep it with a unique index, and take what is
 * there already for a repeat. `event`: what verifyCallback returned. `body`: the raw bytes that it was given, or their text.
 */
export function eventKey(event, body) {
  const { subscriptionType, outTradeNo, chainId, transferHash, blockTime, createTime } = event;
  if (typeof subscriptionType === 'string' && typeof outTradeNo === 'string') {
    const when = typeof transferHash === 'string' && transferHash ? transferHash.toLowerCase() : `${typeof blockTime === 'bigint' ? blockTime : 0}/${createTime ?? ''}`;
    return `${subscriptionType}/${outTradeNo}/${chainId ?? ''}/${when}`;
  }
  if (event.rechargeId !== undefined && typeof event.rechargeStatus === 'bigint') return `recharge/${event.rechargeId}/${event.rechargeStatus}`;
  if (event.withdrawId !== undefined && typeof event.withdrawStatus === 'bigint') return `withdrawal/${event.withdrawId}/${event.withdrawStatus}`;
  const text = Buffer.from(body).toString().replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
  return `unknown/${createHash('sha256').update(text).digest('hex')}`;
}

/**
 * Checks that the Signer has made this answer, to the request that was sent with `requestSign` (its X-PAY-SIGN).
 * Throws NotVerified: without this proof it is no answer, whatever it says.
 *
 * `headers`: as above. `body`: a Buffer with the raw bytes, or their text. `now`: Unix seconds.
 */
export function verifyAnswer({ secret, requestSign, status, headers, body, now = unixNow() }) {
  proven(headers, now, (timestamp) => [createHmac('sha256', secret).update(`${timestamp}${status}${requestSign}`).update(body).digest('base64')]);
}

/** Checks time and form of a signature, and that it is one of those that `made` says for its timestamp. */
function proven(headers, now, made) {
  const [timestamp, given] = ['x-pay-timestamp', 'x-pay-sign'].map((name) => header(headers, name));
  if (!/^[0-9]{10}$/.test(timestamp)) throw new NotVerified('X-PAY-TIMESTAMP is not 10 digits');
  if (Math.abs(Number(timestamp) - now) > CLOCK_WINDOW_SECONDS) {
    throw new NotVerified(`signed ${Number(timestamp) - now} s away from the time here; at most ${CLOCK_WINDOW_SECONDS} s are allowed`);
  }
  if (!/^[A-Za-z0-9+/]{43}=$/.test(given)) throw new NotVerified('X-PAY-SIGN is not the base64 of 32 bytes');
  const wanted = Buffer.from(given, 'base64');
  if (!made(timestamp).some((one) => timingSafeEqual(Buffer.from(one, 'base64'), wanted))) throw new NotVerified('signature or key is wrong');
}

function header(headers, name) {
  const value = typeof headers.get === 'function' ? headers.get(name) : headers[name];
  // node:http joins repeated headers with ", "; none of the three has a comma.
  if (typeof value !== 'string' || value.includes(',')) throw new NotVerified(`header ${name} is missing, or there more than once`);
  return value;
}

const unixNow = () => Math.floor(Date.now() / 1000);

// ---- JSON without loss

/** A JSON number that is no integer, as it was written. */
export class JsonNumber {
  constructor(text) {
    this.text = text;
    Object.freeze(this);
  }

  toString() {
    return this.text;
  }

  toJSON() {
    return this.text;
  }
}

/** So many objects and lists may be within each other, and so many digits does an integer have that is a BigInt. */
const DEEPEST = 100, MOST_DIGITS = 1000;
const TOKEN = /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false|null))/y;

/** Reads JSON. Integers become BigInt (beyond 1,000 digits a JsonNumber), every other number a JsonNumber; objects have no prototype. */
export function parse(text) {
  let at = 0;
  const fail = () => { throw new SyntaxError(`no JSON at position ${at}`); };
  const next = () => {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text);
    if (!token) fail();
    at = TOKEN.lastIndex;
    return token;
  };
  const value = (token, depth) => {
    const [, mark, string, number, word] = token;
    if (string !== undefined) return words(string);
    if (number !== undefined) return number.length <= MOST_DIGITS && /^-?[0-9]+$/.test(number) ? BigInt(number) : new JsonNumber(number);
    if (word !== undefined) return JSON.parse(word);
    if (mark === '[') return list(depth + 1);
    if (mark === '{') return object(depth + 1);
    return fail();
  };
  const words = (string) => {
    const read = JSON.parse(string);
    if (/\p{Surrogate}/u.test(read)) throw new SyntaxError('half a surrogate pair');
    return read;
  };
  const list = (depth) => {
    if (depth > DEEPEST) fail();
    const values = [];
    for (let token = next(); ; token = next()) {
      if (token[1] === ']' && values.length === 0) return values;
      values.push(value(token, depth));
      const mark = next()[1];
      if (mark === ']') return values;
      if (mark !== ',') fail();
    }
  };
  const object = (depth) => {
    if (depth > DEEPEST) fail();
    const fields = Object.create(null);
    for (let token = next(), first = true; ; token = next(), first = false) {
      if (token[1] === '}' && first) return fields;
      if (token[2] === undefined) fail();
      const name = words(token[2]);
      if (name.startsWith('\u0000')) throw new SyntaxError('the name of a field begins with NUL');
      if (name in fields) throw new SyntaxError(`the field ${name} is there twice`);
      if (next()[1] !== ':') fail();
      fields[name] = value(next(), depth);
      const mark = next()[1];
      if (mark === '}') return fields;
      if (mark !== ',') fail();
    }
  };
  const whole = value(next(), 0);
  if (/[^ \t\n\r]/.test(text.slice(at))) fail();
  return whole;
}

/** Writes what `parse` has read, digit for digit. Refuses a Number that is no safe integer. */
export function stringify(value) {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof JsonNumber) return value.text;
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is no exact integer: use a BigInt`);
    return String(value);
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(stringify).join(',')}]`;
  if (typeof value === 'object') {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${stringify(field)}`).join(',')}}`;
  }
  throw new TypeError(`a ${typeof value} has no JSON`);
}

// ---- calls

/** A call without the answer that it wants. `status`, `code` and `msg` are there if the peer gave them. */
export class CallError extends Error {
  name = 'CallError';

  constructor(message, { status, code, msg, retryAfter, maxBatch, cause } = {}) {
    super(message, { cause });
    Object.assign(this, { status, code, msg, retryAfter, maxBatch });
  }
}

/** An answer that does not prove to be the Signer's, and so is none: nobody knows what became of the request. Post the same again. */
export class NotProven extends CallError {
  name = 'NotProven';
}

/** One request. `signed`: whether the peer signs its answers, as the Signer does. */
async function call({ url, key, secret, signed, timeout = 15_000, clock = unixNow }, method, pathAndQuery, body) {
  const timestamp = String(clock());
  const requestSign = sign(secret, { timestamp, method, pathAndQuery, body });
  const headers = { 'User-Agent': `merchant-node/${VERSION}`, 'X-PAY-KEY': key, 'X-PAY-TIMESTAMP': timestamp, 'X-PAY-SIGN': requestSign };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response, bytes;
  try {
    response = await fetch(url.replace(/\/+$/, '') + pathAndQuery, { method, headers, body, redirect: 'manual', signal: AbortSignal.timeout(timeout) });
    bytes = Buffer.from(await response.arrayBuffer());
  } catch (cause) {
    throw new CallError(`no answer from ${url}: ${cause.cause?.message ?? cause.message}`, { cause });
  }
  const status = response.status;
  const retryAfter = /^[0-9]+$/.test(response.headers.get('retry-after') ?? '') ? Number(response.headers.get('retry-after')) : undefined;
  const off = clockOff({ signed, status, date: response.headers.get('date'), now: clock() });
  const envelope = envelopeOf(bytes);
  if (signed) {
    try {
      verifyAnswer({ secret, requestSign, status, headers: response.headers, body: bytes, now: clock() });
    } catch (cause) {
      const said = envelope ? `; it says: ${envelope.msg}` : '';
      // Whose clock is off, to him the Signer can prove nothing.
      throw new NotProven(`HTTP ${status} without the Signer's proof, which is no answer (${cause.message})${said}${status === 401 ? off : ''}`, { status, cause });
    }
  }
  if (!envelope) throw new CallError(`HTTP ${status} with an answer that is no envelope`, { status, retryAfter });
  const maxBatch = typeof envelope.data?.maxBatch === 'bigint' ? Number(envelope.data.maxBatch) : undefined;
  const refused = (msg = envelope.msg) =>
    new CallError(`${msg} (code ${envelope.code}, HTTP ${status})${off}`, { status, code: envelope.code, msg, retryAfter, maxBatch });
  return { status, envelope, refused };
}

/** Says that the clock here is off, if that alone explains a refusal. */
function clockOff({ signed, status, date, now }) {
  const off = now - Math.floor(Date.parse(date) / 1000);
  const allowed = signed && off > 0 ? SIGNER_AHEAD_SECONDS : CLOCK_WINDOW_SECONDS;
  // An answer that was long on its way makes a clock seem ahead: of the Signer's, 401 alone is put down to that.
  const suspected = allowed === SIGNER_AHEAD_SECONDS ? status === 401 && off > allowed : Math.abs(off) + HIDDEN_SECONDS >= allowed;
  return suspected ? `; the clock here is ${Math.abs(off)} s ${off > 0 ? 'ahead' : 'behind'}, and at most ${allowed} s are allowed` : '';
}

/** The envelope in a body, if there is one. */
function envelopeOf(bytes) {
  try {
    const envelope = parse(bytes.toString());
    return typeof envelope?.code === 'bigint' ? envelope : null;
  } catch {
    return null;
  }
}

const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** Calls again, up to `tries` times, while what failed passes by itself: no answer, 408, 429, 5xx; not if `final` says that it is of no use. */
async function persistently(tries, pause, attempt, final = () => false) {
  for (let n = 1; ; n += 1) {
    try {
      return await attempt();
    } catch (error) {
      const passes = error instanceof CallError && (error.status === undefined || error.status === 200 || error.status === 408 || error.status === 429 || error.status >= 500);
      if (!passes || final(error) || n >= tries || error.retryAfter > 30) throw error;
      await sleep(Math.max(error.retryAfter ?? 0, pause * 2 ** (n - 1) * (1 + Math.random() / 2)));
    }
  }
}

/** Nobody knows whether a withdrawal was taken: ask again with the same `outTradeNo`. */
export class NotKnown extends CallError {
  name = 'NotKnown';
}

/** The `outTradeNo` belongs to another payment, which `withdrawId` names: nothing was applied for. */
export class Conflict extends CallError {
  name = 'Conflict';
}

/**
 * The platform: `{url, key, secret}`, for links `paymentUrl` as well, and if need be `timeout` (ms), `tries`, `pause` (s),
 * `clock`, and `notFoundCodes`, the codes of your platform for "no such record" beside 404.
 *
 * Only reads are repeated. Records are the platform's own, read by parse(); null is one that it does not have.
 */
export class Platform {
  #peer;

  constructor(peer) {
    this.#peer = { tries: 4, pause: 0.25, notFoundCodes: [], ...checked(peer), signed: false };
  }

  /** A link on which one user can subscribe to one plan: `{url, expiration, subscriptionId, answer}`. Each call makes a new order. */
  async createLink({ chainId, planId, externalUserId, redirectionUrl, notifyUrl }) {
    return this.#link('/api/mer/subscribe/payment/create', { chainId, planId, externalUserId, redirectionUrl, notifyUrl });
  }

  /** A link on which the user can end a subscription. */
  async createCancelLink({ outTradeNo, redirectionUrl, notifyUrl }) {
    return this.#link('/api/mer/subscribe/cancel/create', { outTradeNo, redirectionUrl, notifyUrl });
  }

  async #link(path, request) {
    const root = this.#peer.paymentUrl;
    if (typeof root !== 'string' || root === '') throw new TypeError('paymentUrl is missing');
    const answer = await this.#change(path, request);
    const page = answer?.paymentUrl;
    // "//host" would be another host's page.
    if (typeof page !== 'string' || !/^\/(?!\/)/.test(page)) throw new CallError(`paymentUrl ${page} is no path that begins with one /`, { status: 200 });
    return { url: root.replace(/\/+$/, '') + page, expiration: answer.expiration, subscriptionId: answer.subscriptionId ?? null, answer };
  }

  /** The chains of the platform, with its own ids for them. */
  async chains() {
    return this.#read('/api/mer/conf/list/chain');
  }

  /** The currencies of one chain. */
  async currencies(chainId) {
    return this.#read(question('/api/mer/conf/list/currency', { chainId }));
  }

  /** Makes a user, or names the one that is there: the platform's id. */
  async createUser(uuid) {
    return this.#change('/api/mer/user/create', { uuid });
  }

  /** A user, with recharge addresses. */
  async user(uuid) {
    return this.#find(question('/api/mer/user/detail', { uuid }));
  }

  /** A recharge. */
  async recharge(rechargeId) {
    return this.#find(question('/api/mer/recharge/detail', { rechargeId }));
  }

  /** A withdrawal, by `{withdrawId}` or `{outTradeNo}`. */
  async withdrawal(name) {
    const known = Object.entries(name).filter(([field, value]) => ['withdrawId', 'outTradeNo'].includes(field) && value !== undefined);
    if (known.length !== 1) throw new TypeError('name a withdrawal by withdrawId or by outTradeNo');
    return this.#find(question('/api/mer/withdraw/detail', Object.fromEntries(known)));
  }

  /**
   * Applies for a withdrawal, unless one with this `outTradeNo` is there: `{withdrawId, found}`. `withdrawAmount` is a decimal
   * in text. May be repeated after any failure: it looks first. Throws Conflict where the number belongs to another payment,
   * NotKnown where nobody can tell whether it was taken, by this call or before.
   */
  async withdraw({ chainId, currencyId, withdrawAddress, withdrawAmount, outTradeNo, notifyUrl }) {
    if (typeof outTradeNo !== 'string' || outTradeNo.trim() === '') throw new TypeError('outTradeNo is what keeps a payment from being made twice');
    // Without a look nobody knows what an earlier application has done.
    const looked = (found) => found.catch((cause) => {
      if (!(cause instanceof CallError) || cause instanceof Conflict) throw cause;
      throw new NotKnown(`whether there is a withdrawal of this number is not known, and nothing was applied for; ask again with the same outTradeNo: ${cause.message}`, { cause });
    });
    const currency = (await looked(this.currencies(chainId))).find((one) => String(one.currencyId) === String(currencyId));
    if (!currency) throw new TypeError(`chain ${chainId} has no currency ${currencyId}`);
    const wanted = { chainId: String(chainId), currencyId: String(currencyId), withdrawAddress: spelling(withdrawAddress), withdrawAmount: baseUnits(withdrawAmount, Number(currency.decimals)) };
    const look = async () => {
      const found = await this.withdrawal({ outTradeNo });
      if (found === null) return null;
      if (String(found.outTradeNo) !== outTradeNo) throw new CallError(`the record is of outTradeNo ${found.outTradeNo}, and not of ${outTradeNo}`, { status: 200 });
      const has = { ...found, withdrawAddress: spelling(found.withdrawAddress) };
      const other = Object.keys(wanted).find((field) => String(has[field]) !== wanted[field]);
      if (other) throw Object.assign(new Conflict(`outTradeNo ${outTradeNo} is withdrawal ${found.withdrawId} already, with another ${other}`), { withdrawId: found.withdrawId });
      return { withdrawId: found.withdrawId, found: true };
    };
    const before = await looked(look());
    if (before) return before;
    try {
      const answer = await this.#change('/api/mer/withdraw/apply', { chainId, currencyId, withdrawAddress, withdrawAmount, outTradeNo, notifyUrl });
      if (answer?.withdrawId === undefined) throw new CallError('the answer names no withdrawal', { status: 200 });
      return { withdrawId: answer.withdrawId, found: false };
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      // A refusal may be for a number that was taken between the look and the application.
      const after = await look().catch((why) => { if (why instanceof Conflict) throw why; return undefined; });
      if (after) return after;
      const inTrouble = error.status === 408 || error.status >= 500 || error.code >= 500n && error.code < 600n;
      const perhaps = error.code === undefined || inTrouble || after === undefined;
      throw perhaps ? new NotKnown(`whether the withdrawal was taken is not known; ask again with the same outTradeNo: ${error.message}`, { cause: error }) : error;
    }
  }

  /** A read, repeated while what failed passes by itself. */
  async #read(path) {
    const { tries, pause } = this.#peer;
    return persistently(tries, pause, () => this.#once('GET', path));
  }

  /** A read of one record. */
  async #find(path) {
    try {
      return (await this.#read(path)) ?? null;
    } catch (error) {
      // A 404 without the platform's envelope is of somebody in between, who knows of no record.
      if (error.code === undefined) throw error;
      if (error.status === 404 || error.code === 404n || this.#peer.notFoundCodes.some((code) => BigInt(code) === error.code)) return null;
      throw error;
    }
  }

  /** What changes something is sent once. */
  async #change(path, request) {
    return this.#once('POST', path, stringify(request));
  }

  async #once(method, path, body) {
    const answer = await call(this.#peer, method, path, body);
    if (answer.envelope.code !== 200n || answer.status >= 300) throw answer.refused();
    return answer.envelope.data;
  }

  /** Every subscription, each once; read like what is due. */
  async subscriptions({ size = 500 } = {}) {
    return this.#whole('/api/mer/subscribe/list', size);
  }

  /**
   * Everything that is due, each subscription once. Reads the pages from the last to the first, and
   * again until that brings nothing new: entries change pages while they are read.
   */
  async chargeable({ size = 500 } = {}) {
    return this.#whole('/api/mer/subscribe/chargeable/list', size);
  }

  async #whole(path, size) {
    const entries = new Map();
    for (let pass = 1; pass <= 5; pass += 1) {
      const before = entries.size;
      let page = await this.#page(path, 1, size, entries);
      if (page.length === 0 && page.count > 0n) {
        // The last entry may have gone between the two; what stays so is no list that is empty.
        if (pass === 5) throw new CallError(`the list has ${page.count} entries, and its first page none`, { status: 200 });
        continue;
      }
      const single = page.length < size && page.count <= BigInt(page.length);
      let last = 1;
      while (!single && page.length > 0) page = await this.#page(path, ++last, size, entries);
      for (let number = last - 1; number >= 1 && !single; number -= 1) await this.#page(path, number, size, entries);
      if (entries.size === before || (single && pass === 1)) break;
    }
    return [...entries.values()];
  }

  async #page(path, page, size, entries) {
    const data = await this.#read(`${path}?page=${page}&size=${size}`);
    const list = Array.isArray(data) ? data : data?.list;
    if (!Array.isArray(list)) throw new CallError('data has no list', { status: 200 });
    for (const entry of list) entries.set(String(idOf(entry)), entry);
    return { length: list.length, count: typeof data.count === 'bigint' ? data.count : 0n };
  }
}

/**
 * The Signer: `{url, key, secret}`, and if need be `mostEntries`, `mostBytes`, `timeout` (ms), `tries`,
 * `pause` (s), `clock`.
 */
export class Signer {
  #peer;

  constructor(peer) {
    this.#peer = { mostEntries: MOST_ENTRIES, mostBytes: MOST_BYTES, tries: 4, pause: 0.5, ...checked(peer), signed: true };
  }

  /**
   * Bills entries of the chargeable list. `families` says which chain is of which kind:
   * {139: 'EVM', 136: 'TVM'}.
   *
   * Every entry comes back in exactly one of three lists: `sent` ({txHash, subscriptionIds}, also where an
   * earlier request has sent it: at finality the chain decides), `failed` (the Signer's words and `todo`), `open` ({entry, why}: no
   * verdict; post it again, as often as it takes). Nothing is ever charged twice by posting it again.
   */
  async bill(entries, { families, dryRun = false }) {
    const result = { sent: [], failed: [], open: [] };
    for (const { family, list } of this.#parts(entries, families)) await this.#post(family, list, dryRun, result);
    return result;
  }

  /** What became of a billing: every one that has this transaction hash or request id, newest first. Throws NotProven for what the Signer has not signed. */
  async status(id) {
    const { tries, pause } = this.#peer;
    return persistently(tries, pause, async () => {
      const answer = await call(this.#peer, 'GET', `/PayTool/billings/${encodeURIComponent(id)}`);
      if (answer.status === 404 && answer.envelope.code === 0n) return [];
      if (answer.envelope.code !== 1n) throw answer.refused();
      return answer.envelope.data;
    });
  }

  /** One page of the ledger: `{charges, next}`. `asked`: the parameters of GET /PayTool/charges, `{wallet: '0x…', state: 'charged', after: next}`. */
  async charges(asked = {}) {
    const { tries, pause } = this.#peer;
    return persistently(tries, pause, () => this.#control('GET', question('/PayTool/charges', asked)));
  }

  /** How the chains stand with whoever controls them. This and what follows need the key of a caller that may control. */
  async control() {
    return this.#control('GET', '/PayTool/control');
  }

  /** Has nothing new signed, on one chain or on all; `why` is kept in the history. */
  async pause({ chainId, why } = {}) {
    return this.#control('POST', '/PayTool/control/pause', stringify({ chainId, why }));
  }

  /** Ends pauses, each named by its chain and its `pausedSince` of control(): `{139: 1767225600000n}`. */
  async resume(pauses) {
    return this.#control('POST', '/PayTool/control/resume', stringify({ pauses }));
  }

  async #control(method, path, body) {
    const answer = await call(this.#peer, method, path, body);
    if (answer.envelope.code !== 1n) throw answer.refused();
    return answer.envelope.data;
  }

  #parts(entries, families) {
    const chains = new Map(), seen = new Set();
    for (const entry of entries) {
      const chain = String(entry.chainId);
      const family = families?.[chain];
      if (family !== 'EVM' && family !== 'TVM') throw new TypeError(`families does not say whether chain ${chain} is EVM or TVM`);
      const id = String(idOf(entry));
      if (seen.has(id)) throw new TypeError(`subscription ${id} is in the list twice`);
      seen.add(id);
      if (!chains.has(chain)) chains.set(chain, { family, list: [] });
      chains.get(chain).list.push(entry);
    }
    return [...chains.values()].flatMap(({ family, list }) => this.#split(list).map((part) => ({ family, list: part })));
  }

  #split(list) {
    const parts = [];
    let part = [], bytes = 0;
    for (const entry of list) {
      const length = Buffer.byteLength(stringify(entry)) + 1;
      if (part.length > 0 && (part.length >= this.#peer.mostEntries || bytes + length > this.#peer.mostBytes - 200)) {
        parts.push(part);
        [part, bytes] = [[], 0];
      }
      part.push(entry);
      bytes += length;
    }
    if (part.length > 0) parts.push(part);
    return parts;
  }

  async #post(family, list, dryRun, result) {
    const text = stringify(list);
    // The same entries make the same request, whenever they are posted.
    const requestId = createHash('sha256').update(text).digest('hex').slice(0, 32);
    const body = `{"requestId":"${requestId}","mode":"partial","dryRun":${dryRun},"list":${text}}`;
    const { tries, pause } = this.#peer;
    const tooLarge = (error) => list.length > 1 && (error.status === 413 || error.maxBatch < list.length);
    let answer;
    try {
      answer = await persistently(tries, pause, async () => {
        const answer = await call(this.#peer, 'POST', `/PayTool/${family}/subscribe/signProcessSubscribePlan`, body);
        const verdict = answer.envelope.code === 1n || answer.envelope.code === 2n || (dryRun && answer.envelope.code === 0n && answer.envelope.data);
        if (!verdict || answer.status >= 300) throw answer.refused();
        return answer;
      }, tooLarge);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (tooLarge(error)) {
        const most = Math.max(1, Math.min(error.maxBatch ?? Infinity, Math.ceil(list.length / 2)));
        for (let from = 0; from < list.length; from += most) await this.#post(family, list.slice(from, from + most), dryRun, result);
        return;
      }
      result.open.push(...list.map((entry) => ({ entry, why: error.message })));
      return;
    }
    sort(answer.envelope, list, result);
  }
}

/** Puts every entry of a list where the Signer's verdict says; one that it does not speak of is open. */
function sort({ code, data, earlier: beside }, list, result) {
  const open = new Map(list.map((entry) => [String(idOf(entry)), entry]));
  const failed = (code === 2n ? data : data?.failed) ?? [];
  for (const failure of failed) {
    if (open.delete(String(failure.subscribeId))) result.failed.push(Object.assign(failure, { todo: whatToDo(failure) }));
  }
  if (code !== 2n) {
    const named = (code === 1n ? data.subscriptionIds : data.wouldCharge) ?? [];
    const subscriptionIds = named.filter((id) => open.delete(String(id)));
    if (subscriptionIds.length > 0) result.sent.push({ txHash: data.txHash ?? null, address: data.address, subscriptionIds });
  }
  for (const { subscribeId, txHash, state } of (code === 2n ? beside : data?.earlier) ?? []) {
    if (open.delete(String(subscribeId))) result.sent.push({ txHash, state, subscriptionIds: [subscribeId] });
  }
  for (const entry of open.values()) result.open.push({ entry, why: 'the Signer said nothing about it' });
}

function idOf(entry) {
  const id = entry?.subscribeId ?? entry?.subscriptionId;
  if (!/^[0-9]+$/.test(String(id))) throw new TypeError('an entry has no subscribeId');
  if (typeof id === 'number' && !Number.isSafeInteger(id)) throw new TypeError('an id was rounded: read the list with parse()');
  return id;
}

/** A path with its query, encoded as it is signed and sent. */
function question(path, asked) {
  const pairs = Object.entries(asked).filter(([, value]) => value !== undefined && value !== null);
  return `${path}?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}

/** A decimal in text as base units, digits. Refuses what is finer than the currency. */
function baseUnits(decimal, decimals) {
  const [, whole, part = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(decimal) ?? [];
  if (whole === undefined || !(decimals >= 0)) throw new TypeError(`${decimal} is no decimal such as "10.5"`);
  if (part.slice(decimals).replace(/0/g, '') !== '') throw new TypeError(`${decimal} is finer than ${decimals} decimals`);
  return BigInt(whole + part.slice(0, decimals).padEnd(decimals, '0')).toString();
}

/** Hex addresses may be spelled in capitals for their checksum; base58 ones differ by case. */
const spelling = (address) => (/^0x/i.test(address) ? address.toLowerCase() : address);

function checked(peer) {
  for (const name of ['url', 'key', 'secret']) {
    if (typeof peer?.[name] !== 'string' || peer[name] === '') throw new TypeError(`${name} is missing`);
  }
  return peer;
}
