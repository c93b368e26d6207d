// The page for operators. What needs no signature (/health/ready, /page/numbers) is shown to whoever gets here;
// everything else is asked in the name of a caller who signed in, with requests signed in this window.

const REFRESH_MS = 5_000;
const PAGE = 100;
const MOST_ROWS_OF_A_FILE = 200_000;
/** How far the clocks of the Signer and of the browser may be apart. */
const WINDOW_SECONDS = 60;

const view = document.querySelector('#view');
const $ = (selector) => document.querySelector(selector);

// --- elements

/** An element; text is only ever text. `on…` attributes are listeners, null and false ones are left out. */
function h(name, attributes = {}, ...children) {
  const svg = ['svg', 'rect', 'polyline', 'line', 'text', 'title'].includes(name);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const show = (...children) => view.replaceChildren(...children.flat(3).filter(Boolean));
const alertBox = (text, kind = '') => h('p', { class: `alert ${kind}`, role: 'alert' }, text);

// --- words and numbers

const grouped = (digits) => String(digits).replace(/\B(?=(\d{3})+(?!\d))/g, '\u2009');
const time = (seconds) => (seconds ? new Date(seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC') : '');
const shortened = (text) => (text && text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text);

/** How long something took, in one unit. */
function lasting(seconds) {
  const units = [[86_400, 'd'], [3_600, 'h'], [60, 'min']];
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Digits of wei or sun as coins, to six places. */
function coins(digits, decimals) {
  const padded = digits.padStart(decimals + 1, '0');
  const [whole, part] = [padded.slice(0, -decimals), padded.slice(-decimals, padded.length - decimals + 6)];
  return `${grouped(whole)}.${part}`.replace(/\.?0+$/, '');
}

const KIND = { charged: 'good', open: '', refused: 'warn', cancelled: 'warn', expired: 'warn', failed: 'bad', reverted: 'bad', usurped: 'bad', unproven: 'bad' };
const state = (word) => h('span', { class: KIND[word] ?? '' }, word);

// --- asking

let caller = null;
let skewMs = 0;

class NotSignedIn extends Error {}

/** Digits stay digits: ids and amounts of 64 and 256 bits fit into no number. */
const parse = (text) => JSON.parse(text, (key, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && context?.source ? context.source : value);

async function open(path) {
  const response = await fetch(path, { cache: 'no-store' });
  const date = Date.parse(response.headers.get('date') ?? '');
  if (date) skewMs = date - Date.now();
  return parse(await response.text());
}

const bytes = (text) => new TextEncoder().encode(text);
const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));

/** A request in the caller's name, and an answer that is proven to be the Signer's. Nobody signs where nobody has to. */
async function ask(method, path, body = '') {
  if (!caller && numbers && !numbers.signed) return told(await fetch(path, { method, body: body || undefined }), null);
  if (!caller) throw new NotSignedIn('sign in to see this');
  const timestamp = String(Math.floor((Date.now() + skewMs) / 1000));
  const sign = base64(await crypto.subtle.sign('HMAC', caller.secret, bytes(timestamp + method + path + body)));
  const headers = { 'X-PAY-KEY': caller.key, 'X-PAY-TIMESTAMP': timestamp, 'X-PAY-SIGN': sign };
  if (body) headers['Content-Type'] = 'application/json';
  return told(await fetch(path, { method, headers, body: body || undefined, cache: 'no-store' }), sign);
}

async function told(response, sign) {
  const text = await response.text();
  if (sign !== null) await mustBeProven(response, sign, text);
  const { code, msg, data } = parse(text);
  if (code === 1) return data;
  throw Object.assign(new Error(msg), { status: response.status });
}

/** An answer without the Signer's signature over it and the request is none. A 401 is said to whom nothing can be proven: its words are shown, and it is an error. */
async function mustBeProven(response, sign, text) {
  if (await isProven(response, sign, text)) return;
  let said = '';
  try {
    said = `: ${parse(text).msg}`;
  } catch {
    // Whatever answered, it was no Signer.
  }
  throw Object.assign(new Error(`an answer that is not signed by the Signer (HTTP ${response.status})${said}`), { status: response.status });
}

async function isProven(response, sign, text) {
  const [at, proof] = [response.headers.get('x-pay-timestamp') ?? '', response.headers.get('x-pay-sign') ?? ''];
  const off = Number(at) - Math.floor((Date.now() + skewMs) / 1000);
  if (!/^[0-9]{10}$/.test(at) || Math.abs(off) > WINDOW_SECONDS || !/^[A-Za-z0-9+/]{43}=$/.test(proof)) return false;
  const signed = Uint8Array.from(atob(proof), (letter) => letter.charCodeAt(0));
  return crypto.subtle.verify('HMAC', caller.secret, signed, bytes(at + response.status + sign + text));
}

async function signIn(key, secret) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  caller = { key, secret: await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign', 'verify']), controls: false };
  try {
    await ask('GET', '/PayTool/charges?limit=1');
  } catch (problem) {
    if (problem.status !== 403) {
      caller = null;
      throw problem;
    }
  }
  caller.controls = await ask('GET', '/PayTool/control').then(() => true, () => false);
}

// --- who

function showWho() {
  const out = () => { caller = null; showWho(); route(); };
  if (numbers && !numbers.signed) $('#who').replaceChildren('nobody signs here');
  else if (caller) $('#who').replaceChildren(`${caller.key} `, h('button', { class: 'quiet', onclick: out }, 'Sign out'));
  else $('#who').replaceChildren(h('button', { class: 'quiet', id: 'sign-in-button', onclick: askToSignIn }, 'Sign in'));
}

function askToSignIn() {
  const dialog = $('#sign-in');
  const problem = dialog.querySelector('[role=alert]');
  problem.hidden = Boolean(globalThis.crypto?.subtle);
  problem.textContent = 'The browser signs only on https, or on localhost: reach this page through TLS or a tunnel (ssh -L).';
  dialog.showModal();
}

$('#sign-in form').addEventListener('submit', async (event) => {
  if (event.submitter?.value !== 'in') return;
  event.preventDefault();
  const [form, dialog] = [event.target, $('#sign-in')];
  try {
    await signIn(form.key.value, form.secret.value);
    form.reset();
    dialog.close();
    showWho();
    route();
  } catch (problem) {
    Object.assign(dialog.querySelector('[role=alert]'), { hidden: false, textContent: problem.message });
  }
});

/** Asks whether something is meant. Resolves to the reason, or to null. */
function confirmed(title, text, button, { why = false } = {}) {
  const dialog = $('#confirm');
  $('#confirm-title').textContent = title;
  $('#confirm-text').textContent = text;
  $('#confirm-yes').textContent = button;
  $('#confirm-why').hidden = !why;
  const reason = dialog.querySelector('[name=why]');
  Object.assign(reason, { required: why, value: '' });
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes' ? reason.value : null), { once: true });
  });
}

// --- how it stands

let numbers = null;
let ready = null;
let switched = [];
let samples = [];

/** Asks how everything stands, and keeps what the counters said. */
async function look() {
  const [kept, at] = [samples.filter((sample) => sample.kept), samples.findLast((sample) => sample.kept)?.at ?? 0];
  const [stands, told] = await Promise.all([open('/health/ready'), open(`/page/numbers?after=${at}`)]);
  [ready, numbers] = [stands, told.data];
  numbers.samples.slice(0, -1).forEach((sample) => Object.assign(sample, { kept: true }));
  samples = [...kept, ...numbers.samples];
  const well = ready.status === 'ready';
  Object.assign($('#standing'), { textContent: ready.status, className: well ? 'good' : 'bad' });
  document.title = well ? 'Signer' : `Signer: ${ready.status}`;
}

const chainOf = (id) => numbers?.chains.find((chain) => chain.chainId === id);
const nameOf = (id) => chainOf(id)?.name ?? (id === null ? '' : `chain ${id}`);

/** A hash, and where to look it up. */
function hash(chainId, text) {
  if (!text) return '';
  const at = chainOf(chainId)?.explorer;
  const own = h('a', { href: `#/billing/${text}`, title: text }, shortened(text));
  return at ? h('span', {}, own, ' ', h('a', { href: at.replace('{hash}', text), rel: 'noreferrer', target: '_blank', 'aria-label': `${text} in the explorer` }, '↗')) : own;
}

// --- overview

async function overview(token = current) {
  await look();
  if (caller?.controls) switched = await ask('GET', '/PayTool/control');
  if (token !== current) return;
  // What somebody is at with the keyboard is not taken away from under the fingers.
  if (view.contains(document.activeElement) && document.activeElement !== view && view.dataset.of === 'overview') return;
  view.dataset.of = 'overview';
  const problems = [ready.journal === 'ok' ? null : `journal: ${ready.journal}`, ready.tls && ready.tls.status !== 'ok' ? `TLS: ${ready.tls.status}` : null];
  show(
    problems.filter(Boolean).map((text) => alertBox(text)),
    h('section', { class: 'cards', 'aria-label': 'Chains' }, ready.chains.map(card)),
    charts(),
    ready.instances.length > 0 && h('ul', { class: 'plain', 'aria-label': 'Instances' }, ready.instances.map((one) => h('li', {},
      h('span', { class: one.state === 'serves' ? 'good' : 'soft' }, one.state === 'serves' ? 'serves' : 'stands by'), ` ${one.name}${one.this ? ', this one' : ''}`,
      h('span', { class: one.silentSeconds > 5 ? 'bad' : 'soft' }, ` ${one.start}, version ${one.version}, heard of ${one.silentSeconds} s ago`),
      one.clock !== 'ok' && h('span', { class: 'bad' }, ` ${one.clock}`), one.unfit && h('span', { class: 'bad' }, ` could bill nothing now: ${one.unfit}`)))),
    caller?.controls && h('p', { class: 'soft', id: 'key' }, 'A signing key is changed in the configuration and by a restart, and from here by nobody: see “Changing the signing key” in docs/changes.md.'),
    h('p', { class: 'soft' }, `Signer ${numbers.version}. Charts begin with the process and reach back a week at most; what lies further back is in the ledger.`),
  );
}

function card(chain) {
  const own = chainOf(chain.chainId) ?? { limits: [] };
  const age = own.oldestOpen && lasting((Date.now() + skewMs - own.oldestOpen) / 1000);
  const money = own.balance && `${coins(own.balance, own.coinDecimals)} coins, ${coins(own.inFlight, own.coinDecimals)} of it in flight`;
  const left = own.billingsLeft === null || own.billingsLeft === undefined ? '' : grouped(own.billingsLeft);
  const rows = [
    ['Head', chain.head === null ? 'not seen' : grouped(chain.head)],
    ['Open', chain.undecided === 0 ? 'nothing' : [h('a', { href: `#/charges?chainId=${chain.chainId}&state=open` }, `${chain.undecided} billings`), age ? `, the oldest for ${age}` : '']],
    ['Gas money', money ?? 'not seen'],
    ['Billings left', left],
    ['Trust', chain.trust],
  ];
  return h('article', { class: 'card', id: `chain-${chain.chainId}` },
    h('header', {}, h('h3', {}, `${chain.name} `, h('span', { class: 'soft' }, `chain ${chain.chainId}`)), switches(chain)),
    chain.paused !== null && h('p', { class: 'alert warn' }, `Nothing new is signed: paused ${chain.paused}.`),
    chain.status === 'ok' ? null : alertBox(chain.status),
    chain.warnings.map((text) => alertBox(text, 'warn')),
    chain.heldUp.map(({ batch, why }) => h('p', { class: 'alert warn' }, `Billing ${batch} is held up: ${why}`)),
    chain.disputed.map(({ batch, nodes }) => alertBox(`Nodes disagree on billing ${batch}: ${nodes.join(', ')}`)),
    chain.following.map((one) => h('p', {}, `${one.address} only ends what it began: ${one.undecided} open, ${one.status}`)),
    h('dl', {}, rows.filter(([, value]) => value !== '').map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    chain.accounts.length > 1 && h('ul', { class: 'plain', 'aria-label': 'Accounts' }, chain.accounts.map((one) => h('li', {},
      h('span', { class: one.status === 'ok' ? 'good' : 'bad' }, one.status === 'ok' ? 'ok' : 'held up'), ` ${shortened(one.address)}`,
      h('span', { class: 'soft' }, ` ${one.undecided} open${one.billingsLeft === null ? '' : `, pays for ${grouped(one.billingsLeft)} more`}`)))),
    own.limits.length > 0 && h('dl', { 'aria-label': 'Limits' }, own.limits.map((limit) => limitRow(limit))),
    h('ul', { class: 'plain', 'aria-label': 'Nodes' }, chain.nodes.map((node) => h('li', {},
      h('span', { class: node.state === 'alive' ? 'good' : 'warn' }, node.state), ` ${node.node}`,
      h('span', { class: 'soft' }, node.head === null ? '' : ` ${grouped(node.head)}`), node.caught ? h('span', { class: 'bad' }, ` ${node.caught}`) : null))),
  );
}

function limitRow({ limit, taken, most }) {
  const share = Number(most) > 0 ? Number(taken) / Number(most) : 0;
  const name = limit.replace(/0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33}/, (address) => shortened(address));
  return [h('dt', { title: limit }, name), h('dd', {}, h('meter', { min: 0, max: 1, high: 0.8, value: Math.min(share, 1), 'aria-label': limit }), ` ${Math.round(share * 100)} %`)];
}

function switches(chain) {
  if (!caller?.controls) return null;
  const { chainId, name } = chain;
  const since = switched.find((one) => one.chainId === chainId)?.pausedSince ?? null;
  const pause = async () => {
    if (await confirmed(`Pause ${name}?`, 'Nothing new is signed on it until somebody resumes it. What is open goes on to its end.', 'Pause') === null) return;
    await change('/PayTool/control/pause', { chainId });
  };
  const resume = async () => {
    if (await confirmed(`Resume ${name}?`, 'New billings are signed again.', 'Resume') === null) return;
    await change('/PayTool/control/resume', { pauses: { [chainId]: since } });
  };
  if (since !== null) return h('button', { onclick: resume }, 'Resume');
  return chain.paused === null ? h('button', { class: 'quiet', onclick: pause }, 'Pause') : null;
}

async function change(path, body) {
  try {
    await ask('POST', path, JSON.stringify(body));
  } catch (problem) {
    view.prepend(alertBox(problem.message));
    return;
  }
  document.activeElement?.blur();
  await route();
}

// --- charts

let hours = 24;

/** The differences between samples, in at most 48 steps over the hours that are shown. */
function steps() {
  const until = samples.at(-1)?.at ?? 0;
  const size = Math.max(numbers.every, (hours * 3600) / 48);
  const found = [];
  let last = samples.findLast((sample) => sample.at <= until - hours * 3600) ?? samples[0];
  for (const sample of samples) {
    if (sample.at <= last.at || (sample.at - last.at < size - numbers.every / 2 && sample !== samples.at(-1))) continue;
    found.push({ from: last.at, until: sample.at, ...difference(last, sample) });
    last = sample;
  }
  return found;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function difference(before, after) {
  const charges = { charged: 0, other: 0 };
  const fees = {};
  for (const [id, { charges: now, fees: paid }] of Object.entries(after.chains)) {
    const then = before.chains[id] ?? { charges: {}, fees: '0' };
    for (const [word, count] of Object.entries(now)) charges[word.startsWith('charged') ? 'charged' : 'other'] += count - (then.charges[word] ?? 0);
    const charged = sum(Object.entries(now).map(([word, count]) => (word.startsWith('charged') ? count - (then.charges[word] ?? 0) : 0)));
    fees[id] = { paid: BigInt(paid) - BigInt(then.fees), charged };
  }
  const took = after.took.map((count, place) => count - (before.took[place] ?? 0));
  const refused = Object.fromEntries(Object.entries(after.refused).map(([code, count]) => [code, count - (before.refused[code] ?? 0)]).filter(([, count]) => count > 0));
  return { charges, fees, took, refused };
}

/** Below which bound a share of the requests stayed, seconds. */
function quantile(took, share) {
  const [all, bounds] = [sum(took), [...numbers.bounds, 2 * numbers.bounds.at(-1)]];
  if (all === 0) return null;
  let below = 0;
  return bounds[took.findIndex((count) => (below += count) >= share * all)];
}

function charts() {
  const all = steps();
  const choose = (wanted) => h('button', { class: wanted === hours ? '' : 'quiet', 'aria-pressed': String(wanted === hours), onclick: () => { hours = wanted; document.activeElement.blur(); route(); } }, wanted < 48 ? `${wanted} h` : `${wanted / 24} d`);
  const refused = {};
  for (const step of all) for (const [code, count] of Object.entries(step.refused)) refused[code] = (refused[code] ?? 0) + count;
  const words = Object.entries(refused).sort(([, one], [, other]) => other - one);
  const [charged, other] = [sum(all.map((step) => step.charges.charged)), sum(all.map((step) => step.charges.other))];
  return h('section', { 'aria-label': 'Charts' },
    h('h2', {}, 'The last ', hours < 48 ? `${hours} hours` : `${hours / 24} days`),
    h('p', { class: 'buttons' }, [6, 24, 168].map(choose)),
    h('div', { class: 'charts' },
      chart('Charges decided', all, [['one', `charged ${grouped(charged)}`, (step) => step.charges.charged], ['two', `not charged ${grouped(other)}`, (step) => step.charges.other]], grouped),
      chart('Refusals', all, [['two', grouped(sum(words.map(([, count]) => count))), (step) => sum(Object.values(step.refused))]], grouped,
        h('ul', { class: 'plain', id: 'refusals' }, words.map(([code, count]) => h('li', {}, `${code} ${grouped(count)}`)))),
      chart('Answer within', all, [['one', 'half of the requests', (step) => quantile(step.took, 0.5)], ['two', '99 of 100', (step) => quantile(step.took, 0.99)]], (seconds) => `${Math.round(seconds * 1000)} ms`),
      numbers.chains.map((chain) => {
        const cost = (step) => { const one = step.fees[chain.chainId]; return one?.charged > 0 ? Number(one.paid) / one.charged / 10 ** chain.coinDecimals : null; };
        return chart(`Cost of a charge, ${chain.name}`, all, [['one', 'coins', cost]], (value) => value.toPrecision(3));
      }),
    ));
}

function chart(title, all, lines, unit, more = null) {
  const [width, height] = [480, 120];
  const most = Math.max(...lines.flatMap(([, , of]) => all.map((step) => of(step) ?? 0)), 0);
  const until = all.at(-1)?.until ?? 0;
  const x = (at) => Math.max(width - ((until - at) / (hours * 3600)) * width, 0);
  const up = (value) => (most === 0 ? 0 : (value / most) * (height - 20));
  const bars = lines.map(([tint, , of], place) => all.map((step) => {
    const [value, wide] = [of(step), Math.max((x(step.until) - x(step.from) - 1) / lines.length, 4)];
    if (!value) return null;
    return h('rect', { class: tint, x: Math.min(x(step.from), width - lines.length * wide) + place * wide, y: height - up(value), width: wide, height: up(value) }, h('title', {}, `${time(step.from)}: ${unit(value)}`));
  }));
  const said = most === 0 ? 'nothing yet' : `at most ${unit(most)}`;
  return h('figure', {},
    h('figcaption', {}, h('b', {}, title), lines.map(([tint, name]) => h('span', { class: `key ${tint}` }, name))),
    h('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title}: ${said}` }, h('line', { x1: 0, x2: width, y1: height, y2: height }), bars),
    h('p', { class: 'soft' }, said), more);
}

// --- the ledger

const FILTERS = [
  ['subscribeId', 'Subscription', 'inputmode', 'numeric'], ['planId', 'Plan', 'inputmode', 'numeric'], ['userHash', 'User hash'], ['wallet', 'Wallet'],
  ['caller', 'Caller'], ['chainId', 'Chain'], ['state', 'State'], ['reason', 'Reason'], ['from', 'From', 'type', 'date'], ['until', 'Until', 'type', 'date'],
];
const STATES = ['', 'open', 'charged', 'failed', 'unproven', 'reverted', 'cancelled', 'usurped', 'expired', 'refused'];
const REASONS = ['', 'INVALID_ENTRY', 'DUPLICATE_ENTRY', 'NOT_AUTHORIZED', 'SUBSCRIPTION_NOT_FOUND', 'SUBSCRIPTION_CANCELLED', 'TERMS_MISMATCH',
  'CONFLICT', 'OUTCOME_UNKNOWN', 'ALREADY_CHARGED', 'BILLING_IN_PROGRESS', 'SUBSCRIPTION_ENDED', 'NOT_DUE_YET', 'PERIOD_PASSED', 'PLAN_INACTIVE',
  'TOKEN_PAUSED', 'HOLDER_BLOCKED', 'PAYEE_BLOCKED', 'ALLOWANCE_INSUFFICIENT', 'BALANCE_INSUFFICIENT', 'TOKEN_TRANSFER_FAILED', 'CALL_REVERTED', 'POLICY'];

async function ledger(asked) {
  const options = { chainId: ['', ...numbers.chains.map((chain) => String(chain.chainId))], state: STATES, reason: REASONS };
  const field = ([name, label, key, value]) => h('label', {}, label, options[name]
    ? h('select', { name }, options[name].map((option) => h('option', { value: option, selected: option === (asked.get(name) ?? '') }, name === 'chainId' && option ? nameOf(Number(option)) : option)))
    : h('input', { name, value: asked.get(name) ?? '', ...(key ? { [key]: value } : {}) }));
  const find = (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams([...new FormData(event.target)].filter(([, value]) => value !== ''));
    location.hash = `#/charges?${wanted}`;
    if (location.hash === `#/charges?${asked}`) route();
  };
  const body = h('tbody');
  const more = h('div', { class: 'buttons' });
  show(h('h2', {}, 'Charges and refusals'), h('form', { class: 'filters', onsubmit: find }, FILTERS.map(field), h('button', {}, 'Show')),
    h('div', { class: 'scroll' }, h('table', { class: 'stacked' }, h('thead', {}, h('tr', {}, COLUMNS.map(([name, , kind]) => h('th', { class: kind }, name)))), body)), more);
  let next = null;
  const load = async () => {
    more.replaceChildren(h('span', { role: 'status', class: 'soft' }, 'looking …'));
    let found = 0;
    do {
      const page = await ask('GET', `/PayTool/charges?${question(asked, PAGE, next)}`);
      body.append(...page.charges.map(row));
      [found, next] = [found + page.charges.length, page.next];
    } while (found === 0 && next !== null && body.isConnected);
    more.replaceChildren(...[
      next && h('button', { class: 'quiet', onclick: () => guarded(load) }, 'More'),
      body.children.length > 0 && h('button', { class: 'quiet', onclick: () => guarded(() => download(asked, more)) }, 'Download all as CSV'),
      body.children.length === 0 && h('p', {}, 'No charge and no refusal is like that.'),
    ].filter(Boolean));
  };
  await load();
}

/** What is asked of the ledger: dates become seconds, and a day that is named as the last is meant whole. */
function question(asked, limit, after) {
  const wanted = new URLSearchParams(asked);
  for (const [name, days] of [['from', 0], ['until', 1]]) {
    if (wanted.get(name)) wanted.set(name, Date.parse(`${wanted.get(name)}T00:00:00Z`) / 1000 + days * 86_400);
  }
  wanted.set('limit', limit);
  if (after) wanted.set('after', after);
  return wanted;
}

const COLUMNS = [
  ['When', (charge) => time(charge.acceptedAt ?? charge.refusedAt), 'short'], ['Subscription', (charge) => h('a', { href: `#/charges?subscribeId=${charge.subscribeId}` }, charge.subscribeId)],
  ['Plan', (charge) => charge.planId], ['Period', (charge) => charge.period ?? ''], ['Amount', (charge) => grouped(charge.amount ?? ''), 'number'],
  ['Token', (charge) => h('span', { title: charge.token ?? '' }, shortened(charge.token) ?? '')], ['Chain', (charge) => nameOf(charge.chainId)],
  ['State', (charge) => [state(charge.state), charge.resolved ? ` (${charge.resolved})` : '', charge.refusals > 1 ? ` ${grouped(charge.refusals)} times, the last at ${time(charge.lastRefusedAt)}` : '', charge.failCode ? h('span', { class: 'soft', title: charge.failReason }, ` ${charge.failCode}`) : '']],
  ['Transaction', (charge) => hash(charge.chainId, charge.txHash)],
  ['Fee', (charge) => (charge.feeShare && chainOf(charge.chainId) ? coins(charge.feeShare, chainOf(charge.chainId).coinDecimals) : ''), 'number'],
];

const row = (charge) => h('tr', {}, COLUMNS.map(([name, of, kind]) => h('td', { 'data-label': name, class: kind }, of(charge))));

/** Everything that is like that, as a file: the same as `merchant-signer export` writes. */
async function download(asked, place) {
  const parts = [];
  let [next, rows] = [null, 0];
  do {
    const wanted = question(asked, 1000, next);
    wanted.set('format', 'csv');
    const page = await ask('GET', `/PayTool/charges?${wanted}`);
    parts.push(page.csv);
    [next, rows] = [page.next, rows + page.rows];
    place.replaceChildren(h('span', { role: 'status' }, `${grouped(rows)} charges …`));
  } while (next !== null && rows < MOST_ROWS_OF_A_FILE && place.isConnected);
  if (!place.isConnected) return;
  const link = h('a', { href: URL.createObjectURL(new Blob(parts, { type: 'text/csv' })), download: 'charges.csv' }, `charges.csv: ${grouped(rows)} charges`);
  place.replaceChildren(link, next === null ? '' : h('span', { class: 'warn' }, 'There are more: narrow it, or use merchant-signer export.'));
  link.click();
}

// --- one billing

async function billing(id, token) {
  const found = await ask('GET', `/PayTool/billings/${encodeURIComponent(id)}`);
  if (token !== current) return;
  show(found.map(life));
}

function life(one) {
  const end = one.state === 'open' ? null : one.state;
  const later = one.transactions.slice(1);
  const at = (seconds) => (seconds ? h('time', { datetime: new Date(seconds * 1000).toISOString() }, time(seconds)) : null);
  const told = [
    [true, '', at(one.acceptedAt), 'Signed and durable', one.requestId ? `, for request ${one.requestId}` : '', one.caller ? ` of ${one.caller}` : '', ': ', hash(one.chainId, one.txHashes[0])],
    ...later.map((other) => [true, 'warn', at(other.signedAt), other.kind === 'cancel' ? 'Signed to cancel it: ' : 'Signed again in its place: ', hash(one.chainId, other.txHash)]),
    [one.heldUp, 'warn', null, `Held up: ${one.heldUp}`],
    [one.block !== null, '', null, `In block ${grouped(one.block)}: `, hash(one.chainId, one.txHash)],
    [one.execution, one.execution?.result === 'SUCCESS' ? 'good' : 'bad', null, `${one.execution?.result}${one.execution?.message ? `: ${one.execution.message}` : ''}. ${grouped(one.execution?.used)} gas or energy, fee ${chainOf(one.chainId) ? coins(String(one.execution?.fee ?? 0), chainOf(one.chainId).coinDecimals) : ''} coins. ${one.execution?.whatToDo ?? ''}`],
    [end, KIND[end], at(one.settledAt), `Final: ${end}`],
    [!end, '', null, 'Open: the chain has not decided it'],
  ];
  return h('article', {},
    h('h2', {}, `Billing on ${nameOf(one.chainId)}, nonce ${one.nonce}`),
    h('ol', { class: 'life' }, told.filter(([is]) => is).map(([, kind, ...words]) => h('li', { class: kind }, words))),
    h('dl', {}, h('dt', {}, 'Account'), h('dd', {}, one.address), h('dt', {}, 'Contract'), h('dd', {}, one.contract)),
    h('div', { class: 'scroll' }, h('table', { class: 'stacked' },
      h('thead', {}, h('tr', {}, ['Subscription', 'Plan', 'User', 'Period', 'Amount', 'State', ''].map((name) => h('th', {}, name)))),
      h('tbody', {}, one.subscriptions.map((line) => subscription(one, line))))));
}

function subscription(one, line) {
  const unclear = line.state === 'unproven' && line.resolved === null && caller?.controls;
  const resolve = (outcome) => async () => {
    const text = `Subscription ${line.subscribeIdText}: the transaction succeeded, and no event tells whether it was charged. Look at the chain first. ${outcome === 'charged' ? 'It stays charged for ever.' : 'It can be billed again.'}`;
    const why = await confirmed(outcome === 'charged' ? 'It was charged' : 'It was not charged', text, 'Resolve', { why: true });
    if (why === null) return;
    // The id goes as digits: as a number it may be another one.
    const { billing, why: reason } = { billing: one.txHash, why };
    const body = `{"billing":${JSON.stringify(billing)},"subscribeId":${line.subscribeIdText},"outcome":"${outcome}","why":${JSON.stringify(reason)}}`;
    try {
      await ask('POST', '/PayTool/control/resolve', body);
      await route();
    } catch (problem) {
      view.prepend(alertBox(problem.message));
    }
  };
  const cells = [
    ['Subscription', h('a', { href: `#/charges?subscribeId=${line.subscribeIdText}` }, line.subscribeIdText)], ['Plan', line.planIdText], ['User', h('span', { title: line.userHash }, shortened(line.userHash))],
    ['Period', line.period ?? ''], ['Amount', grouped(line.amountText)],
    ['State', [state(line.state), line.resolved ? ` (${line.resolved})` : '', line.failReason ? ` ${line.failReason}` : '', line.chargedAmount ? ` took ${grouped(line.chargedAmount)}` : '']],
    ['', unclear ? h('span', { class: 'buttons' }, h('button', { class: 'quiet', onclick: resolve('charged') }, 'It was charged'), h('button', { class: 'quiet', onclick: resolve('free') }, 'It was not')) : ''],
  ];
  return h('tr', {}, cells.map(([label, value]) => h('td', { 'data-label': label }, value)));
}

// --- events

async function events(token) {
  const list = h('tbody');
  show(h('h2', {}, 'Events, as they happen'), h('p', { class: 'soft', id: 'listening', role: 'status' }, 'listening …'),
    h('div', { class: 'scroll' }, h('table', { class: 'stacked' }, h('thead', {}, h('tr', {}, ['When', 'What', 'Chain', 'Transaction', 'Charges', 'Who and why'].map((name) => h('th', {}, name)))), list)));
  let after = 'newest';
  while (token === current && list.isConnected) {
    const page = await ask('GET', `/PayTool/events?wait=25&after=${after}`);
    list.prepend(...page.events.map(event).reverse());
    while (list.children.length > 500) list.lastChild.remove();
    after = page.next;
  }
}

function event(one) {
  const charges = one.charges.slice(0, 5).map((charge) => h('span', {}, h('a', { href: `#/charges?subscribeId=${charge.subscribeId}` }, charge.subscribeId), ' ', state(charge.state), ' '));
  const cells = [['When', time(one.at)], ['What', state(one.event)], ['Chain', nameOf(one.chainId)], ['Transaction', hash(one.chainId, one.txHash)],
    ['Charges', [charges, one.charges.length > 5 ? `and ${one.charges.length - 5} more` : '']], ['Who and why', [one.by, one.why].filter(Boolean).join(': ')]];
  return h('tr', {}, cells.map(([label, value]) => h('td', { 'data-label': label }, value)));
}

// --- search

/** Finds out what somebody has at hand: a subscription, a wallet, a hash of a transaction or a user, a request. */
async function search(what) {
  if (/^\d{1,19}$/.test(what)) return `#/charges?subscribeId=${what}`;
  if (/^(0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33})$/.test(what)) return `#/charges?wallet=${what}`;
  try {
    await ask('GET', `/PayTool/billings/${encodeURIComponent(what)}`);
    return `#/billing/${encodeURIComponent(what)}`;
  } catch (problem) {
    if (problem.status !== 404) throw problem;
  }
  if (/^(0x)?[0-9a-fA-F]{64}$/.test(what)) return `#/charges?userHash=${what.replace(/^(0x)?/, '0x')}`;
  throw new Error(`Nothing is called ${what}: it is no subscription, wallet, user, transaction or request that the Signer knows.`);
}

$('#search').addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  const what = submitted.target.what.value.trim();
  if (what) guarded(async () => { location.hash = await search(what); });
});

