// An editor: fills in what stands in <…> in the configuration that `merchant-signer init` wrote, as somebody does who has had
// the contract deployed and the account entitled to bill. `node fill.mjs FILE '{"node": URL}'`, or '{"tron": FILE}' with the
// configuration of a bare sandbox.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [, , file, told] = process.argv;
const { node, tron } = JSON.parse(told);
const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' });
const [evmAddress, tronAddress] = run('merchant-signer', 'keys', 'list').split(/ +/);

/** What the person knows: the contract, the merchant's address in it, and a node. */
function known() {
  if (node) {
    const said = run('sandbox', 'deploy', '--biller', evmAddress, '--rpc', node, '--people', '0', '--due', '/dev/null');
    const of = (name) => new RegExp(`^${name} +(\\S+)`, 'm').exec(said)[1];
    return { contract: of('contract'), merKey: of('merKey'), more: (text) => text };
  }
  run('sandbox', 'biller', '--chain', '136', tronAddress);
  const written = readFileSync(tron, 'utf8').split('[chains.136]')[1];
  const of = (name) => new RegExp(`\\b${name} = "(.*?)"`).exec(written)[1];
  const nodes = `nodes = [{ full = "${of('full')}", solidity = "${of('solidity')}", jsonrpc = "${of('jsonrpc')}" }]`;
  const rows = ['chain_id', 'multicall'].map((name) => `${name} = "${of(name)}"`).join('\n');
  const more = (text) => text.replace(/^USDT = "T.*"$/m, `USDT = "${of('USDT')}"`).replace(/^nodes = \[.*?^\]/ms, nodes).replace(/^chain_id = .*$/m, rows)
    .replace('[chains.7.billing]', '[chains.7.fees]\nmax_run_percent = 1000000\n\n[chains.7.billing]');
  return { contract: of('contract'), merKey: of('merKey'), more };
}

const { contract, merKey, more } = known();
const text = more(readFileSync(file, 'utf8'))
  .replace(/^rpc = .*$/m, `rpc = "${node}"`)
  .replace(/<the billing contract[^>]*>/, contract)
  .replace("<the merchant's address in the contract>", merKey)
  .replace(/<the most[^>]*>/g, '1000000000');
assert.doesNotMatch(text.replace(/^#.*$/gm, ''), /<[^>]*>/);
writeFileSync(file, text);
