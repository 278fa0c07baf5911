/**
 * A Heimdall chain in memory, which answers as a node does: blocks with votes, validators that change, and a state in
 * which milestones name blocks of Bor.
 */
import { concatBytes } from "../../src/core/encoding/bytes.ts";
import { Buffer } from "node:buffer";
import { type HeimdallSigner, inOrder, setHash, signerKeys, signVote } from "./signers.ts";
import {
  bytesField,
  existenceProof,
  fixedField,
  iavlLeafPrefix,
  iavlTree,
  numberField,
  sha256Parts,
  simpleTree,
  sized,
  type StoreItem,
  textField,
} from "./wire.ts";

/** How the chain is made. */
export interface HeimdallChainOptions {
  /** Chain id of Bor. */
  readonly borChainId: number;
  /** Validators of a block; default: {@link usualSigners} of every block. */
  readonly signersOf?: (height: bigint) => readonly HeimdallSigner[];
  /** Keys of those that do not vote for a block; default: none. */
  readonly silentAt?: (height: bigint) => readonly number[];
  /** Lowest block that it still has; default 1. */
  readonly lowest?: bigint;
  /** Unix time of a new block, milliseconds; default: two seconds after the one before. */
  readonly nowMs?: () => number;
}

/** Block of Bor that a milestone makes final. */
export interface BorBlock {
  readonly number: bigint;
  /** `0x` and 64 digits. */
  readonly hash: string;
}

/** A refusal as nodes give it. */
export class HeimdallRefusal extends Error {
  override readonly name = "HeimdallRefusal";
  constructor(readonly code: number, message: string, readonly data: string) {
    super(message);
  }
}

/** JSON that a node answers. */
type NodeJson = null | boolean | number | string | readonly NodeJson[] | {
  readonly [name: string]: NodeJson;
};

/** Four validators of equal power, and a weak one. */
export const usualSigners: readonly HeimdallSigner[] = [
  { key: 1, power: 100n },
  { key: 2, power: 100n },
  { key: 3, power: 100n },
  { key: 4, power: 100n },
  { key: 5, power: 1n },
];

/** Unix time of the first block, seconds. */
export const HEIMDALL_START_SEC = 1_780_000_000n;
/** Time between blocks, seconds. */
const BLOCK_SEC = 2n;

/** Stores of the state beside that of the milestones. */
const OTHER_STORES = ["bank", "bor", "checkpoint", "stake"];

interface HeimdallBlock {
  readonly header: { readonly [name: string]: NodeJson };
  readonly hash: Uint8Array;
  readonly partsHash: Uint8Array;
  readonly time: BlockTime;
}

interface BlockTime {
  readonly seconds: bigint;
  readonly nanos: number;
}

interface MadeMilestone {
  readonly block: BorBlock;
  readonly inBlock: bigint;
  readonly value: Uint8Array;
}

/** State after a block: the milestones' store among the others. */
interface HeimdallState {
  readonly items: readonly StoreItem[];
  readonly storeRoots: ReadonlyMap<string, Uint8Array>;
  readonly root: Uint8Array;
}

const hex = (bytes: Uint8Array): string => bytes.toHex().toUpperCase();
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** A chain. */
export class HeimdallChain {
  /** Name of the chain. */
  readonly chainId: string;
  readonly #options: HeimdallChainOptions;
  readonly #blocks: HeimdallBlock[] = [];
  readonly #milestones: MadeMilestone[] = [];
  readonly #states = new Map<number, HeimdallState>();
  /** True: the node says that it is still syncing. */
  isSyncing = false;

  constructor(options: HeimdallChainOptions) {
    this.#options = options;
    this.chainId = `heimdallv2-${options.borChainId}`;
  }

