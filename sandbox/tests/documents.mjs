// The documents, as written, on one sandbox: every command of docs/integrate.md in its order, the controls of docs/sandbox.md,
// every command of docs/merchant.md and docs/merchant-loop.md.
// `node sandbox/tests/documents.mjs`, after `cargo build -p sandbox -p merchant`.

import { controls, guide } from './documents/guide.mjs';
import { loop } from './documents/loop.mjs';
import { library, table } from './documents/merchant.mjs';
import { everyNameIsKnown, everyOptionIsThere, everyTestIsThere } from './documents/words.mjs';

for (const name of ['merchant.md', 'merchant-loop.md', 'integrate.md', 'sandbox.md']) everyOptionIsThere(name);
for (const name of ['merchant.md', 'merchant-loop.md', 'sandbox.md']) everyTestIsThere(name);
for (const name of ['merchant.md', 'merchant-loop.md', 'integrate.md']) everyNameIsKnown(name);
await guide();
await table();
library();
await loop();
await controls();
console.log('every command of the documents did what they say');
process.exit(0);
