/**
 * The chain of the simulated hub: how blocks are built.
 */
import { type Hash256, type Hex } from "../../src/core/encoding/bytes.ts";
import { emptySnapshot, type Snapshot } from "./storage.ts";
import { compact } from "scale-ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import { ScaleError, u64 } from "../../src/core/encoding/scale.ts";
import { SubstrateTrie } from "../trie/substrate_trie.ts";
import { BlockHistory, type HistoryOptions, type SimulatedBlock, zeroHash } from "./block_history.ts";
import { digestItem } from "./digest.ts";
import type { IsmpPallet } from "./pallets/ismp.ts";
import { finalizeBlock, initializeBlock, timestampInherent } from "./pallets/system.ts";
import { type ApplyResult, type Execution, type SimulatedRuntime, ValidityError } from "./runtime.ts";

/** Digest item of a block that brings another runtime (`RuntimeEnvironmentUpdated`). */
const RUNTIME_UPDATED = Uint8Array.of(8);

/** An extrinsic that is to go into the next block. */
export interface PendingExtrinsic {
  readonly hash: Hash256;
  readonly bytes: Uint8Array;
}

/** What became of each candidate. Those that did not fit are in neither list. */
export interface BuiltBlock {
  readonly block: SimulatedBlock;
  readonly included: readonly { readonly candidate: PendingExtrinsic; readonly result: ApplyResult }[];
  /** Refused by the block builder itself. */
  readonly invalid: readonly PendingExtrinsic[];
}

/** Something that governance or a light client does inside the next block. */
export type AdminAction = (execution: Execution) => void;

/** Options of {@link HubBlockchain}. */
interface HubChainOptions extends Omit<HistoryOptions, "hasher"> {
  readonly slotDurationMs: number;
  /** What the genesis state has. */
  readonly genesis: AdminAction;
}

/** The chain. There are no forks. */
export class HubBlockchain extends BlockHistory {
  /** The node's offchain database (kind PERSISTENT), by the hex of its keys: what blocks have written. */
  readonly offchain = new Map<Hex, Uint8Array>();
  readonly #runtime: SimulatedRuntime;
  readonly #ismp: IsmpPallet;
  readonly #options: HubChainOptions;

  constructor(runtime: SimulatedRuntime, ismp: IsmpPallet, options: HubChainOptions) {
    super({ ...options, hasher: runtime.rules.hasher });
    this.#runtime = runtime;
    this.#ismp = ismp;
    this.#options = options;
    const execution = runtime.execute(emptySnapshot(runtime.rules));
    options.genesis(execution);
    const state = execution.overlay.finish(zeroHash);
    this.append({
      parentHash: zeroHash,
      number: 0,
      stateRoot: state.main.root(),
      extrinsicsRoot: extrinsicsRoot([], runtime.rules.hasher),
      digest: [],
    }, { extrinsics: [], events: [], state });
  }

  /** State after the newest block. */
  get bestState(): Snapshot {
    return this.stateOf(this.best);
  }

  /**
   * Builds the next block on top of the best one and imports it.
   * @param candidates in order of priority; they go in while the block has room.
   */
  build(nowMs: bigint, candidates: readonly PendingExtrinsic[], actions: readonly AdminAction[]): BuiltBlock {
    const parent = this.best;
    const runtime = this.#runtime;
    const execution = runtime.execute(this.stateOf(parent));
    const number = parent.header.number + 1;
    initializeBlock(runtime.system, execution, { number, parentHash: parent.hash });
    const extrinsics = [timestampInherent(runtime.metadata, nowMs)];
    this.#applyInherent(execution, extrinsics);
    for (const action of actions) action(execution);
    const applied = this.#applyCandidates(execution, candidates, extrinsics);
    const slot = nowMs / BigInt(this.#options.slotDurationMs);
    const { upgrade } = execution;
    if (upgrade !== undefined) runtime.upgradeWith(number, upgrade);
    const digest = [
      digestItem("preRuntime", "aura", u64.enc(slot)),
      ...this.#ismp.finalizeBlock(execution),
      ...upgrade === undefined ? [] : [RUNTIME_UPDATED],
    ];
    finalizeBlock(runtime.system, execution, digest);
    const childRoot = this.#ismp.storage.childTrieRoot.get(execution.overlay) ?? zeroHash;
    const state = execution.overlay.finish(childRoot);
    const header = {
      parentHash: parent.hash,
      number,
      stateRoot: state.main.root(),
      extrinsicsRoot: extrinsicsRoot(extrinsics, runtime.rules.hasher),
      digest,
    };
    const { events, offchain } = execution.overlay;
    for (const [key, value] of offchain) {
      if (value === undefined) this.offchain.delete(key);
      else this.offchain.set(key, value);
    }
    return { block: this.append(header, { extrinsics, events, state }), ...applied };
  }

  #applyInherent(execution: Execution, extrinsics: readonly Uint8Array[]): void {
    for (const [index, extrinsic] of extrinsics.entries()) {
      execution.extrinsicIndex = index;
      const { kind } = this.#runtime.apply(execution, extrinsic);
      if (kind !== "success") throw new Error("The inherent of a block failed");
    }
    execution.extrinsicIndex = undefined;
  }

  #applyCandidates(
    execution: Execution,
    candidates: readonly PendingExtrinsic[],
    extrinsics: Uint8Array[],
  ): Pick<BuiltBlock, "included" | "invalid"> {
    const included: { candidate: PendingExtrinsic; result: ApplyResult }[] = [];
    const invalid: PendingExtrinsic[] = [];
    let size = 0;
    for (const candidate of candidates) {
      if (size + candidate.bytes.length > this.#runtime.maxBlockBytes) continue;
      execution.extrinsicIndex = extrinsics.length;
      const result = this.#applyCandidate(execution, candidate);
      if (result.kind === "invalid") {
        invalid.push(candidate);
        continue;
      }
      size += candidate.bytes.length;
      extrinsics.push(candidate.bytes);
      included.push({ candidate, result });
    }
    execution.extrinsicIndex = undefined;
    return { included, invalid };
  }

  /** What an older runtime took may be no extrinsic of this one. */
  #applyCandidate(execution: Execution, { bytes }: PendingExtrinsic): ApplyResult {
    try {
      return this.#runtime.apply(execution, bytes);
    } catch (error) {
      if (!(error instanceof ScaleError)) throw error;
      return { kind: "invalid", error: new ValidityError("BadProof") };
    }
  }
}

/** Root of the ordered trie of extrinsics: key compact index, layout V0 (system version 1). */
export function extrinsicsRoot(extrinsics: readonly Uint8Array[], hasher: HashAlgorithm): Hash256 {
  const entries = extrinsics.map((bytes, index) => [compact.enc(index), bytes] as const);
  return SubstrateTrie.from({ layout: "V0", hasher }, entries).root();
}

/** A chain without forks, as RPC methods read it. */
export type ServedChain = Pick<
  HubBlockchain,
  "best" | "finalized" | "find" | "findNumber" | "blockAt" | "block" | "stateOf"
>;

/** A node of any Substrate chain, as the methods that all of them have see it. */
export interface ServedNode {
  readonly chain: ServedChain;
  /** Why a block is final, as `chain_getBlock` tells it; left out where the node keeps none. */
  readonly justificationsOf?: (block: SimulatedBlock) => unknown;
}
