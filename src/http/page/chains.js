// How everything stands, and what chains, tokens and transactions are called.

import { ask, open } from './ask.js';
import { session } from './ask.js';
import { $, brief, copyButton, decimal, grouped, h, shortened } from './words.js';

/** What the Signer said last of how it stands. */
export const stands = { numbers: null, ready: null, switched: [] };

/** Asks how everything stands. */
export async function look() {
  const [ready, told] = await Promise.all([open('/health/ready'), open('/page/numbers')]);
  [stands.ready, stands.numbers] = [ready, told.data];
  session.signed = told.data.signed;
  const well = ready.status === 'ready';
  const worries = well && ready.chains.some((chain) => chain.warnings.length > 0 || chain.paused !== null);
  Object.assign($('#standing'), { textContent: ready.status, className: `badge ${well ? (worries ? 'warn' : 'good') : 'bad'}` });
  document.title = well ? 'Signer' : `Signer: ${ready.status}`;
}

export const chainOf = (id) => stands.numbers?.chains.find((chain) => chain.chainId === id);
export const nameOf = (id) => chainOf(id)?.name ?? (id === null ? '' : `chain ${id}`);

/** Digits of wei or sun as coins, with their name. */
export function coins(id, digits, places = 6) {
  const chain = chainOf(id);
  return chain ? `${decimal(digits, chain.coinDecimals, places)} ${chain.coin}` : grouped(digits);
}

/** The same for a glance. */
export function fee(id, digits) {
  const chain = chainOf(id);
  return chain ? h('span', { title: coins(id, digits, chain.coinDecimals) }, `${brief(digits, chain.coinDecimals)} ${chain.coin}`) : grouped(digits);
}

/** In which units tokens are shown. What a token is not known to tell stays in base units. */
const units = new Map();
export const unitsOf = (id, token) => units.get(`${id} ${token}`) ?? null;

/** Learns the units of tokens that are about to be shown. */
export async function learn(lines) {
  const unknown = new Map(lines.filter(([, token]) => token).map(([id, token]) => [`${id} ${token}`, [id, token]]));
  await Promise.all([...unknown].filter(([key]) => !units.has(key)).map(async ([key, [id, token]]) => {
    const told = await ask('GET', `/page/token?chainId=${id}&token=${encodeURIComponent(token)}`).catch(() => null);
    if (told) units.set(key, { symbol: told.symbol || shortened(token), decimals: told.decimals });
  }));
}

/** An amount of a token, as people write it; in base units where nobody tells another. */
export function money(id, token, digits) {
  if (digits === null || digits === undefined) return '';
  const known = unitsOf(id, token);
  return known
    ? h('span', { title: `${digits} base units of ${token}` }, `${decimal(digits, known.decimals)} ${known.symbol}`)
    : h('span', { title: token ?? '' }, `${grouped(digits)} base units`);
}

/** A transaction: to its billing, to where it can be looked up, and to be taken away. */
export function hash(id, text) {
  if (!text) return '';
  const at = chainOf(id)?.explorer;
  return h('span', { class: 'hash' }, h('a', { href: `#/billing/${text}`, title: text }, shortened(text)), copyButton(text),
    at && h('a', { href: at.replace('{hash}', text), rel: 'noreferrer', target: '_blank', 'aria-label': `${text} in the explorer` }, '↗'));
}
