// Asking the Signer: what needs no signature is open to whoever gets here, everything else is asked in the name of a
// caller who signed in, with requests signed in this window.

/** How far the clocks of the Signer and of the browser may be apart. */
const WINDOW_SECONDS = 60;

/** Who is signed in, whether anybody has to, and how far the clock of the Signer is from here (ms). */
export const session = { caller: null, signed: true, skewMs: 0 };

export class NotSignedIn extends Error {}

/** Digits stay digits: ids and amounts of 64 and 256 bits fit into no number. */
export const parse = (text) => JSON.parse(text, (key, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && context?.source ? context.source : value);

export async function open(path) {
  const response = await fetch(path, { cache: 'no-store' });
  const date = Date.parse(response.headers.get('date') ?? '');
  if (date) session.skewMs = date - Date.now();
  return parse(await response.text());
}

const bytes = (text) => new TextEncoder().encode(text);
const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));

/** A request in the caller's name, and an answer that is proven to be the Signer's. Nobody signs where nobody has to. */
export const ask = async (method, path, body = '') => parse(await answered(method, path, body)).data;

/** The very text of the data, which is last in an answer: a certificate is valid in one spelling. */
export async function askForText(path) {
  const text = await answered('GET', path, '');
  return text.slice(text.indexOf('"data":') + '"data":'.length, text.lastIndexOf('}'));
}

async function answered(method, path, body) {
  if (!session.caller && !session.signed) return told(await fetch(path, { method, body: body || undefined }), null);
  if (!session.caller) throw new NotSignedIn('sign in to see this');
  const timestamp = String(Math.floor((Date.now() + session.skewMs) / 1000));
  const sign = base64(await crypto.subtle.sign('HMAC', session.caller.secret, bytes(timestamp + method + path + body)));
  const headers = { 'X-PAY-KEY': session.caller.key, 'X-PAY-TIMESTAMP': timestamp, 'X-PAY-SIGN': sign };
  if (body) headers['Content-Type'] = 'application/json';
  return told(await fetch(path, { method, headers, body: body || undefined, cache: 'no-store' }), sign);
}

async function told(response, sign) {
  const text = await response.text();
  if (sign !== null) await mustBeProven(response, sign, text);
  const { code, msg } = parse(text);
  if (code === 1) return text;
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
  const off = Number(at) - Math.floor((Date.now() + session.skewMs) / 1000);
  if (!/^[0-9]{10}$/.test(at) || Math.abs(off) > WINDOW_SECONDS || !/^[A-Za-z0-9+/]{43}=$/.test(proof)) return false;
  const signed = Uint8Array.from(atob(proof), (letter) => letter.charCodeAt(0));
  return crypto.subtle.verify('HMAC', session.caller.secret, signed, bytes(at + response.status + sign + text));
}

export async function signIn(key, secret) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  session.caller = { key, secret: await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign', 'verify']), controls: false };
  try {
    await ask('GET', '/PayTool/charges?limit=1');
  } catch (problem) {
    if (problem.status !== 403) {
      session.caller = null;
      throw problem;
    }
  }
  session.caller.controls = await ask('GET', '/PayTool/control').then(() => true, () => false);
}

/** The Signer's time, Unix seconds. */
export const now = () => (Date.now() + session.skewMs) / 1000;
