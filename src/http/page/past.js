// What became of one billing, and what happened: events with their past.

import { ask, session } from './ask.js';
import { chainOf, coins, hash, learn, money, nameOf } from './chains.js';
import { alertBox, badge, cells, copied, grouped, h, kindOf, moment, table, time } from './words.js';

/** How many events are kept on the screen. */
const MOST_EVENTS = 500;

/** One billing, or all of a request. `act` has what its buttons need. */
export async function billing(id, act) {
  const found = await ask('GET', `/PayTool/billings/${encodeURIComponent(id)}`);
  const charges = new Map();
  // In which token an amount is, the ledger tells.
  for (const one of found) {
    for (const { subscribeIdText } of one.subscriptions.slice(0, 1)) {
      const { charges: lines } = await ask('GET', `/PayTool/charges?subscribeId=${subscribeIdText}&chainId=${one.chainId}&limit=1&state=${one.subscriptions[0].state}`);
      charges.set(one, lines[0]?.token ?? null);
      await learn([[one.chainId, lines[0]?.token], ...one.subscriptions.map((line) => [one.chainId, line.chargedToken])]);
    }
  }
  act.show(found.map((one) => life({ ...one, token: charges.get(one) }, act)));
}

const LINES = [['Subscription'], ['Plan'], ['User'], ['Period'], ['Amount', 'number'], ['State', 'wrap'], ['']];

function life(one, act) {
  const end = one.state === 'open' ? null : one.state;
  const later = one.transactions.slice(1);
  const at = (seconds) => (seconds ? h('time', { datetime: new Date(seconds * 1000).toISOString() }, time(seconds)) : null);
  const told = [
    [true, '', at(one.acceptedAt), 'Signed and durable', one.requestId ? `, for request ${one.requestId}` : '', one.caller ? ` of ${one.caller}` : '', ': ', hash(one.chainId, one.txHashes[0])],
    ...later.map((other) => [true, 'warn', at(other.signedAt), other.kind === 'cancel' ? 'Signed to cancel it: ' : 'Signed again in its place: ', hash(one.chainId, other.txHash)]),
    [one.heldUp, 'warn', null, `Held up: ${one.heldUp}`],
    [one.block !== null, '', null, `In block ${grouped(one.block)}: `, hash(one.chainId, one.txHash)],
    [one.execution, one.execution?.result === 'SUCCESS' ? 'good' : 'bad', null, `${one.execution?.result}${one.execution?.message ? `: ${one.execution.message}` : ''}. ${grouped(one.execution?.used)} ${chainOf(one.chainId)?.family === 'tvm' ? 'energy' : 'gas'}, fee ${coins(one.chainId, String(one.execution?.fee ?? 0))}. ${one.execution?.whatToDo ?? ''}`],
    [end, kindOf(end), at(one.settledAt), `Final: ${end}`],
    [!end, '', null, 'Open: the chain has not decided it'],
  ];
  return h('article', { class: 'card' },
    h('div', { class: 'row apart' }, h('h2', {}, `Billing on ${nameOf(one.chainId)}`), badge(one.state)),
    h('ol', { class: 'life' }, told.filter(([is]) => is).map(([, kind, ...words]) => h('li', { class: kind }, words))),
    h('dl', {}, h('dt', {}, 'Account'), h('dd', {}, copied(one.address)), h('dt', {}, 'Contract'), h('dd', {}, copied(one.contract)), h('dt', {}, chainOf(one.chainId)?.family === 'tvm' ? 'Place' : 'Nonce'), h('dd', {}, one.nonce)),
    table(LINES, h('tbody', {}, one.subscriptions.map((line) => subscription(one, line, act)))));
}

function subscription(one, line, { confirmed, route, view }) {
  const unclear = line.state === 'unproven' && line.resolved === null && session.caller?.controls;
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
  return cells(LINES, [
    h('a', { href: `#/charges?subscribeId=${line.subscribeIdText}` }, line.subscribeIdText), line.planIdText, copied(line.userHash), line.period ?? '', money(one.chainId, one.token, line.amountText),
    h('span', {}, badge(line.state), line.resolved ? ` (${line.resolved})` : '', line.failReason ? ` ${line.failReason}` : '', line.chargedAmount ? [' took ', money(one.chainId, line.chargedToken ?? one.token, line.chargedAmount)] : ''),
    unclear ? h('span', { class: 'buttons' }, h('button', { class: 'quiet', onclick: resolve('charged') }, 'It was charged'), h('button', { class: 'quiet', onclick: resolve('free') }, 'It was not')) : '',
  ]);
}

const EVENTS = [['When'], ['What'], ['Chain'], ['Charges'], ['Transaction'], ['Who and why', 'why']];

/** The last events, newest first, and those that happen while somebody looks. */
export async function events({ show, wanted }) {
  const list = h('tbody');
  const listening = h('p', { class: 'soft', id: 'listening', role: 'status' }, 'looking …');
  show(h('h2', {}, 'Events'), listening, table(EVENTS, list));
  let after = 'recent';
  while (wanted() && list.isConnected) {
    const page = await ask('GET', `/PayTool/events?${after === 'recent' ? 'limit=500' : 'wait=25'}&after=${after}`);
    list.prepend(...page.events.map(event).reverse());
    while (list.children.length > MOST_EVENTS) list.lastChild.remove();
    after = page.next;
    listening.textContent = 'listening: newest first, and what happens now comes on top';
  }
}

function event(one) {
  const [first, ...others] = one.charges;
  const charges = first && h('span', {}, h('a', { href: `#/charges?subscribeId=${first.subscribeId}` }, first.subscribeId), ' ', badge(first.state), others.length > 0 && h('span', { class: 'soft' }, ` and ${others.length} more`));
  const why = [one.by, one.why].filter(Boolean).join(': ');
  return cells(EVENTS, [moment(one.at), badge(one.event), nameOf(one.chainId), charges ?? '', hash(one.chainId, one.txHash), why && h('span', { title: why }, why)]);
}