document.addEventListener('keydown', (pressed) => {
  const typing = ['INPUT', 'SELECT', 'TEXTAREA'].includes(document.activeElement?.tagName) || $('dialog[open]');
  if (pressed.key !== '/' || typing) return;
  pressed.preventDefault();
  $('#search input').focus();
});

// --- which view

let current = 0;
let timer = null;

/** Does something, and says what went wrong. */
async function guarded(work) {
  try {
    await work();
  } catch (problem) {
    if (problem instanceof NotSignedIn) show(h('p', { class: 'alert warn' }, 'This is shown to callers with the right to read. '), h('button', { onclick: askToSignIn }, 'Sign in'));
    else if (problem instanceof TypeError) Object.assign($('#standing'), { textContent: 'not reached', className: 'bad' });
    else view.prepend(alertBox(problem.message));
  }
}

async function route() {
  const token = ++current;
  clearTimeout(timer);
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, id] = path.split('/');
  document.querySelectorAll('header nav a').forEach((link) => {
    const here = link.getAttribute('href') === `#/${name === 'billing' ? 'charges' : name}`;
    if (here) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  });
  if (name !== '') delete view.dataset.of;
  await guarded(async () => {
    if (!numbers) await look();
    if (token !== current) return;
    showWho();
    if (name === 'charges') await ledger(new URLSearchParams(query));
    else if (name === 'billing') await billing(decodeURIComponent(id ?? ''), token);
    else if (name === 'events') await events(token);
    else await overview(token);
  });
  if (token !== current) return;
  timer = setTimeout(tick, REFRESH_MS);
}

/** The overview is drawn anew, and elsewhere only how the Signer stands. */
async function tick() {
  const token = current;
  if (!document.hidden) await guarded(location.hash.replace(/^#\/?/, '') === '' ? () => overview(token) : look);
  if (token === current) timer = setTimeout(tick, REFRESH_MS);
}

addEventListener('hashchange', () => { view.focus(); route(); });
route();