  /** Height of the newest block. */
  get head(): bigint {
    return BigInt(this.#blocks.length);
  }

  /** Unix time of a block, whole seconds; of a block to come what it will have without a clock. */
  timeOf(height: bigint): bigint {
    return this.#blocks[Number(height) - 1]?.time.seconds ?? HEIMDALL_START_SEC + height * BLOCK_SEC;
  }

  #newTime(height: bigint): BlockTime {
    const { nowMs } = this.#options;
    if (nowMs === undefined) {
      return { seconds: this.timeOf(height), nanos: Number(height * 7_919n % 1_000n) * 1_000_000 };
    }
    const ms = Math.floor(nowMs());
    return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: ms % 1_000 * 1_000_000 };
  }

  /** Adds a block. @param borBlock what a new milestone in it makes final; absent: it has none. */
  addBlock(borBlock?: BorBlock): void {
    const height = this.head + 1n;
    const before = this.#blocks.at(-1);
    this.#blocks.push(this.#makeBlock(height, before));
    if (borBlock !== undefined) this.#addMilestone(borBlock, height);
  }

  /** Adds blocks without milestones up to this height. */
  growTo(height: bigint): void {
    while (this.head < height) this.addBlock();
  }

  /** Answers a call. @throws {HeimdallRefusal} */
  answer(method: string, params: readonly unknown[]): NodeJson {
    switch (method) {
      case "status":
        return this.#status();
      case "commit":
        return this.#commit(BigInt(String(params[0])));
      case "validators":
        return this.#validators(BigInt(String(params[0])), Number(params[1]), Number(params[2]));
      case "abci_query":
        return this.#query(
          String(params[0]),
          String(params[1]),
          BigInt(String(params[2])),
          params[3] === true,
        );
      default:
        throw new HeimdallRefusal(-32601, "Method not found", "");
    }
  }

  #signersOf(height: bigint): readonly HeimdallSigner[] {
    return inOrder(this.#options.signersOf?.(height) ?? usualSigners);
  }

  #addMilestone(block: BorBlock, inBlock: bigint): void {
    const start = (this.#milestones.at(-1)?.block.number ?? block.number - 1n) + 1n;
    const hash = Uint8Array.fromHex(block.hash.slice(2));
    const value = concatBytes(
      textField(1, `0x${signerKeys(1).address.toHex()}`),
      numberField(2, start),
      numberField(3, block.number),
      bytesField(4, hash),
      textField(5, `${this.#options.borChainId}`),
      textField(6, hash.toHex()),
      numberField(7, this.timeOf(inBlock)),
      numberField(8, block.number * 3n),
    );
    this.#milestones.push({ block, inBlock, value });
  }

  /** State after a block. */
  #stateAfter(height: bigint): HeimdallState {
    const count = this.#milestones.filter(({ inBlock }) => inBlock <= height).length;
    const known = this.#states.get(count);
    if (known !== undefined) return known;
    const items = storeItems(this.#milestones.slice(0, count));
    const storeRoots = new Map(
      OTHER_STORES.map((name) => [name, sha256Parts(new TextEncoder().encode(name))]),
    );
    storeRoots.set("milestone", iavlTree(items).root);
    const { root } = simpleTree(storeLeaves(storeRoots));
    const state = { items, storeRoots, root };
    this.#states.set(count, state);
    return state;
  }

  #makeBlock(height: bigint, before: HeimdallBlock | undefined): HeimdallBlock {
    const nothing = sha256Parts();
    const proposer = this.#signersOf(height)[0]?.key ?? 1;
    const { seconds, nanos } = this.#newTime(height);
    const lastId = before === undefined ? bytesField(2) : blockIdBytes(before.hash, before.partsHash);
    const hashes = {
      last_commit_hash: before === undefined ? nothing : sha256Parts(before.hash),
      data_hash: sha256Parts(new TextEncoder().encode(`data ${height}`)),
      validators_hash: setHash(this.#signersOf(height)),
      next_validators_hash: setHash(this.#signersOf(height + 1n)),
      consensus_hash: sha256Parts(new TextEncoder().encode("parameters")),
      app_hash: this.#stateAfter(height - 1n).root,
      last_results_hash: nothing,
      evidence_hash: nothing,
      proposer_address: signerKeys(proposer).address,
    };
    const { root: hash } = simpleTree([
      numberField(1, 11),
      textField(1, this.chainId),
      numberField(1, height),
      concatBytes(numberField(1, seconds), numberField(2, nanos)),
      lastId,
      ...Object.values(hashes).map((value) => bytesField(1, value)),
    ]);
    const header = {
      version: { block: "11" },
      chain_id: this.chainId,
      height: `${height}`,
      time: rfc3339(seconds, nanos),
      last_block_id: before === undefined
        ? { hash: "", parts: { total: 0, hash: "" } }
        : { hash: hex(before.hash), parts: { total: 1, hash: hex(before.partsHash) } },
      ...Object.fromEntries(Object.entries(hashes).map(([name, value]) => [name, hex(value)])),
    };
    return { header, hash, partsHash: sha256Parts(hash), time: { seconds, nanos } };
  }

  #status(): NodeJson {
    const { lowest = 1n } = this.#options;
    const newest = this.#blocks.at(-1);
    return {
      node_info: {
        protocol_version: { p2p: "8", block: "11", app: "0" },
        network: this.chainId,
        version: "0.38.19",
        moniker: "devnet",
      },
      sync_info: {
        latest_block_hash: newest === undefined ? "" : hex(newest.hash),
        latest_block_height: `${this.head}`,
        earliest_block_height: `${lowest}`,
        catching_up: this.isSyncing,
      },
      validator_info: { address: "", pub_key: null, voting_power: "0" },
    };
  }

  #require(height: bigint, newest: bigint): void {
    const { lowest = 1n } = this.#options;
    const refuse = (reason: string): never => {
      throw new HeimdallRefusal(-32603, "Internal error", reason);
    };
    if (height > newest) {
      refuse(`height ${height} must be less than or equal to the current blockchain height ${newest}`);
    }
    if (height < lowest) refuse(`height ${height} is not available, lowest height is ${lowest}`);
  }

  #commit(height: bigint): NodeJson {
    this.#require(height, this.head);
    const block = this.#blocks[Number(height) - 1];
    if (block === undefined) throw new RangeError(`No block ${height}`);
    const silent = this.#options.silentAt?.(height) ?? [];
    const signatures = this.#signersOf(height).map(({ key }, index): NodeJson => {
      if (silent.includes(key)) {
        return {
          block_id_flag: 1,
          validator_address: "",
          timestamp: "0001-01-01T00:00:00Z",
          signature: null,
        };
      }
      const seconds = this.timeOf(height) + 1n;
      const nanos = 500_000_000 + index;
      const message = sized(concatBytes(
        numberField(1, 2),
        fixedField(2, height),
        bytesField(4, blockIdBytes(block.hash, block.partsHash)),
        bytesField(5, concatBytes(numberField(1, seconds), numberField(2, nanos))),
        textField(6, this.chainId),
      ));
      return {
        block_id_flag: 2,
        validator_address: hex(signerKeys(key).address),
        timestamp: rfc3339(seconds, nanos),
        signature: base64(signVote(key, message)),
      };
    });
    const blockId = { hash: hex(block.hash), parts: { total: 1, hash: hex(block.partsHash) } };
    return {
      signed_header: {
        header: block.header,
        commit: { height: `${height}`, round: 0, block_id: blockId, signatures },
      },
      canonical: height < this.head,
    };
  }

  #validators(height: bigint, page: number, perPage: number): NodeJson {
    this.#require(height, this.head + 1n);
    const all = this.#signersOf(height);
    const size = Math.min(perPage, 100);
    const pages = Math.max(1, Math.ceil(all.length / size));
    if (page < 1 || page > pages) {
      const reason = `page should be within [1, ${pages}] range, given ${page}`;
      throw new HeimdallRefusal(-32603, "Internal error", reason);
    }
    const validators = all.slice((page - 1) * size, page * size).map(({ key, power }): NodeJson => ({
      address: hex(signerKeys(key).address),
      pub_key: { type: "cometbft/PubKeySecp256k1eth", value: base64(signerKeys(key).publicKey) },
      voting_power: `${power}`,
      proposer_priority: "0",
    }));
    return {
      block_height: `${height}`,
      validators,
      count: `${validators.length}`,
      total: `${all.length}`,
    };
  }

  #query(path: string, keyHex: string, height: bigint, isProven: boolean): NodeJson {
    const { lowest = 1n } = this.#options;
    if (height < lowest || height >= this.head) {
      const log = `failed to load state at height ${height}; version does not exist`;
      return { response: { code: 38, log, value: null, proofOps: null, height: "0" } };
    }
    const key = Uint8Array.fromHex(keyHex);
    const { items, storeRoots } = this.#stateAfter(height);
    const index = path === "/store/milestone/key"
      ? items.findIndex((item) => hex(item.key) === hex(key))
      : -1;
    const item = items[index];
    if (item === undefined) return { response: { code: 0, log: "", value: null, height: `${height}` } };
    const ops = isProven ? proofOps(items, index, storeRoots) : null;
    return {
      response: {
        code: 0,
        log: "",
        key: base64(key),
        value: base64(item.value),
        proofOps: ops,
        height: `${height}`,
      },
    };
  }
}

