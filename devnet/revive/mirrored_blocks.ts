/**
 * The Substrate side of an EVM chain with pallet-revive: a block for each block of an anvil, with the same number and time,
 * whose state holds what contracts store there. Changes are what the anvil's tracer tells of each block, so storage that is
 * set by anvil's own methods is not seen. Start reading at {@link MirroredBlocks.catchUp}.
 */
import { xxhashAsU8a } from "@polkadot/util-crypto";
import { concatBytes, type Hash256, type Hex, toHash256 } from "../../src/core/encoding/bytes.ts";
import { u64 } from "../../src/core/encoding/scale.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { ChainError, type SimulatedBlock } from "../hub/block_history.ts";
import { digestItem, hashHeader } from "../hub/digest.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import type { ServedChain } from "../hub/node.ts";
import type { Snapshot } from "../hub/storage.ts";
import { SubstrateTrie } from "../trie/substrate_trie.ts";
import { ContractTries, type SlotChanges } from "./contract_tries.ts";

/** Milliseconds of the chain's slots: every second has one. */
export const REVIVE_SLOT_MS = 1_000n;

const TIMESTAMP_KEY = concatBytes(xxhashAsU8a("Timestamp", 128), xxhashAsU8a("Now", 128));
const NO_CHILD = SubstrateTrie.empty({ layout: "V1", hasher: "Blake2" });
const NO_HASH: Hash256 = `0x${"00".repeat(32)}`;

/** A block with its state, and the block of the anvil that it stands for. */
interface MirroredBlock {
  readonly block: SimulatedBlock;
  readonly tries: ContractTries;
  readonly evmHash: string;
}

/** Block of the anvil, as far as it is needed. */
interface EvmBlock {
  readonly hash: string;
  readonly timestampSec: bigint;
  readonly hasTransactions: boolean;
}

/** The chain so far. */
export class MirroredBlocks implements ServedChain {
  readonly #rpcUrl: string;
  #blocks: MirroredBlock[] = [];
  #finalized = 0;
  #catching: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param rpcUrl of the anvil. */
  constructor(rpcUrl: string) {
    this.#rpcUrl = rpcUrl;
  }

  /** Makes the blocks up to what is the anvil's head now. */
  catchUp(): Promise<void> {
    if (this.#catching === undefined) {
      this.#catching = this.#follow().finally(() => this.#catching = undefined);
      return this.#catching;
    }
    // The one that is under way may have read the head before.
    this.#next ??= this.#catching.catch(() => undefined).then(() => {
      this.#next = undefined;
      return this.catchUp();
    });
    return this.#next;
  }

  get best(): SimulatedBlock {
    return this.#at(this.#blocks.length - 1).block;
  }

  get finalized(): SimulatedBlock {
    return this.#at(this.#finalized).block;
  }

  /** Number of the newest final block. */
  get finalNumber(): number {
    return this.#finalized;
  }

  /** Contracts after a block. */
  tries(number: number): ContractTries {
    return this.#at(number).tries;
  }

  find(hash: Hash256): SimulatedBlock | undefined {
    return this.#blocks.find(({ block }) => block.hash === hash)?.block;
  }

  findNumber(number: number): SimulatedBlock | undefined {
    return this.#blocks[number]?.block;
  }

  blockAt(number: number): SimulatedBlock {
    return this.#at(number).block;
  }

  block(hash: Hash256): SimulatedBlock {
    const found = this.find(hash);
    if (found === undefined) throw new ChainError("unknown_block", hash);
    return found;
  }

  stateOf({ header }: SimulatedBlock): Snapshot {
    return { main: this.tries(header.number).main, child: NO_CHILD };
  }

  #at(number: number): MirroredBlock {
    const found = this.#blocks[number];
    if (found === undefined) throw new ChainError("unknown_block", String(number));
    return found;
  }

  async #follow(): Promise<void> {
    const head = Number(await this.#ask("eth_blockNumber", []));
    await this.#cutToFork(Math.min(head, this.#blocks.length - 1));
    while (this.#blocks.length <= head) await this.#append(this.#blocks.length);
    const final = await this.#ask("eth_getBlockByNumber", ["finalized", false]);
    this.#finalized = Math.min(Number(fieldOf(final, "number")), this.#blocks.length - 1);
  }

  /** Forgets what the anvil does not have any more. */
  async #cutToFork(from: number): Promise<void> {
    let last = from;
    while (last >= 0 && (await this.#readBlock(last)).hash !== this.#at(last).evmHash) last--;
    this.#blocks = this.#blocks.slice(0, last + 1);
  }

  async #append(number: number): Promise<void> {
    const evm = await this.#readBlock(number);
    const parent = this.#blocks[number - 1];
    const changes = evm.hasTransactions ? await this.#readChanges(number) : new Map();
    const tries = (parent?.tries ?? ContractTries.empty()).change(changes)
      .put(TIMESTAMP_KEY, u64.enc(evm.timestampSec * 1_000n));
    const header = {
      parentHash: parent?.block.hash ?? NO_HASH,
      number,
      stateRoot: tries.root,
      // Told apart from others of the same state by the block that it stands for.
      extrinsicsRoot: toHash256(evm.hash),
      digest: [
        digestItem("preRuntime", "aura", u64.enc(evm.timestampSec * 1_000n / REVIVE_SLOT_MS)),
        digestItem("seal", "aura", new Uint8Array(64)),
      ],
    };
    const block = { header, hash: hashHeader(header, "Blake2"), body: undefined };
    this.#blocks.push({ block, tries, evmHash: evm.hash });
  }

  async #readBlock(number: number): Promise<EvmBlock> {
    const found = await this.#ask("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
    const transactions = fieldOf(found, "transactions");
    return {
      hash: String(fieldOf(found, "hash")),
      timestampSec: BigInt(String(fieldOf(found, "timestamp"))),
      hasTransactions: Array.isArray(transactions) && transactions.length > 0,
    };
  }

  async #readChanges(number: number): Promise<SlotChanges> {
    const options = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
    const traces = await this.#ask("debug_traceBlockByNumber", [`0x${number.toString(16)}`, options]);
    if (!Array.isArray(traces)) throw new Error("The node does not trace blocks");
    const changes = new Map<Hex, Map<Hash256, bigint>>();
    for (const trace of traces) addChanges(changes, fieldOf(trace, "result"));
    return changes;
  }

  #ask(method: string, params: readonly unknown[]): Promise<unknown> {
    return resultHttp(this.#rpcUrl, method, params);
  }
}

/** Adds what a transaction changed: slots that were there before and are not afterwards have become 0. */
function addChanges(changes: Map<Hex, Map<Hash256, bigint>>, difference: unknown): void {
  const [pre, post] = [fieldOf(difference, "pre"), fieldOf(difference, "post")];
  for (const [state, isAfter] of [[pre, false], [post, true]] as const) {
    for (const [address, account] of entriesOf(state)) {
      const slots = entriesOf(fieldOf(account, "storage"));
      const isNewContract = isAfter && fieldOf(account, "code") !== undefined;
      if (slots.length === 0 && !isNewContract) continue;
      const contract = toAddress(address);
      const known = changes.get(contract) ?? new Map<Hash256, bigint>();
      changes.set(contract, known);
      for (const [slot, value] of slots) {
        known.set(
          toHash256(BigInt(slot).toString(16).padStart(64, "0")),
          isAfter ? BigInt(String(value)) : 0n,
        );
      }
    }
  }
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function fieldOf(value: unknown, name: string): unknown {
  return entriesOf(value).find(([each]) => each === name)?.[1];
}
