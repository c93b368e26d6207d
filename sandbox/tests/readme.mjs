// README.md, "Run it", as it stands, and the files of operate/ with what it writes. `node sandbox/tests/readme.mjs`, after
// `cargo build -p merchant-signer --bin merchant-signer -p sandbox`.

import { readme } from './documents/readme.mjs';

await readme();
console.log('what the README says of running it holds');
process.exit(0);
