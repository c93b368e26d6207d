// Verifies the certificate of a charge, with nothing but the language: verifyCertificate(text, block, event)
//
// `block` is the hash (TRON: the id) of a final block, from a source that the reader trusts. `event` may be the event's
// declaration from the contract's published ABI: another one is refused, but for its blanks. crates/certificate/README.md
// says what a certificate shows. Signatures of TRON's producers are not read here: the block's id is trusted already.
"use strict";

const verifyCertificate = (() => {
  class Invalid extends Error {}

  const need = (holds, words) => {
    if (!holds) throw new Invalid(words);
  };
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const named = (bytes) => `0x${hex(bytes)}`;
  const text = (words) => new TextEncoder().encode(words);
  const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
  const number = (bytes) => (bytes.length ? BigInt(named(bytes)) : 0n);
  const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

  const MASK = (1n << 64n) - 1n;
  const turned = (word, by) => ((word << by) | (word >> (64n - by))) & MASK;

  const KECCAK_ROUNDS = (() => {
    let bit = 1;
    return Array.from({ length: 24 }, () => {
      let constant = 0n;
      for (let power = 0; power < 7; power += 1) {
        constant |= BigInt(bit & 1) << BigInt((1 << power) - 1);
        bit = (bit << 1) ^ (bit & 0x80 ? 0x171 : 0);
      }
      return constant;
    });
  })();

  function keccak(data) {
    const padded = new Uint8Array((Math.floor(data.length / 136) + 1) * 136);
    padded.set(data);
    padded[data.length] = 1;
    padded[padded.length - 1] |= 0x80;
    const words = new DataView(padded.buffer);
    let a = Array(25).fill(0n);
    for (let start = 0; start < padded.length; start += 136) {
      for (let i = 0; i < 17; i += 1) a[i] ^= words.getBigUint64(start + 8 * i, true);
      for (const constant of KECCAK_ROUNDS) {
        const c = [0, 1, 2, 3, 4].map((x) => a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
        a = a.map((word, i) => word ^ c[(i + 4) % 5] ^ turned(c[(i + 1) % 5], 1n));
        let [x, y, moved] = [1, 0, a[1]];
        for (let step = 0; step < 24; step += 1) {
          [x, y] = [y, (2 * x + 3 * y) % 5];
          const by = BigInt((((step + 1) * (step + 2)) / 2) % 64);
          [a[x + 5 * y], moved] = [turned(moved, by), a[x + 5 * y]];
        }
        const row = (i, by) => a[i - (i % 5) + ((i + by) % 5)];
        a = a.map((word, i) => word ^ (~row(i, 1) & MASK & row(i, 2)));
        a[0] ^= constant;
      }
    }
    const digest = new DataView(new ArrayBuffer(32));
    for (let i = 0; i < 4; i += 1) digest.setBigUint64(8 * i, a[i], true);
    return new Uint8Array(digest.buffer);
  }

  // The first 32 bits behind the point of the roots of the first primes: square roots, and cube roots.
  const primes = (many) => {
    const found = [];
    for (let n = 2; found.length < many; n += 1) if (found.every((prime) => n % prime)) found.push(n);
    return found;
  };
  const root = (of, power) => {
    let [low, high] = [0n, 1n << 40n];
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (middle ** power <= of) low = middle;
      else high = middle;
    }
    return Number(low & 0xffffffffn);
  };
  const SHA_START = primes(8).map((prime) => root(BigInt(prime) << 64n, 2n));
  const SHA_ROUNDS = primes(64).map((prime) => root(BigInt(prime) << 96n, 3n));

  function sha256(data) {
    const padded = new Uint8Array((Math.floor((data.length + 8) / 64) + 1) * 64);
    padded.set(data);
    padded[data.length] = 0x80;
    const words = new DataView(padded.buffer);
    words.setBigUint64(padded.length - 8, BigInt(data.length) * 8n);
    const right = (word, by) => (word >>> by) | (word << (32 - by));
    const state = [...SHA_START];
    for (let start = 0; start < padded.length; start += 64) {
      const w = SHA_ROUNDS.map((_, i) => (i < 16 ? words.getUint32(start + 4 * i) : 0));
      for (let i = 16; i < 64; i += 1) {
        const low = right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ (w[i - 15] >>> 3);
        const high = right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ (w[i - 2] >>> 10);
        w[i] = (w[i - 16] + low + w[i - 7] + high) >>> 0;
      }
      let [a, b, c, d, e, f, g, h] = state;
      SHA_ROUNDS.forEach((constant, i) => {
        const sum = right(e, 6) ^ right(e, 11) ^ right(e, 25);
        const one = (h + sum + ((e & f) ^ (~e & g)) + constant + w[i]) >>> 0;
        const two = ((right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) >>> 0, c, b, a, (one + two) >>> 0];
      });
      [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) >>> 0));
    }
    const digest = new DataView(new ArrayBuffer(32));
    state.forEach((word, i) => digest.setUint32(4 * i, word));
    return new Uint8Array(digest.buffer);
  }

  /** The value in these bytes: bytes, or a list of values. */
  function rlp(data) {
    const [value, rest] = rlpNext(data);
    need(rest.length === 0, "RLP with something behind it");
    return value;
  }

  function rlpNext(data) {
    need(data.length > 0, "RLP that ends too soon");
    const first = data[0];
    if (first < 0x80) return [data.slice(0, 1), data.slice(1)];
    const base = first >= 0xc0 ? 0xc0 : 0x80;
    const long = Math.max(0, first - base - 55);
    const length = long ? Number(number(data.slice(1, 1 + long))) : first - base;
    const [body, rest] = [data.slice(1 + long, 1 + long + length), data.slice(1 + long + length)];
    need(body.length === length, "RLP that ends too soon");
    if (base === 0x80) return [body, rest];
    const items = [];
    for (let left = body; left.length; ) {
      const [item, behind] = rlpNext(left);
      items.push(item);
      left = behind;
    }
    return [items, rest];
  }

  /** The item at an index of the trie below a root. */
  function below(top, index, nodes) {
    const digits = index ? index.toString(16).padStart(2, "0") : "";
    const bytes = digits.length % 2 ? `0${digits}` : digits;
    let key = index && index < 0x80 ? bytes : (0x80 + bytes.length / 2).toString(16) + bytes;
    let under = top;
    for (const [place, node] of nodes.entries()) {
      need(same(keccak(node), under), "a node that is not the one above it names");
      const parts = rlp(node);
      if (parts.length === 17) {
        need(key.length > 0, "a path that leads elsewhere");
        [under, key] = [parts[parseInt(key[0], 16)], key.slice(1)];
        continue;
      }
      const packed = hex(parts[0]);
      const flags = parseInt(packed[0], 16);
      const path = flags % 2 ? packed.slice(1) : packed.slice(2);
      need(parts.length === 2 && key.startsWith(path), "a path that leads elsewhere");
      [under, key] = [parts[1], key.slice(path.length)];
      if (flags >= 2) {
        need(!key && place === nodes.length - 1, "a path that leads elsewhere");
        return under;
      }
    }
    throw new Invalid("a path that ends too soon");
  }

  /** The text of a value that fills a word. */
  function valued(kind, word) {
    const match = /^(?:address|bool|uint(\d+)|bytes(\d+))$/.exec(kind);
    need(match && word && word.length === 32, `a value of type ${kind}`);
    const [, bits, many] = match;
    if (many) {
      const length = Number(many);
      need(length >= 1 && length <= 32 && word.slice(length).every((byte) => !byte), "bytes that do not fit");
      return named(word.slice(0, length));
    }
    const wide = BigInt(bits ?? (kind === "address" ? 160 : 1));
    need(number(word) < 1n << wide, "a number that does not fit its type");
    if (bits) return number(word).toString();
    return kind === "address" ? named(word.slice(12)) : String(number(word) === 1n);
  }

  /** The values of a log by the event's declaration. */
  function eventOf(log, shown) {
    keys(shown, "declaration", "log", "values");
    const [, name, list] = /^event ([A-Za-z_]\w*)\((.*)\)$/s.exec(shown.declaration) ?? [];
    need(name !== undefined, "a declaration of another form");
    const parameters = list.split(", ").map((one) => one.split(" "));
    const signature = `${name}(${parameters.map(([kind]) => kind).join(",")})`;
    const [topic, ...topics] = log[1];
    need(same(topic, keccak(text(signature))) && log[2].length % 32 === 0, "a log of another event");
    const words = Array.from({ length: log[2].length / 32 }, (_, at) => log[2].slice(32 * at, 32 * at + 32));
    const values = new Map();
    for (const [kind, ...rest] of parameters) {
      const own = rest.pop();
      need(/^[A-Za-z_]\w*$/.test(own ?? ""), "a declaration of another form");
      need(!rest.length || (rest.length === 1 && rest[0] === "indexed"), "a declaration of another form");
      need(!values.has(own), "a name that is there twice");
      values.set(own, valued(kind, (rest.length ? topics : words).shift()));
    }
    need(!topics.length && !words.length, "a log of another event");
    return values;
  }

  /** The declaration in its one spelling, if only its blanks are otherwise. */
  const respaced = (declaration) =>
    declaration.trim().replace(/\s+/g, " ").replace(/ ?([(),]) ?/g, "$1").replaceAll(",", ", ");

  // The names that mean the same in an event as in a claim, if the parameter's type begins so.
  const OF_CLAIMS = new Map([
    ["amount", "uint"],
    ["planId", "uint"],
    ["subscribeId", "uint"],
    ["tokenAddress", "address"],
    ["userHash", "bytes32"],
    ["userWallet", "address"],
  ]);

  const isObject = (of) => typeof of === "object" && of !== null && !Array.isArray(of);
  const keys = (of, ...names) =>
    need(isObject(of) && Object.keys(of).sort().join() === names.sort().join(), "fields of another form");
  const isIndex = (of) => Number.isSafeInteger(of) && of >= 0;

  function blob(words) {
    need(typeof words === "string" && /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/.test(words), "no Base64");
    const letters = atob(words);
    need(btoa(letters) === words, "Base64 in another spelling");
    return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  }

  function evm(proof, certificate) {
    keys(proof, "event", "header", "index", "receipt", "transaction");
    const raw = blob(proof.header);
    need(isIndex(proof.index), "an index that is none");
    need(named(keccak(raw)) === certificate.block, "a header of another block");
    const header = rlp(raw);
    const sent = below(header[4], proof.index, proof.transaction.map(blob));
    const receipt = below(header[5], proof.index, proof.receipt.map(blob));
    need(named(keccak(sent)) === certificate.transaction, "another transaction");
    const typed = sent[0] < 0x80;
    need(!typed || (sent[0] >= 1 && sent[0] <= 4 && receipt[0] === sent[0]), "a type that is not known");
    const fields = rlp(typed ? sent.slice(1) : sent);
    const network = typed ? number(fields[0]) : (number(fields[6]) - 35n) / 2n;
    need(network === BigInt(certificate.network), "a transaction of another network");
    const [status, , , logs] = rlp(typed ? receipt.slice(1) : receipt);
    need(same(status, [1]), "a transaction that did not succeed");
    const height = number(header[8]);
    if (proof.event === null) {
      const called = fields[!typed ? 3 : sent[0] === 1 ? 4 : 5];
      need(called.length === 20, "no call of a contract");
      return [height, called, new Map()];
    }
    const log = isIndex(proof.event?.log) ? logs[proof.event.log] : undefined;
    need(log, "an index that is none");
    const values = eventOf(log, proof.event);
    const told = proof.event.values;
    keys(told, ...values.keys());
    need([...values].every(([name, value]) => told[name] === value), "an event of other values");
    return [height, log[0], values];
  }

  /** The fields of a message: numbers and bytes, by tag. */
  function protobuf(data) {
    const fields = new Map();
    for (let rest = data; rest.length; ) {
      const [tag, behind] = varint(rest);
      let [value, left] = varint(behind);
      need([0n, 2n].includes(tag & 7n), "a field of another kind");
      if ((tag & 7n) === 2n) {
        need(BigInt(left.length) >= value, "a message that ends too soon");
        [value, left] = [left.slice(0, Number(value)), left.slice(Number(value))];
      }
      const name = Number(tag >> 3n);
      fields.set(name, [...(fields.get(name) ?? []), value]);
      rest = left;
    }
    return fields;
  }

  function varint(data) {
    let value = 0n;
    for (const [place, byte] of data.entries()) {
      value |= BigInt(byte & 0x7f) << BigInt(7 * place);
      if (byte < 0x80) return [value, data.slice(place + 1)];
    }
    throw new Invalid("a message that ends too soon");
  }

  const only = (list) => {
    need(list?.length === 1, "a message of another form");
    return list[0];
  };
  const first = (list) => {
    need(list?.length > 0, "a message of another form");
    return list[0];
  };

  function tvm(proof, certificate) {
    keys(proof, "headers", "message", "path");
    let [parent, height, top] = [];
    for (const [place, signed] of proof.headers.entries()) {
      keys(signed, "raw", "signature");
      blob(signed.signature);
      const raw = blob(signed.raw);
      const fields = protobuf(raw);
      const high = first(fields.get(7)).toString(16).padStart(16, "0");
      need(high.length === 16, "a header of another form");
      const id = joined(high.match(/../g).map((byte) => parseInt(byte, 16)), sha256(raw).slice(8));
      need(!place || same(parent, first(fields.get(3))), "headers that do not stand on each other");
      if (!place) {
        need(named(id) === certificate.block, "a header of another block");
        [height, top] = [first(fields.get(7)), first(fields.get(2))];
      }
      parent = id;
    }
    need(top !== undefined, "no header");
    const message = blob(proof.message);
    need(message.length !== 64, "a node in the place of a transaction");
    let node = sha256(message);
    for (const branch of proof.path) {
      const [side, words] = only(Object.entries(branch));
      const digest = blob(words);
      need(["left", "right"].includes(side) && digest.length === 32, "a path of another form");
      node = sha256(side === "left" ? joined(digest, node) : joined(node, digest));
    }
    need(same(node, top), "a path that leads elsewhere");
    const fields = protobuf(message);
    const raw = first(fields.get(1));
    need(named(sha256(raw)) === certificate.transaction, "another transaction");
    const [result, call] = [protobuf(first(fields.get(5))), protobuf(only(protobuf(raw).get(11)))];
    const is = (list, value) => list.length === 1 && list[0] === value;
    // Nodes judge this field of the first result; the rest is whatever the relay of the transaction filled in.
    need(is(result.get(3) ?? [], 1n), "a transaction that did not succeed");
    need(is(call.get(1) ?? [], 31n), "no call of a contract");
    const parameter = protobuf(first(call.get(2)));
    const called = first(protobuf(first(parameter.get(2))).get(2));
    need(called.length === 21 && called[0] === 0x41, "no call of a contract");
    return [height, called.slice(1), new Map()];
  }

  /** Text by the code points of which it is made, and not by their halves. */
  const byCodePoint = (one, other) => {
    const [ones, others] = [[...one], [...other]];
    const at = ones.findIndex((letter, place) => letter !== others[place]);
    if (at < 0) return ones.length - others.length;
    return at < others.length ? ones[at].codePointAt(0) - others[at].codePointAt(0) : 1;
  };

  /** The one text of a value: fields by name, no spaces. */
  function plain(of) {
    if (Array.isArray(of)) return `[${of.map(plain).join(",")}]`;
    if (!isObject(of)) return JSON.stringify(of);
    const fields = Object.keys(of).sort(byCodePoint).map((name) => `${JSON.stringify(name)}:${plain(of[name])}`);
    return `{${fields.join(",")}}`;
  }

  /**
   * Returns all that a certificate shows to whoever trusts the block of this hash, if its event has this declaration;
   * throws where it proves nothing.
   */
  return (words, trusted, event) => {
    const read = JSON.parse(words);
    keys(read, "block", "claim", "digest", "history", "network", "proof", "schema", "transaction");
    need(read.schema === "charge-certificate/1", "a form that is not known");
    need(plain(read) === words, "another spelling");
    need(isIndex(read.network) && /^0x[0-9a-f]{64}$/.test(read.history), "another form");
    need(isObject(read.claim) && Object.values(read.claim).every((said) => typeof said === "string"), "another form");
    const { digest, ...bare } = read;
    need(named(sha256(text(plain(bare)))) === digest, "altered since it was written");
    need(read.block === trusted, `of block ${read.block}, which is not the trusted one`);
    const [family, proof] = only(Object.entries(read.proof));
    need(["evm", "tvm"].includes(family), "a family that is not known");
    const [height, called, values] = { evm, tvm }[family](proof, read);
    const contract = named(called);
    const declaration = proof.event?.declaration ?? null;
    const given = event === undefined || respaced(event) === declaration;
    need(given, `its event is declared as ${declaration}, which is not the declaration given`);
    const stated = new Map([["contract", contract]]);
    for (const [, kind, name] of (declaration ?? "").matchAll(/(\w+) (?:indexed )?(\w+)[,)]/g)) {
      if (OF_CLAIMS.has(name) && kind.startsWith(OF_CLAIMS.get(name))) stated.set(name, values.get(name));
    }
    need(Object.hasOwn(read.claim, "contract"), "a claim without its contract");
    for (const [name, said] of Object.entries(read.claim)) {
      need((stated.get(name) ?? said) === said, `a claim that says otherwise of ${name} than the block`);
    }
    const block = { number: Number(height), transaction: read.transaction, contract };
    return { ...block, declaration, event: Object.fromEntries(values) };
  };
})();
