// What a merchant would write in an afternoon: the Signer's main job with viem, to compare with.
//
// POST a list of due subscriptions; the answer has the hash or says who cannot be charged. It checks
// every balance and allowance, simulates the billing call, estimates, signs and sends. It is kept
// as fast as such a script is: one Multicall3 call for all reads, fees looked up once a second, the
// nonce counted here. So a request is four round trips, one after the other.
//
// What it does not do is what the Signer is for. It has no journal: a crash or a lost reply charges
// twice or not at all. It knows no repeats, no callers, no sums per wallet; a failed send leaves the
// chain waiting for a nonce until the process is started again; and an amount above 2^53 must come
// as a string.
//
//   RPC_URL=http://127.0.0.1:8545 PRIVATE_KEY=0x… CONTRACT=0x… PORT=9981 \
//     node tests/bench/naive/server.mjs
//
// MULTICALL is where Multicall3 is, if not at its usual address. PORT=0 takes any free port. When it
// is ready it prints `listening on http://127.0.0.1:<port>`. SIGTERM ends it.

import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../node/package.json", import.meta.url));
const { createPublicClient, defineChain, encodeFunctionData, erc20Abi, http, parseAbi } = require("viem");
const { privateKeyToAccount } = require("viem/accounts");

const ABI = parseAbi(["function charge(bytes32[] userHash, uint256[] amount)"]);
const GAS_MARGIN_PERCENT = 40n;
const FEES_KEPT_MS = 1000;

const { RPC_URL, PRIVATE_KEY, CONTRACT, MULTICALL, PORT } = process.env;
for (const [name, value] of Object.entries({ RPC_URL, PRIVATE_KEY, CONTRACT })) {
  if (!value) throw new Error(`${name} is not set`);
}

const account = privateKeyToAccount(PRIVATE_KEY);
const transport = http(RPC_URL);
const chainId = await createPublicClient({ transport }).getChainId();
const chain = defineChain({
  id: chainId,
  name: "chain",
  nativeCurrency: { name: "coin", symbol: "COIN", decimals: 18 },
  rpcUrls: { default: { http: [RPC_URL] } },
  contracts: { multicall3: { address: MULTICALL ?? "0xcA11bde05977b3631167028862bE2a173976CA11" } },
});
const client = createPublicClient({ chain, transport });
let nonce = await client.getTransactionCount({ address: account.address, blockTag: "pending" });

let fees;
let feesAt = -Infinity;
function currentFees() {
  if (performance.now() - feesAt > FEES_KEPT_MS) {
    feesAt = performance.now();
    fees = client.estimateFeesPerGas();
  }
  return fees;
}

/** The entries that the tokens themselves would refuse. */
async function shortfalls(entries) {
  const answers = await client.multicall({
    allowFailure: false,
    batchSize: 0, // all in one call
    contracts: entries.flatMap(({ tokenAddress, userWallet }) => [
      { address: tokenAddress, abi: erc20Abi, functionName: "allowance", args: [userWallet, CONTRACT] },
      { address: tokenAddress, abi: erc20Abi, functionName: "balanceOf", args: [userWallet] },
    ]),
  });
  return entries.flatMap((entry, index) => {
    const [allowance, balance] = answers.slice(2 * index, 2 * index + 2);
    const amount = BigInt(entry.amount);
    if (allowance < amount) return [failure(entry, "Allowance insufficient")];
    if (balance < amount) return [failure(entry, "Balance insufficient")];
    return [];
  });
}

function failure({ subscribeId, planId, userHash }, failReason) {
  return { subscribeId, planId, userHash, failReason };
}

async function bill(entries) {
  const short = await shortfalls(entries);
  if (short.length) return { code: 2, data: short };

  const call = {
    address: CONTRACT,
    abi: ABI,
    functionName: "charge",
    args: [entries.map((entry) => entry.userHash), entries.map((entry) => BigInt(entry.amount))],
    account,
  };
  await client.simulateContract(call);

  const [estimate, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
    client.estimateContractGas(call),
    currentFees(),
  ]);
  const gas = (estimate * (100n + GAS_MARGIN_PERCENT)) / 100n;
  const serialized = await account.signTransaction({
    type: "eip1559",
    chainId,
    nonce: nonce++, // nothing is awaited between reading and counting
    to: CONTRACT,
    data: encodeFunctionData(call),
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
  });
  const txHash = await client.sendRawTransaction({ serializedTransaction: serialized });
  return {
    code: 1,
    data: {
      address: account.address,
      chainId: entries[0].chainId,
      gasRequired: String(gas),
      signedTransactionData: serialized,
      subscriptionIds: entries.map((entry) => entry.subscribeId),
      txHash,
    },
  };
}

async function answer(request) {
  if (request.method !== "POST") return [404, { code: 0, msg: "POST a list", data: null }];
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const { code, data } = await bill(Array.isArray(body) ? body : body.list);
    return [200, { code, msg: code === 1 ? "success" : "cannot be charged", data }];
  } catch (error) {
    return [503, { code: 0, msg: error.shortMessage ?? error.message, data: null }];
  }
}

const server = createServer(async (request, response) => {
  const [status, { code, msg, data }] = await answer(request);
  const body = JSON.stringify({ code, msg, description: null, data });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
});
server.listen(Number(PORT ?? 9981), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
process.on("SIGTERM", () => process.exit(0));
