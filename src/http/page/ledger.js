// The ledger: charges and refusals, narrowed, and taken away as a file.

import { ask, askForText } from './ask.js';
import { fee, hash, learn, money, nameOf, stands } from './chains.js';
import { badge, cells, grouped, h, moment, table, time } from './words.js';

const PAGE = 100;
const MOST_ROWS_OF_A_FILE = 200_000;

/** Those that are always there; the others are folded. */
const FIRST = ['state', 'chainId', 'from', 'until'];
const FILTERS = [
  ['subscribeId', 'Subscription', 'inputmode', 'numeric'], ['planId', 'Plan', 'inputmode', 'numeric'], ['userHash', 'User hash'], ['wallet', 'Wallet'],
  ['caller', 'Caller'], ['chainId', 'Chain'], ['state', 'State'], ['reason', 'Reason'], ['from', 'From', 'type', 'date'], ['until', 'Until', 'type', 'date'],
];
const STATES = ['', 'open', 'charged', 'failed', 'unproven', 'reverted', 'cancelled', 'usurped', 'expired', 'refused'];

const words = (charge) => [charge.resolved && `a person said: ${charge.resolved}`, charge.refusals > 1 && `${grouped(charge.refusals)} times, the last at ${time(charge.lastRefusedAt)}`, charge.failReason ?? charge.failCode].filter(Boolean).join('; ');

const COLUMNS = [['When'], ['Amount', 'number'], ['State'], ['Why', 'why'], ['Subscription'], ['Plan'], ['Chain'], ['Transaction'], ['Fee', 'number']];

const row = (charge, guarded) => cells(COLUMNS, [
  moment(charge.acceptedAt ?? charge.refusedAt), money(charge.chainId, charge.token, charge.amount), badge(charge.state),
  charge.failCode || charge.refusals > 1 || charge.resolved ? h('span', { title: words(charge) }, charge.failCode ?? words(charge)) : charge.state === 'charged' ? certificate(charge, guarded) : '',
  h('a', { href: `#/charges?subscribeId=${charge.subscribeId}` }, charge.subscribeId),
  h('span', {}, charge.planId, h('span', { class: 'soft' }, charge.period === null ? '' : `, period ${charge.period}`)), nameOf(charge.chainId), hash(charge.chainId, charge.txHash),
  charge.feeShare ? fee(charge.chainId, charge.feeShare) : '',
]);

/** The view: `show` puts it there, `route` draws it anew, `guarded` says what went wrong. */
export async function ledger(asked, { show, route, guarded }) {
  const options = { chainId: ['', ...stands.numbers.chains.map((chain) => String(chain.chainId))], state: STATES, reason: ['', ...stands.numbers.reasons] };
  const field = ([name, label, key, value]) => h('label', {}, label, options[name]
    ? h('select', { name }, options[name].map((option) => h('option', { value: option, selected: option === (asked.get(name) ?? '') }, name === 'chainId' && option ? nameOf(Number(option)) : option || 'any')))
    : h('input', { name, value: asked.get(name) ?? '', ...(key ? { [key]: value } : {}) }));
  const find = (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams([...new FormData(event.target)].filter(([, value]) => value !== ''));
    location.hash = `#/charges?${wanted}`;
    if (location.hash === `#/charges?${asked}`) route();
  };
  const [first, others] = [FILTERS.filter(([name]) => FIRST.includes(name)), FILTERS.filter(([name]) => !FIRST.includes(name))];
  const used = others.filter(([name]) => asked.get(name)).length;
  const body = h('tbody');
  const more = h('div', { class: 'buttons' });
  show(h('h2', {}, 'Charges and refusals'),
    h('form', { class: 'card', id: 'filters', onsubmit: find }, h('div', { class: 'fields' }, first.map(field), h('button', {}, 'Show')),
      h('details', { open: used > 0 }, h('summary', {}, used > 0 ? `More filters (${used})` : 'More filters'), h('div', { class: 'fields' }, others.map(field)))),
    table(COLUMNS, body), more);
  let next = null;
  const load = async () => {
    more.replaceChildren(h('span', { role: 'status', class: 'soft' }, 'looking …'));
    let found = 0;
    do {
      const page = await ask('GET', `/PayTool/charges?${question(asked, PAGE, next)}`);
      await learn(page.charges.map((charge) => [charge.chainId, charge.token]));
      body.append(...page.charges.map((charge) => row(charge, guarded)));
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

/** The proof of a charge, as a file: the same as `merchant-signer certificate` writes. */
function certificate({ cursor, subscribeId }, guarded) {
  const href = `/PayTool/charges/${cursor}/certificate`;
  const make = async () => save(new Blob([await askForText(href)], { type: 'application/json' }), `certificate-${subscribeId}.json`).click();
  const onclick = (event) => {
    event.preventDefault();
    guarded(make);
  };
  return h('a', { href, onclick }, 'certificate');
}

const save = (blob, download, words = download) => h('a', { href: URL.createObjectURL(blob), download }, words);

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
  const link = save(new Blob(parts, { type: 'text/csv' }), 'charges.csv', `charges.csv: ${grouped(rows)} charges`);
  place.replaceChildren(link, next === null ? '' : h('span', { class: 'warn' }, 'There are more: narrow it, or use merchant-signer export.'));
  link.click();
}
