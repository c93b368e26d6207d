// A signature of the interface, made here by its description alone.

import { createHmac } from 'node:crypto';

/** The three headers of a request. */
export function signed([key, secret], method, path, body = '', at = Math.floor(Date.now() / 1000)) {
  const sign = createHmac('sha256', secret).update(`${at}${method}${path}${body}`).digest('base64');
  return { 'X-PAY-KEY': key, 'X-PAY-TIMESTAMP': String(at), 'X-PAY-SIGN': sign };
}

/** What a signed GET answers. */
export async function get(caller, base, path) {
  const answer = await fetch(`${base}${path}`, { headers: signed(caller, 'GET', path) });
  return answer.json();
}
