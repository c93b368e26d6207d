// The README's picture of a terminal is what the demonstration writes today.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { part, picture, recorded, words } from './terminal.mjs';
import { SCREENSHOTS, root } from './world.mjs';

test('the picture of the README says what the demonstration says', async () => {
  const drawn = picture(part(await recorded(process.env.SANDBOX_BINARY ?? join(root, 'target', 'debug', 'sandbox'))));
  mkdirSync(SCREENSHOTS, { recursive: true });
  writeFileSync(join(SCREENSHOTS, 'terminal.svg'), drawn);
  const kept = readFileSync(join(root, 'docs', 'pictures', 'terminal.svg'), 'utf8');
  assert.equal(words(kept), words(drawn), 'take the new one: sandbox/tests/browser/pictures.py target/screenshots docs/pictures');
});
