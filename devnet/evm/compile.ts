/**
 * Compiles the devnet's Solidity contracts with solc from npm, once per content.
 * Results live in `build/contracts/<hash of sources and settings>.json`; deleting that folder is always safe.
 */
import { type Abi, type Hex, keccak256, toBytes } from "viem";

/** Exact compiler version, part of the cache key; the import map pins the same. */
const SOLC_VERSION = "0.8.37";

/** Compiler settings. The legacy pipeline takes 4 s for all contracts, via-IR 11 s. */
const SETTINGS = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  outputSelection: {
    "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", "storageLayout"] },
  },
} as const;

/** The proof library of the live contracts, as sources import it, and where npm has put it. */
const LIBRARY = "@polytope-labs/solidity-merkle-trees/";
const LIBRARY_FOLDER = new URL("./", import.meta.resolve("solidity-merkle-trees/package.json"));

const SOURCES = new URL("../contracts/", import.meta.url);
const CACHE = new URL("../../build/contracts/", import.meta.url);

/** Every contract that can be deployed. */
export const CONTRACT_NAMES = [
  "AggregateVerifier",
  "AnchorStateRegistry",
  "ApkRouter",
  "ArbGasInfo",
  "BoldRollup",
  "ConsensusRouter",
  "DisputeGameFactory",
  "EcdsaBeefy",
  "FaultDisputeGame",
  "FeeToken",
  "GasPriceOracle",
  "Handler",
  "Host",
  "HostManager",
  "Hostile",
  "L2OutputOracle",
  "NodeRollup",
  "PassThroughVerifier",
  "Ping",
  "PriceRouter",
  "SuccinctDisputeGame",
  "SuperFaultDisputeGame",
  "SuperPermissionedDisputeGame",
] as const;

/** Name of one deployable contract. */
export type ContractName = typeof CONTRACT_NAMES[number];

/** One storage variable as solc lays it out. */
export interface StorageVariable {
  readonly label: string;
  /** Decimal slot number. */
  readonly slot: string;
  readonly type: string;
}

/** What the compiler made of one contract. */
export interface Artifact {
  readonly abi: Abi;
  /** Creation code without constructor arguments. */
  readonly bytecode: Hex;
  readonly deployedBytecode: Hex;
  readonly storage: readonly StorageVariable[];
}

/** All artifacts by contract name. */
export type Artifacts = Readonly<Record<ContractName, Artifact>>;

/** Solidity did not compile; the message holds what the compiler printed. */
export class CompileFault extends Error {
  override readonly name = "CompileFault";
}

let inProcess: Promise<Artifacts> | undefined;

/**
 * The compiled contracts: from this process, else from the cache folder, else from the compiler (about 4 s).
 * Safe to call from several processes at once: one compiles, the others wait for its result.
 * @throws {CompileFault} when the sources do not compile.
 */
export function compileContracts(): Promise<Artifacts> {
  inProcess ??= readOrCompile();
  return inProcess;
}

async function readOrCompile(): Promise<Artifacts> {
  const sources = await readSources();
  const key = keccak256(toBytes(JSON.stringify([SOLC_VERSION, SETTINGS, LIBRARY_FOLDER, sources]))).slice(
    2,
    34,
  );
  const cached = new URL(`${key}.json`, CACHE);
  const before = await readCached(cached);
  if (before !== undefined) return before;

  await Deno.mkdir(CACHE, { recursive: true });
  using lock = await Deno.open(new URL(".lock", CACHE), { create: true, write: true });
  await lock.lock(true);
  const meanwhile = await readCached(cached);
  if (meanwhile !== undefined) return meanwhile;
  const artifacts = await runCompiler(sources);
  // Renamed into place, so a reader never sees half a file.
  const partial = new URL(`${key}.${Deno.pid}.partial`, CACHE);
  await Deno.writeTextFile(partial, JSON.stringify(artifacts));
  await Deno.rename(partial, cached);
  return artifacts;
}

async function readSources(): Promise<Record<string, { content: string }>> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(SOURCES)) {
    if (entry.name.endsWith(".sol")) names.push(entry.name);
  }
  const sources: Record<string, { content: string }> = {};
  for (const name of names.sort()) {
    sources[name] = { content: await Deno.readTextFile(new URL(name, SOURCES)) };
  }
  return sources;
}

async function readCached(file: URL): Promise<Artifacts | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

interface CompilerOutput {
  readonly errors?: readonly {
    readonly formattedMessage: string;
    readonly sourceLocation?: { readonly file: string };
  }[];
  readonly contracts: Readonly<Record<string, Readonly<Record<string, CompilerContract>>>>;
}

interface CompilerContract {
  readonly abi: Abi;
  readonly evm: {
    readonly bytecode: { readonly object: string };
    readonly deployedBytecode: { readonly object: string };
  };
  readonly storageLayout: { readonly storage: readonly StorageVariable[] };
}

async function runCompiler(sources: Record<string, { content: string }>): Promise<Artifacts> {
  // Loaded only here: it is 9 MB of JavaScript.
  const { default: solc } = await import("solc");
  const input = JSON.stringify({ language: "Solidity", sources, settings: SETTINGS });
  const output: CompilerOutput = JSON.parse(solc.compile(input, { import: readLibrary }));
  // Warnings about our sources count as errors, so none can pile up.
  const errors = (output.errors ?? []).filter(({ sourceLocation }) =>
    !sourceLocation?.file.startsWith(LIBRARY)
  );
  if (errors.length > 0) {
    throw new CompileFault(errors.map((each) => each.formattedMessage).join("\n"));
  }
  const found = new Map<string, Artifact>();
  for (const contracts of Object.values(output.contracts)) {
    for (const [name, contract] of Object.entries(contracts)) found.set(name, toArtifact(contract));
  }
  const pick = (name: ContractName): Artifact => {
    const artifact = found.get(name);
    if (artifact === undefined) throw new CompileFault(`No contract named ${name}`);
    return artifact;
  };
  return Object.fromEntries(CONTRACT_NAMES.map((name) => [name, pick(name)])) as Artifacts;
}

function readLibrary(path: string): { readonly contents: string } | { readonly error: string } {
  if (!path.startsWith(LIBRARY)) return { error: `No source ${path}` };
  return { contents: Deno.readTextFileSync(new URL(path.slice(LIBRARY.length), LIBRARY_FOLDER)) };
}

function toArtifact(contract: CompilerContract): Artifact {
  return {
    abi: contract.abi,
    bytecode: `0x${contract.evm.bytecode.object}`,
    deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
    storage: contract.storageLayout.storage.map(({ label, slot, type }) => ({ label, slot, type })),
  };
}
