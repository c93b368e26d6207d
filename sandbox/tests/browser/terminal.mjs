// The README's picture of a terminal: a part of what the demonstration writes there, as SVG.

import { spawn } from 'node:child_process';

const [WIDE, HIGH, MARGIN] = [8.4, 20, 16];
const INK = { 1: ' font-weight="bold"', 2: ' fill="#8b949e"', 32: ' fill="#56d364"', 33: ' fill="#e3b341"' };
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Runs a program on a terminal of its own, and gives its lines. */
export async function recorded(program) {
  const child = spawn('script', ['-qec', `'${program}' --once`, '/dev/null'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const parts = [];
  child.stdout.on('data', (part) => parts.push(part));
  const code = await new Promise((done) => child.on('close', done));
  if (code !== 0) throw new Error(`the demonstration ended with ${code}`);
  return Buffer.concat(parts).toString().split(/\r?\n/);
}

/** The lines about a lost answer and about who was charged, on Ethereum. */
export function part(lines) {
  const from = lines.findIndex((line) => line.includes('It lost the answer'));
  const to = lines.findIndex((line, at) => at > from && line.includes('The merchant received'));
  if (from < 0 || to < 0) throw new Error('the demonstration tells it in other words');
  return lines.slice(from, to + 1);
}

/** One line, in the colours of the terminal. */
function drawn(line, row) {
  const spans = [...line.matchAll(/(?:\x1b\[(\d+)m)?([^\x1b]*)/g)].filter(([, , text]) => text !== '');
  const inked = spans.map(([, ink, text]) => `<tspan${INK[ink] ?? ''}>${escaped(text)}</tspan>`);
  return `<text x="${MARGIN}" y="${MARGIN + HIGH * (row + 0.75)}" xml:space="preserve">${inked.join('')}</text>`;
}

/** The picture of these lines, below the command that writes them. */
export function picture(lines) {
  const all = ['\x1b[2m$ \x1b[0mnpx merchant-sandbox', '', ...lines];
  const plain = all.map((line) => line.replace(/\x1b\[\d+m/g, '').trimEnd());
  const [width, height] = [Math.ceil(Math.max(...plain.map((line) => line.length)) * WIDE) + 2 * MARGIN, all.length * HIGH + 2 * MARGIN];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The demonstration in a terminal">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g fill="#e6edf3" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
${all.map(drawn).join('\n')}
</g>
</svg>
`;
}

/** The words of a picture, without what differs from run to run: hashes, heights, times. */
export const words = (svg) => svg.replace(/0x[0-9a-f]{64}/g, '0x…').replace(/after \d+ ms/g, 'after … ms').replace(/in block \d+/g, 'in block …').replace(/viewBox="[^"]*"/, '');