/** What nodes write of a moment: without zeros at the end. */
function rfc3339(seconds: bigint, nanos: number): string {
  const whole = new Date(Number(seconds) * 1_000).toISOString().slice(0, 19);
  const fraction = `${nanos}`.padStart(9, "0").replace(/0+$/, "");
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`;
}

function blockIdBytes(hash: Uint8Array, partsHash: Uint8Array): Uint8Array {
  return concatBytes(
    bytesField(1, hash),
    bytesField(2, concatBytes(numberField(1, 1), bytesField(2, partsHash))),
  );
}

function bigEndian(value: bigint): Uint8Array {
  const eight = new Uint8Array(8);
  new DataView(eight.buffer).setBigUint64(0, value);
  return eight;
}

/** Entries of the milestones' store, by ascending key. */
function storeItems(milestones: readonly MadeMilestone[]): readonly StoreItem[] {
  const params = { key: Uint8Array.of(0x80), value: Uint8Array.of(8, 10), version: 1n };
  const version = milestones.at(-1)?.inBlock;
  if (version === undefined) return [params];
  return [
    params,
    ...milestones.map(({ value, inBlock }, index) => ({
      key: concatBytes(Uint8Array.of(0x81), bigEndian(BigInt(index + 1))),
      value,
      version: inBlock,
    })),
    { key: Uint8Array.of(0x83), value: bigEndian(BigInt(milestones.length)), version },
    { key: Uint8Array.of(0x84), value: bigEndian(version), version },
  ];
}

function storeLeaves(roots: ReadonlyMap<string, Uint8Array>): readonly Uint8Array[] {
  return [...roots].sort(([a], [b]) => a < b ? -1 : 1).map(([name, root]) =>
    concatBytes(sized(new TextEncoder().encode(name)), sized(sha256Parts(root)))
  );
}

function proofOps(
  items: readonly StoreItem[],
  index: number,
  storeRoots: ReadonlyMap<string, Uint8Array>,
): NodeJson {
  const item = items[index];
  const storeRoot = storeRoots.get("milestone");
  const names = [...storeRoots.keys()].sort();
  const iavlPath = iavlTree(items).paths[index];
  const storePath = simpleTree(storeLeaves(storeRoots)).paths[names.indexOf("milestone")];
  if (item === undefined || storeRoot === undefined || iavlPath === undefined || storePath === undefined) {
    throw new RangeError("No such entry");
  }
  const name = new TextEncoder().encode("milestone");
  const ofItem = existenceProof({ ...item, prefix: iavlLeafPrefix(item) }, iavlPath);
  const ofStore = existenceProof({ key: name, value: storeRoot, prefix: Uint8Array.of(0) }, storePath);
  return {
    ops: [
      { type: "ics23:iavl", key: base64(item.key), data: base64(ofItem) },
      { type: "ics23:simple", key: base64(name), data: base64(ofStore) },
    ],
  };
}
