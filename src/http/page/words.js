// Elements, words and numbers: what every view is made of.

export const $ = (selector) => document.querySelector(selector);

/** An element; text is only ever text. `on…` attributes are listeners, null and false ones are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const alertBox = (text, kind = '') => h('p', { class: `alert ${kind}`, role: 'alert' }, text);

export const grouped = (digits) => String(digits).replace(/\B(?=(\d{3})+(?!\d))/g, '\u2009');
export const time = (seconds) => (seconds ? new Date(seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC') : '');
export const shortened = (text) => (text && text.length > 16 ? `${text.slice(0, 8)}…${text.slice(-4)}` : text);

/** A time as it is read in a line: the day, and the time of the day. */
export const moment = (seconds) => (seconds ? h('time', { datetime: new Date(seconds * 1000).toISOString(), title: time(seconds) }, time(seconds).slice(5, 16)) : '');

/** How long something took, in one unit. */
export function lasting(seconds) {
  const units = [[86_400, 'd'], [3_600, 'h'], [60, 'min']];
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, 's'];
  return `${Math.max(Math.floor(seconds / size), 0)} ${unit}`;
}

/** Base units as people write them, exactly, or to so many places. */
export function decimal(digits, decimals, places = decimals) {
  const padded = String(digits).padStart(decimals + 1, '0');
  const [whole, part] = [padded.slice(0, padded.length - decimals), padded.slice(padded.length - decimals)];
  const shown = part.slice(0, places).replace(/0+$/, '');
  return shown ? `${grouped(whole)}.${shown}` : grouped(whole);
}

/** The same for a glance: two places of what is one or more, and the first four digits of what is less. */
export function brief(digits, decimals) {
  const part = String(digits).padStart(decimals + 1, '0').slice(-decimals);
  const whole = String(digits).length > decimals;
  return decimal(digits, decimals, whole ? 2 : part.search(/[1-9]|$/) + 4);
}

const KIND = { charged: 'good', open: '', refused: 'warn', cancelled: 'warn', expired: 'warn', failed: 'bad', reverted: 'bad', usurped: 'bad', unproven: 'bad', paused: 'warn', laneClosed: 'bad', gasLow: 'warn', inDoubt: 'bad', usedElsewhere: 'bad', laneOpened: 'good', gasLasts: 'good', resumed: 'good' };
export const kindOf = (word) => KIND[word] ?? '';
export const badge = (word, kind = kindOf(word)) => h('span', { class: `badge ${kind}` }, word);

/** A text that is shortened, and whole for whoever takes it away. */
export const copied = (text, shown = shortened(text)) => text && h('span', { class: 'hash' }, h('span', { title: text }, shown), copyButton(text));
export const copyButton = (text) => h('button', { class: 'copy', type: 'button', 'data-copy': text, 'aria-label': `Copy ${text}` });

/** A table: a line for a row on paper, a card for a row on a phone. A column is a name and perhaps a class. */
export function table(columns, rows, attributes = {}) {
  const head = h('thead', {}, h('tr', {}, columns.map(([name, kind]) => h('th', { class: kind, scope: 'col' }, name))));
  return h('div', { class: 'scroll table' }, h('table', attributes, head, rows));
}

export const cells = (columns, values) => h('tr', {}, columns.map(([name, kind], at) => h('td', { 'data-label': name, class: kind }, values[at])));
