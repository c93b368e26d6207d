// The page for operators: who is signed in, which view is shown, and when it is drawn anew.

import { NotSignedIn, ask, session, signIn } from './ask.js';
import { look, stands } from './chains.js';
import { drawAll } from './charts.js';
import { ledger } from './ledger.js';
import { forget, overview } from './overview.js';
import { billing, events } from './past.js';
import { $, alertBox, h } from './words.js';

const REFRESH_MS = 5_000;
const view = $('#view');
const show = (...children) => view.replaceChildren(...children.flat(3).filter(Boolean));

// --- who

function showWho() {
  const out = () => { session.caller = null; forget(); showWho(); route(); };
  if (!session.signed) $('#who').replaceChildren('nobody signs here');
  else if (session.caller) $('#who').replaceChildren(`${session.caller.key} `, h('button', { class: 'quiet', onclick: out }, 'Sign out'));
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
    forget();
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

/** Asks whether something is meant, has it done, and draws anew. */
async function change([title, text, button], path, body) {
  if (await confirmed(title, text, button) === null) return;
  try {
    await ask('POST', path, JSON.stringify(body));
  } catch (problem) {
    view.prepend(alertBox(problem.message));
    return;
  }
  document.activeElement?.blur();
  await route();
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
    else if (problem instanceof TypeError) Object.assign($('#standing'), { textContent: 'not reached', className: 'badge bad' });
    else view.prepend(alertBox(problem.message));
  }
}

/** The overview, unless something else is wanted meanwhile, or somebody is at something with the keyboard. */
function drawOverview(token) {
  const put = (...children) => {
    if (token !== current) return;
    const busy = view.contains(document.activeElement) && document.activeElement !== view;
    if (busy && view.dataset.of === 'overview') return;
    const unfolded = [...view.querySelectorAll('details')].map((one) => one.open);
    view.dataset.of = 'overview';
    show(...children);
    drawAll();
    view.querySelectorAll('details').forEach((one, at) => { one.open = unfolded[at] ?? false; });
  };
  return overview({ show: put, again: route, change, signIn: askToSignIn });
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
  const put = (...children) => token === current && show(...children);
  await guarded(async () => {
    if (!stands.numbers) await look();
    if (token !== current) return;
    showWho();
    if (name === 'charges') await ledger(new URLSearchParams(query), { show: put, route, guarded });
    else if (name === 'billing') await billing(decodeURIComponent(id ?? ''), { show: put, route, confirmed, view });
    else if (name === 'events') await events({ show: put, wanted: () => token === current });
    else await drawOverview(token);
  });
  if (token !== current) return;
  timer = setTimeout(tick, REFRESH_MS);
}

/** The overview is drawn anew, and elsewhere only how the Signer stands. */
async function tick() {
  const token = current;
  if (!document.hidden) await guarded(location.hash.replace(/^#\/?/, '') === '' ? () => drawOverview(token) : look);
  if (token === current) timer = setTimeout(tick, REFRESH_MS);
}

addEventListener('hashchange', () => { view.focus(); route(); });
addEventListener('resize', () => document.querySelectorAll('.chart').forEach(({ plot, clientWidth }) => plot?.setSize({ width: clientWidth, height: plot.height })));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => document.querySelectorAll('.chart').forEach((place) => place.draw()));
route();
