// Compiles the contracts and writes the artefacts that the tests and the Signer embed.
//
//   node tests/contracts/build.mjs           write them
//   node tests/contracts/build.mjs --check   compile again and name every artefact that differs

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const artifacts = join(here, "artifacts");
const solc = createRequire(join(root, "tests", "node", "package.json"))("solc");

// Both chain families run this: TRON need not know any opcode younger than `paris`. No metadata in the
// bytecode, so that a comment does not change an artefact.
const settings = {
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: "none" },
};

// Its gas is what a merchant pays for.
const thrifty = { ...settings, viaIR: true, optimizer: { enabled: true, runs: 20_000 } };
// Yul is optimised only where that is said of it by name.
const yul = { ...settings, optimizer: { enabled: true, runs: 200, details: { yul: true } } };
const settingsOf = (path) =>
  path.endsWith(".yul") ? yul : path.endsWith("Billing.sol") ? thrifty : settings;

// What the Signer embeds: the code alone, beside its source.
const embedded = ["crates/chain/src/evm/Aggregate.sol", "crates/chain/src/reads/Reader.yul"];
const sources = readdirSync(here)
  .filter((name) => name.endsWith(".sol"))
  .sort()
  .map((name) => relative(root, join(here, name)))
  .concat(embedded);

function compile() {
  const apart = sources.map(compileOne);
  return Object.assign({}, ...apart);
}

function compileOne(source) {
  const input = {
    language: source.endsWith(".yul") ? "Yul" : "Solidity",
    sources: { [source]: { content: readFileSync(join(root, source), "utf8") } },
    settings: {
      ...settingsOf(source),
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  // A warning is a finding too: none is let through.
  for (const finding of output.errors ?? []) console.error(finding.formattedMessage);
  if (output.errors?.length) process.exit(1);
  return output.contracts;
}

/** Every file that the build makes, path to text. */
function outputs() {
  const files = new Map();
  for (const [path, contracts] of Object.entries(compile())) {
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      if (!evm.bytecode.object) continue; // interfaces and abstract contracts
      if (embedded.includes(path)) {
        files.set(join(root, path.replace(/\.\w+$/, ".hex")), `${evm.bytecode.object}\n`);
        continue;
      }
      const artefact = {
        contractName,
        compiler: solc.version(),
        settings: settingsOf(path),
        abi,
        bytecode: `0x${evm.bytecode.object}`,
        deployedBytecode: `0x${evm.deployedBytecode.object}`,
      };
      files.set(join(artifacts, `${contractName}.json`), `${JSON.stringify(artefact, null, 1)}\n`);
    }
  }
  return files;
}

function current(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function committed() {
  try {
    return readdirSync(artifacts).map((name) => join(artifacts, name));
  } catch {
    return [];
  }
}

const files = outputs();
const strays = committed().filter((path) => !files.has(path));

if (process.argv.includes("--check")) {
  const stale = [...files].filter(([path, text]) => current(path) !== text).map(([path]) => path);
  for (const path of stale) console.error(`differs from its source: ${relative(root, path)}`);
  for (const path of strays) console.error(`has no source: ${relative(root, path)}`);
  process.exit(stale.length + strays.length ? 1 : 0);
}

mkdirSync(artifacts, { recursive: true });
for (const [path, text] of files) writeFileSync(path, text);
for (const path of strays) rmSync(path);
console.log(`wrote ${files.size} files with solc ${solc.version()}`);
