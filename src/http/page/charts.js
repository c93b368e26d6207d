// What the ledger comes to: the figures of today, and charts. Nothing is from the memory of the Signer or of this window.

import { ask, now } from './ask.js';
import { chainOf, learn, nameOf, stands, unitsOf } from './chains.js';
import { brief, decimal, grouped, h, time } from './words.js';

/** What may be looked at: the words for it, how long it is, and how long one slot is (s). */
const SPANS = [['1 hour', 3_600, 60], ['24 hours', 86_400, 1_800], ['7 days', 7 * 86_400, 4 * 3_600], ['30 days', 30 * 86_400, 86_400]];
let [, span, step] = SPANS[1];

/** Who is refused for these is charged already, is going to be, or owes nothing yet: nothing went wrong. */
const NO_ATTEMPT = new Set(['ALREADY_CHARGED', 'BILLING_IN_PROGRESS', 'DUPLICATE_ENTRY', 'NOT_DUE_YET']);
const DAY = 86_400;
/** As many decimals as any token has: what is added up over chains is added up in these. */
const FINEST = 36;

/** How many answers may come to the end of no slot, one after the other: five minutes of them. */
const MOST_LOOKS = 150;

/** The slots of a time, asked for until the ledger was looked through. An answer that ends where it began has come to the end of no slot yet: the next one goes on from there. */
async function figures(from, until, size) {
  const slots = [];
  for (let [at, looks] = [from, 0]; at < until;) {
    const told = await ask('GET', `/page/figures?from=${at}&until=${until}&step=${size}`);
    slots.push(...told.slots);
    looks = told.until > at ? 0 : looks + 1;
    if (looks >= MOST_LOOKS) throw new Error('The ledger of that time is too long to be added up here: choose a shorter one, or use merchant-signer export.');
    at = told.until;
  }
  await learn(slots.flatMap((slot) => Object.keys(slot.taken).map((token) => [slot.chainId, token])));
  return slots;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const count = (slot, of) => sum(Object.entries(slot.states).filter(([state]) => of(state)).map(([, many]) => many));
const charged = (slot) => count(slot, (state) => state === 'charged');
const open = (slot) => count(slot, (state) => state === 'open' || state === 'unproven');
const idle = (slot) => sum(Object.entries(slot.reasons).filter(([code]) => NO_ATTEMPT.has(code)).map(([, many]) => many));
const missed = (slot) => Math.max(count(slot, (state) => !['charged', 'open', 'unproven'].includes(state)) - idle(slot), 0);

/** What was taken, by the symbol: exact, in the finest decimals. */
function takenOf(slots) {
  const all = new Map();
  for (const slot of slots) {
    for (const [token, digits] of Object.entries(slot.taken)) {
      const { symbol, decimals } = unitsOf(slot.chainId, token) ?? { symbol: 'base units', decimals: 0 };
      all.set(symbol, (all.get(symbol) ?? 0n) + BigInt(digits) * 10n ** BigInt(FINEST - decimals));
    }
  }
  return all;
}

function feesOf(slots) {
  const all = new Map();
  for (const slot of slots) {
    const chain = chainOf(slot.chainId);
    if (!chain || slot.fees === '0') continue;
    all.set(chain.coin, (all.get(chain.coin) ?? 0n) + BigInt(slot.fees) * 10n ** BigInt(FINEST - chain.coinDecimals));
  }
  return all;
}

const sums = (all, shown) => [...all].map(([symbol, value]) => [shown(value, FINEST), symbol]);

/** The figures of today (UTC), which come first. */
async function today() {
  const from = Math.floor(now() / DAY) * DAY;
  const slots = await figures(from, from + DAY, DAY);
  const [done, not, waits] = [sum(slots.map(charged)), sum(slots.map(missed)), sum(slots.map(open))];
  const rate = done + not === 0 ? '–' : `${(Math.floor((done / (done + not)) * 1000) / 10).toFixed(1)} %`;
  const tile = (id, name, figure, said) => h('article', { class: 'card tile', id }, h('h3', {}, name), h('p', { class: 'figure' }, figure), h('p', { class: 'soft small' }, said));
  const figure = (all) => (all.length === 0 ? '0' : all.map(([value, symbol]) => h('span', {}, value, h('small', {}, ` ${symbol} `))));
  return h('section', { 'aria-label': 'Today' },
    h('h2', {}, 'Today, UTC'),
    h('div', { class: 'tiles' },
      tile('rate', 'Success rate', rate, `${grouped(done)} charged of ${grouped(done + not)} that were asked for`),
      tile('taken', 'Charged', figure(sums(takenOf(slots), decimal)), `in ${grouped(done)} ${done === 1 ? 'charge' : 'charges'}`),
      tile('missed', 'Not charged', grouped(not), h('a', { href: '#/charges?state=refused' }, 'See who and why')),
      tile('fees', 'Fees', figure(sums(feesOf(slots), brief)), waits > 0 ? h('a', { href: '#/charges?state=open' }, `${grouped(waits)} still open`) : 'nothing is open')));
}

// --- charts

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** One chart on its place: bars or lines over the time that is looked at. */
function draw(place, times, lines, unit) {
  const axis = { stroke: css('--soft'), grid: { stroke: css('--line'), width: 1 }, ticks: { show: false }, font: '12px Inter, system-ui, sans-serif' };
  const series = lines.map(({ name, tint, shown }) => ({
    label: name, stroke: css(tint), fill: css(tint), width: 0, points: { show: false },
    paths: uPlot.paths.bars({ size: [0.75, 28], align: 1 }),
    value: (plot, value, at, index) => (index === null ? '' : (shown ?? ((place) => unit(value ?? 0)))(index)),
  }));
  const options = {
    width: place.clientWidth || 480, height: 190, padding: [8, 18, 0, 0], series: [{ label: 'From', value: (plot, at) => (at ? time(at).slice(0, 16) : '') }, ...series],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } }, tzDate: (at) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    scales: { x: { range: () => [times[0], times.at(-1) + step] }, y: { range: (plot, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [{ ...axis, grid: { show: false }, values: (plot, marks, at, room, size) => marks.map((mark) => (size >= DAY ? time(mark).slice(5, 10) : time(mark).slice(11, 16))) }, { ...axis, size: 64, values: (plot, marks) => marks.map(unit) }],
  };
  place.plot?.destroy();
  place.replaceChildren();
  place.plot = new uPlot(options, [times, ...lines.map(({ values }) => values)], place);
}

/** A figure: what it shows, the chart, and the same values to be read. */
function figure(id, title, said, lines, { times, unit = grouped, more = null }) {
  const place = h('div', { class: 'chart', role: 'img', 'aria-label': `${title}: ${said}` });
  const told = times.map((at, index) => [at, lines.map(({ values, shown }) => (shown ? shown(index) : unit(values[index])))]).filter((_, index) => lines.some(({ values }) => values[index]));
  place.draw = () => draw(place, times, lines, unit);
  return h('article', { class: 'card', id: `chart-${id}` }, h('div', { class: 'row apart' }, h('h3', {}, title), h('span', { class: 'soft' }, said)), place, more,
    told.length > 0 && h('details', { class: 'small' }, h('summary', {}, 'Values'), h('div', { class: 'scroll' }, h('table', {},
      h('thead', {}, h('tr', {}, ['From', ...lines.map(({ name }) => name)].map((name) => h('th', {}, name)))),
      h('tbody', {}, told.map(([at, values]) => h('tr', {}, h('td', {}, time(at).slice(0, 16)), values.map((value) => h('td', {}, value)))))))));
}

async function charts() {
  const until = (Math.floor(now() / step) + 1) * step;
  const slots = await figures(until - span, until, step);
  const times = Array.from({ length: span / step }, (_, at) => until - span + at * step);
  const of = (at) => slots.filter((slot) => slot.at === at);
  const each = (value) => times.map((at) => value(of(at)));
  const [done, not] = [each((some) => sum(some.map(charged))), each((some) => sum(some.map(missed)))];
  const reasons = new Map();
  for (const slot of slots) for (const [code, many] of Object.entries(slot.reasons)) reasons.set(code, (reasons.get(code) ?? 0) + many);
  const worst = [...reasons].sort(([, one], [, other]) => other - one);
  const symbols = [...takenOf(slots).keys()];
  const number = (value) => Number(value / 10n ** BigInt(FINEST - 6)) / 1e6;
  const small = (value) => (value === 0 ? '0' : String(Number(value.toPrecision(4))));
  const found = [
    figure('charges', 'Charges', `${grouped(sum(done))} charged, ${grouped(sum(not))} not`, [
      { name: 'not charged', tint: '--two', values: done.map((value, at) => value + not[at]), shown: (at) => grouped(not[at]) },
      { name: 'charged', tint: '--one', values: done },
    ], { times }),
    ...symbols.map((symbol) => {
      const exact = each((some) => takenOf(some).get(symbol) ?? 0n);
      return figure(`taken-${symbol}`, `Charged, ${symbol}`, `${decimal(takenOf(slots).get(symbol), FINEST)} ${symbol}`, [{ name: symbol, tint: '--one', values: exact.map(number), shown: (at) => decimal(exact[at], FINEST) }], { times, unit: small });
    }),
    h('article', { class: 'card', id: 'reasons' }, h('div', { class: 'row apart' }, h('h3', {}, 'Why not'), h('span', { class: 'soft' }, `${grouped(sum(worst.map(([, many]) => many)))} refused or failed`)),
      worst.length === 0 ? h('p', { class: 'soft' }, 'Nobody was refused.') : h('dl', {}, worst.map(([code, many]) => [
        h('dt', {}, h('a', { href: `#/charges?reason=${code}` }, code)), h('dd', {}, h('meter', { min: 0, max: worst[0][1], value: many, 'aria-label': code }), ` ${grouped(many)}`)]))),
    ...stands.numbers.chains.filter((chain) => slots.some((slot) => slot.chainId === chain.chainId && slot.fees !== '0')).map((chain) => {
      const cost = each((some) => {
        const own = some.filter((slot) => slot.chainId === chain.chainId);
        const many = sum(own.map(charged));
        return many === 0 ? 0 : own.reduce((total, slot) => total + Number(slot.fees), 0) / many / 10 ** chain.coinDecimals;
      });
      const last = cost.findLast((value) => value > 0) ?? 0;
      return figure(`cost-${chain.chainId}`, `Fee of a charge, ${nameOf(chain.chainId)}`, `${small(last)} ${chain.coin}`, [{ name: chain.coin, tint: '--three', values: cost }], { times, unit: small });
    }),
  ];
  return h('div', { class: 'charts' }, found);
}

/** Draws the charts that are on the page and not drawn yet. */
export const drawAll = () => document.querySelectorAll('.chart').forEach((place) => place.plot ?? place.draw());

/** Today and the charts; `again` is called when something else is to be looked at. */
export async function figuresOf(again) {
  const choose = ([words, wanted, size]) => h('button', { class: 'quiet', 'aria-pressed': String(wanted === span), onclick: () => { [span, step] = [wanted, size]; document.activeElement.blur(); again(); } }, words);
  const [first, drawn] = await Promise.all([today(), charts()]);
  return [first, h('section', { class: 'section', 'aria-label': 'Charts', id: 'charts' },
    h('div', { class: 'row apart' }, h('h2', {}, 'Over time'), h('span', { class: 'picks', role: 'group', 'aria-label': 'How long' }, SPANS.map(choose))), drawn,
    h('p', { class: 'soft small' }, 'All of it is added up from the ledger, by the time of acceptance or refusal, UTC.'))];
}
