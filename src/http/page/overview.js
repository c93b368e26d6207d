// The overview: today, a line for each chain, and what went on.

import { NotSignedIn, ask, now, session } from './ask.js';
import { chainOf, coins, look, stands } from './chains.js';
import { figuresOf } from './charts.js';
import { alertBox, badge, copied, decimal, grouped, h, lasting, shortened, time } from './words.js';

/** How often what is added up from the ledger is added up anew. */
const FIGURES_MS = 30_000;
const figures = { at: 0, of: null, shown: null };

/** Forgets what was added up: it is asked for anew. */
export const forget = () => { figures.at = 0; };

async function added(again) {
  if (stands.numbers.signed && !session.caller) return null;
  if (Date.now() - figures.at < FIGURES_MS && figures.of === session.caller) return figures.shown;
  try {
    Object.assign(figures, { shown: await figuresOf(() => { forget(); again(); }), at: Date.now(), of: session.caller });
  } catch (problem) {
    if (problem instanceof NotSignedIn) return null;
    if (problem.status === 403) return [h('p', { class: 'alert warn' }, problem.message)];
    throw problem;
  }
  return figures.shown;
}

/** Everything, in the order in which it is asked for; `show` puts it there if it is still wanted. */
export async function overview({ show, again, change, signIn }) {
  await look();
  if (session.caller?.controls) stands.switched = await ask('GET', '/PayTool/control');
  const summed = await added(again);
  const { ready, numbers } = stands;
  const problems = [ready.journal === 'ok' ? null : `journal: ${ready.journal}`, ready.tls && ready.tls.status !== 'ok' ? `TLS: ${ready.tls.status}` : null];
  const [today, charts] = summed ?? [h('p', { class: 'card' }, 'What was charged today is shown to callers with the right to read. ', h('button', { class: 'quiet', onclick: signIn }, 'Sign in')), null];
  show(
    problems.filter(Boolean).map((text) => alertBox(text)),
    today,
    h('section', { class: 'section', 'aria-label': 'Chains' }, h('h2', {}, 'Chains'), h('div', { class: 'cards' }, ready.chains.map((chain) => card(chain, change)))),
    charts,
    ready.instances.length > 0 && instances(ready.instances),
    session.caller?.controls && h('p', { class: 'soft small section', id: 'key' }, 'A signing key is changed in the configuration and by a restart, and from here by nobody: see “Changing the signing key” in docs/changes.md.'),
    h('p', { class: 'soft small section' }, `Signer ${numbers.version}`),
  );
}

function instances(all) {
  return h('section', { class: 'section card' }, h('h2', {}, 'Instances'), h('ul', { class: 'plain', 'aria-label': 'Instances' }, all.map((one) => h('li', {},
    badge(one.state === 'serves' ? 'serves' : 'stands by', one.state === 'serves' ? 'good' : ''), ` ${one.name}${one.this ? ', this one' : ''}`,
    h('span', { class: one.silentSeconds > 5 ? 'bad' : 'soft' }, ` ${one.start}, version ${one.version}, heard of ${one.silentSeconds} s ago`),
    one.clock !== 'ok' && h('span', { class: 'bad' }, ` ${one.clock}`), one.unfit && h('span', { class: 'bad' }, ` could bill nothing now: ${one.unfit}`),
    one.differs.length > 0 && h('span', { class: 'bad' }, ` configured otherwise than the one that serves: ${one.differs.join(', ')}`)))));
}

/** What is to be known of a chain first: what is wrong, since when, and what to do; or that all is well. */
function lines(chain, own) {
  const since = (at, atLeast) => (at ? h('span', {}, atLeast ? ' Since at least ' : ' Since ', h('time', { datetime: new Date(at * 1000).toISOString() }, time(at)), `, for ${lasting(now() - at)}.`) : '');
  const box = (kind, said, at, advice, atLeast) => h('p', { class: `alert ${kind}`, role: kind ? null : 'alert' }, h('strong', {}, said), since(at, atLeast), advice && h('span', {}, ` ${advice}`));
  const paused = stands.switched.find((one) => one.chainId === chain.chainId)?.pausedSince ?? null;
  return [
    ...own.troubles.map((one) => box('', `${one.said}.`, one.since, one.whatToDo, one.sinceAtLeast)),
    chain.paused !== null && box('warn', 'Nothing new is signed: it is paused.', paused ? Math.floor(paused / (paused > 1e11 ? 1000 : 1)) : null, `Resume it when the reason is gone${paused ? '' : ` (paused ${chain.paused})`}.`),
    ...chain.warnings.map((text) => box('warn', `${text}.`)),
    ...chain.heldUp.map(({ batch, why }) => box('warn', `Billing ${batch} is held up: ${why}.`, own.oldestOpen ? Math.floor(own.oldestOpen / 1000) : null)),
    ...chain.disputed.map(({ batch, nodes }) => box('', `Nodes disagree on billing ${batch}: ${nodes.join(', ')}.`)),
  ].filter(Boolean);
}

