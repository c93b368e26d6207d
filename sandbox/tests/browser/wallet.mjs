// A wallet in the browser, as strict as EIP-1193 and the methods behind it allow: what a page asks in another way than the
// standards say, it refuses. The key stays on this side of the browser.

import { require } from './world.mjs';

const { createWalletClient, defineChain, http } = require('viem');
const { privateKeyToAccount } = require('viem/accounts');

/** Runs in the page, before anything of it: `window.ethereum`. */
function injected({ announce }) {
  const listeners = new Map();
  const fail = (code, message) => Object.assign(new Error(message), { code });
  const provider = {
    async request(args, ...more) {
      if (more.length || typeof args !== 'object' || args === null || Array.isArray(args)) {
        throw fail(-32602, 'request takes one object');
      }
      const extra = Object.keys(args).filter((key) => key !== 'method' && key !== 'params');
      if (extra.length || typeof args.method !== 'string' || !args.method) throw fail(-32602, 'method and params, nothing else');
      if (args.params !== undefined && typeof args.params !== 'object') throw fail(-32602, 'params is a list or an object');
      const { result, error } = await window.walletAsked(JSON.parse(JSON.stringify(args)));
      if (error) throw fail(error.code, error.message);
      return result;
    },
    on(event, listener) {
      if (typeof listener !== 'function') throw new TypeError('a listener is a function');
      listeners.set(event, [...(listeners.get(event) ?? []), listener]);
      return provider;
    },
    removeListener(event, listener) {
      listeners.set(event, (listeners.get(event) ?? []).filter((one) => one !== listener));
      return provider;
    },
  };
  window.walletTells = (event, ...data) => (listeners.get(event) ?? []).forEach((listener) => listener(...data));
  Object.freeze(provider);
  if (!announce) {
    Object.defineProperty(window, 'ethereum', { value: provider });
    return;
  }
  // EIP-6963: no window.ethereum at all, found by asking alone.
  const info = Object.freeze({ uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Strict', icon: 'data:image/svg+xml,', rdns: 'example.strict' });
  const say = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
  window.addEventListener('eip6963:requestProvider', say);
  say();
}

/** A wallet with a key, on a chain that the sandbox's EVM node has. */
export class Wallet {
  constructor(world, privateKey, chainId) {
    this.account = privateKeyToAccount(privateKey);
    const chain = defineChain({ id: chainId, name: 'sandbox', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [world.evm] } } });
    this.client = createWalletClient({ account: this.account, chain, transport: http(world.evm) });
    Object.assign(this, { home: chainId, chainId, connected: false, refusals: [], asked: [], sent: [] });
  }

  /** What the person makes of the next allowances (base units); as they are asked for, if undefined. */
  cap;

  /** Puts it into a window. `announce`: by EIP-6963 instead of window.ethereum. */
  async into(page, { announce = false } = {}) {
    await page.exposeFunction('walletAsked', (args) => this.answer(args));
    await page.addInitScript(injected, { announce });
  }

  /** The person declines, or something else goes wrong, the next time that `method` is asked. */
  refuse(method, code, message) {
    this.refusals.push({ method, code, message });
  }

  async answer({ method, params }) {
    this.asked.push(method);
    const refusal = this.refusals.findIndex((one) => one.method === method);
    if (refusal >= 0) return { error: this.refusals.splice(refusal, 1)[0] };
    try {
      return { result: await this.does(method, params ?? []) };
    } catch (error) {
      return { error: { code: error.code ?? -32603, message: error.message } };
    }
  }

  async does(method, params) {
    const fail = (code, message) => { throw Object.assign(new Error(message), { code }); };
    switch (method) {
      case 'eth_requestAccounts':
        this.connected = true;
        return [this.account.address.toLowerCase()];
      case 'eth_accounts':
        return this.connected ? [this.account.address.toLowerCase()] : [];
      case 'eth_chainId':
        return `0x${this.chainId.toString(16)}`;
      case 'wallet_switchEthereumChain': {
        const wanted = params[0]?.chainId;
        if (params.length !== 1 || !/^0x[1-9a-f][0-9a-f]*$/.test(wanted)) fail(-32602, 'chainId is hex without leading zeros');
        if (Number(wanted) !== this.home) fail(4902, 'Unrecognized chain ID');
        this.chainId = Number(wanted);
        return null;
      }
      case 'eth_sendTransaction':
        return this.send(params, fail);
      case 'eth_getTransactionReceipt':
        return this.client.request({ method, params });
      default:
        return fail(4200, `${method} is not supported`);
    }
  }

  /** The call, with the cap of an allowance as the person has made it (base units), if they have. */
  edited(data) {
    const allows = data.startsWith('0x095ea7b3') && BigInt(`0x${data.slice(74)}`) > 0n;
    if (!allows || this.cap === undefined) return data;
    return data.slice(0, 74) + this.cap.toString(16).padStart(64, '0');
  }

  async send(params, fail) {
    if (!this.connected) fail(4100, 'The requested account has not been authorized');
    if (this.chainId !== this.home) fail(4901, 'Not connected to the requested chain');
    const [tx, ...more] = params;
    if (more.length || typeof tx !== 'object') fail(-32602, 'one transaction');
    const known = ['from', 'to', 'data', 'value', 'gas'];
    if (Object.keys(tx).some((key) => !known.includes(key))) fail(-32602, `only ${known}`);
    if (tx.from?.toLowerCase() !== this.account.address.toLowerCase()) fail(4100, 'another account');
    if (!/^0x[0-9a-fA-F]{40}$/.test(tx.to) || !/^0x([0-9a-f]{2})*$/.test(tx.data)) fail(-32602, 'to and data are hex');
    this.sent.push(tx);
    return this.client.sendTransaction({ to: tx.to, data: this.edited(tx.data) });
  }
}
