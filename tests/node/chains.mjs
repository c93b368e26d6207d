// An EVM chain of another make than anvil: Hardhat's or Ganache's, as npm has it. It prints the URL of the node itself,
// and one where it speaks the few words of anvil's dialect that tests set a chain up with.
//
//   node chains.mjs hardhat|ganache    serves until its standard input ends

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const CHAIN_ID = 31337;

/** Each starts its node as it comes, and says where it is and how its words for what anvil calls otherwise are. */
const MAKES = {
  async hardhat() {
    process.env.HARDHAT_CONFIG = fileURLToPath(new URL('hardhat.config.cjs', import.meta.url));
    process.env.HARDHAT_DISABLE_TELEMETRY_PROMPT = 'true';
    const hre = require('hardhat');
    const { provider } = hre.network;
    const server = await hre.run('node:create-server', { hostname: '127.0.0.1', port: 0, provider });
    const { port } = await server.listen();
    const ask = (method, params) => provider.request({ method, params });
    return {
      port,
      ask,
      lend: (from) => ask('hardhat_impersonateAccount', [from]),
      endow: (who, amount) => ask('hardhat_setBalance', [who, amount]),
      mine: (blocks) => ask('hardhat_mine', [blocks]),
    };
  },

  async ganache() {
    const ganache = require('ganache');
    const server = ganache.server({ chain: { chainId: CHAIN_ID }, logging: { quiet: true } });
    await server.listen(0, '127.0.0.1');
    knowWhatWasSent(server.provider);
    const ask = (method, params) => server.provider.request({ method, params });
    return {
      port: server.address().port,
      ask,
      async lend(from) {
        await ask('evm_addAccount', [from, '']);
        await ask('personal_unlockAccount', [from, '', 0]);
      },
      endow: (who, amount) => ask('evm_setAccountBalance', [who, amount]),
      mine: (blocks) => ask('evm_mine', [{ blocks: Number(blocks) }]),
    };
  },
};

/**
 * Ganache mines a transaction twice, in two blocks, that comes again while its first copy is executed or written; no chain
 * allows that. The copy is answered as nodes answer it.
 */
function knowWhatWasSent(provider) {
  const execute = provider._requestRaw.bind(provider);
  const sent = new Set();
  provider._requestRaw = async (question) => {
    if (question.method !== 'eth_sendRawTransaction') return execute(question);
    const [raw] = question.params;
    if (sent.has(raw)) throw Object.assign(new Error('already known'), { code: -32000 });
    sent.add(raw);
    const forget = (refusal) => {
      sent.delete(raw);
      throw refusal;
    };
    const { value } = await execute(question).catch(forget);
    return { value: value.catch(forget) };
  };
}

const chain = await MAKES[process.argv[2]]();
const lent = new Set();

async function answer({ method, params = [] }) {
  if (method === 'anvil_autoImpersonateAccount') return true;
  if (method === 'anvil_setBalance') return chain.endow(params[0], quantity(params[1]));
  if (method === 'anvil_mine') return chain.mine(quantity(params[0]));
  if (method === 'eth_sendTransaction' && !lent.has(params[0].from)) {
    lent.add(params[0].from);
    await chain.lend(params[0].from);
  }
  return chain.ask(method, params);
}

const quantity = (number) => `0x${BigInt(number).toString(16)}`;

async function answered(question) {
  const envelope = { jsonrpc: '2.0', id: question.id };
  try {
    return { ...envelope, result: await answer(question) };
  } catch ({ code, message, data }) {
    return { ...envelope, error: { code: Number.isInteger(code) ? code : -32000, message, data: data?.data ?? data } };
  }
}

const dialect = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const asked = JSON.parse(Buffer.concat(parts));
  const told = [];
  for (const question of [asked].flat()) told.push(await answered(question));
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(Array.isArray(asked) ? told : told[0]));
});
dialect.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${chain.port} http://127.0.0.1:${dialect.address().port}`);
});
process.stdin.resume().on('end', () => process.exit());