function card(chain, change) {
  const own = chainOf(chain.chainId) ?? { limits: [], troubles: [], chainId: chain.chainId };
  const wrong = lines(chain, own);
  const ill = own.troubles.length > 0 || chain.status !== 'ok';
  const age = own.oldestOpen && lasting(now() - own.oldestOpen / 1000);
  const money = own.balance && `${coins(chain.chainId, own.balance)}, ${coins(chain.chainId, own.inFlight)} of it in flight`;
  const rows = [
    ['Gas money', money ?? 'not seen'],
    ['Billings left', own.billingsLeft === null || own.billingsLeft === undefined ? 'not known' : grouped(own.billingsLeft)],
    ['Open', chain.undecided === 0 ? 'nothing' : [h('a', { href: `#/charges?chainId=${chain.chainId}&state=open` }, `${chain.undecided} billings`), age ? `, the oldest for ${age}` : '']],
    ['Head', chain.head === null ? 'not seen' : grouped(chain.head)],
    ['Account', chain.accounts.map((one) => h('div', {}, copied(one.address), chain.accounts.length > 1 && [' ', badge(one.status === 'ok' ? 'ok' : 'held up', one.status === 'ok' ? 'good' : 'bad'),
      h('span', { class: 'soft' }, ` ${one.undecided} open${one.billingsLeft === null ? '' : `, pays for ${grouped(one.billingsLeft)} more`}`)]))],
    ['Nodes', h('ul', { class: 'plain', 'aria-label': 'Nodes' }, chain.nodes.map((node) => h('li', {}, badge(node.state, node.state === 'alive' ? 'good' : 'warn'), ` ${node.node}`,
      h('span', { class: 'soft' }, node.head === null ? '' : ` ${grouped(node.head)}`), node.caught ? h('span', { class: 'bad' }, ` ${node.caught}`) : null)))],
  ];
  return h('article', { class: 'card', id: `chain-${chain.chainId}` },
    h('div', { class: 'row apart' }, h('h3', { class: 'row' }, badge(ill ? 'not ready' : wrong.length > 0 ? 'see to it' : 'OK', ill ? 'bad' : wrong.length > 0 ? 'warn' : 'good'), h('span', {}, `${chain.name} `, h('span', { class: 'soft' }, `chain ${chain.chainId}`))), switches(chain, change)),
    wrong,
    chain.following.map((one) => h('p', {}, `${one.address} only ends what it began: ${one.undecided} open, ${one.status}`)),
    h('dl', {}, rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h('details', {}, h('summary', {}, 'Limits and trust'), h('dl', { 'aria-label': 'Limits' }, own.limits.map((limit) => limitRow(chain.chainId, limit)), h('dt', {}, 'Trust'), h('dd', {}, chain.trust))));
}

/** What a limit is of, for people. */
const LIMITS = { 'fees.max_burnt_per_day': 'Burnt today', 'fees.max_fee_limit': 'Fee limit', 'fees.max_fee_per_gas': 'Fee per gas', 'fees.max_tx_cost': 'Cost of a transaction', max_fee_per_day: 'Fees today' };

/** What of a limit is taken, where it is one of the chain's coin. */
function ofLimit(id, { limit, taken, most }) {
  if (limit === 'fees.max_fee_per_gas' || limit === 'fees.max_priority_fee_per_gas') return ` ${decimal(taken, 9, 3)} of ${decimal(most, 9)} gwei,`;
  return LIMITS[limit] ? ` ${coins(id, taken)} of ${coins(id, most)},` : '';
}

function limitRow(id, { limit, taken, most }) {
  const share = Number(most) > 0 ? Number(taken) / Number(most) : 0;
  const name = LIMITS[limit] ?? limit.replace(/0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33}/, (address) => shortened(address));
  return [h('dt', { title: limit }, name), h('dd', {}, h('meter', { min: 0, max: 1, high: 0.8, value: Math.min(share, 1), 'aria-label': limit }), ofLimit(id, { limit, taken, most }), ` ${Math.round(share * 100)} %`)];
}

function switches({ chainId, name, paused }, change) {
  if (!session.caller?.controls) return null;
  const since = stands.switched.find((one) => one.chainId === chainId)?.pausedSince ?? null;
  const pause = () => change([`Pause ${name}?`, 'Nothing new is signed on it until somebody resumes it. What is open goes on to its end.', 'Pause'], '/PayTool/control/pause', { chainId });
  const resume = () => change([`Resume ${name}?`, 'New billings are signed again.', 'Resume'], '/PayTool/control/resume', { pauses: { [chainId]: since } });
  if (since !== null) return h('button', { onclick: resume }, 'Resume');
  return paused === null ? h('button', { class: 'quiet', onclick: pause }, 'Pause') : null;
}
