/**
 * Blocks of a relay chain: sessions, heads of parachains, the mountain range. There are no forks and no extrinsics.
 */
import { blake2b256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { type BeefyMmrLeaf, beefyMmrLeafHash, mmrLeafCodec } from "../../src/core/beefy/commitment.ts";
import { merkleRoot } from "../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import { headLeaf } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { u32, u64 } from "../../src/core/encoding/scale.ts";
import { MountainRange } from "../trie/mmr_range.ts";
import type { SubstrateTrie } from "../trie/substrate_trie.ts";
import {
  type BlockBody,
  BlockHistory,
  ChainError,
  type SimulatedBlock,
  zeroHash,
} from "../hub/block_history.ts";
import { extrinsicsRoot } from "../hub/blocks.ts";
import { encodeHeader, type SimulatedHeader } from "../hub/digest.ts";
import type { ServedChain } from "../hub/node.ts";
import type { Snapshot } from "../hub/storage.ts";
import { relayDigest } from "./relay_digest.ts";
import type { ParachainHeads, RelaySession } from "./relay_options.ts";
import { emptyState, headsOf, relayKeys, withHeads, withRange, withSession } from "./relay_state.ts";
import { Validators, type ValidatorSet } from "./validators.ts";

/** What blocks are made of; see `RelayChainOptions`. */
export interface RelayBlocksOptions {
  readonly validators: number;
  readonly brokenBeefyKeys: readonly number[];
  readonly keepStates: number;
  readonly finalityLag: number;
  readonly beefyActivationBlock: number;
  readonly heads: () => ParachainHeads;
  readonly dummyParachains: readonly number[];
  readonly onDemand: readonly number[] | undefined;
  readonly unlistedParachains: readonly number[];
  readonly leafHeads: "listed" | "all";
}

const prunedState: Snapshot = { main: emptyState, child: emptyState };
const noExtrinsics = extrinsicsRoot([], "Blake2");

/** Stands in the list of parachains but has no head, as parachains that are being set up. */
const HEADLESS = 2999;

/** The chain. */
export class RelayBlocks extends BlockHistory implements ServedChain {
  readonly validators: Validators;
  readonly range = new MountainRange();
  readonly #options: RelayBlocksOptions;
  readonly #sessions: RelaySession[] = [];
  readonly #leaves: Uint8Array[] = [];

  constructor(options: RelayBlocksOptions, nowMs: bigint) {
    super({ ...options, hasher: "Blake2", historyBlocks: options.keepStates });
    this.#options = options;
    this.validators = new Validators(options.validators, options.brokenBeefyKeys);
    this.#beginSession(0);
    const begun = withSession(emptyState, this.validators.set(0), this.validators.set(1));
    const state = this.#withHeads(begun, 0).set(relayKeys.now, u64.enc(nowMs));
    this.#append({ parentHash: zeroHash, number: 0, digest: [] }, state);
  }

  /** Nodes keep a block without its state. */
  protected override prune({ body }: SimulatedBlock): BlockBody | undefined {
    return body && { ...body, state: prunedState };
  }

  override stateOf(block: SimulatedBlock): Snapshot {
    const state = super.stateOf(block);
    if (state === prunedState) throw new ChainError("pruned", block.hash);
    return state;
  }

  /** Session of a block. */
  sessionOf(number: number): RelaySession {
    const session = this.#sessions.findLast(({ firstBlock }) => firstBlock <= number);
    if (session === undefined) throw new ChainError("unknown_block", String(number));
    return session;
  }

  /** The set in force after a block. */
  setOf(number: number): ValidatorSet {
    return this.validators.set(this.sessionOf(number).index);
  }

  /** True for the first block of a session other than the first one. */
  changesSet(number: number): boolean {
    return number > 0 && this.sessionOf(number).firstBlock === number;
  }

  /** Last blocks of the sessions that have ended: a set finalizes the block that announces the next one. */
  get changes(): readonly number[] {
    return this.#sessions.slice(1).map(({ firstBlock }) => firstBlock);
  }

  /** Leaves of the mountain range at a block. */
  leafCount(number: number): bigint {
    return BigInt(Math.max(0, number - this.#options.beefyActivationBlock));
  }

  /** SCALE of the leaf of a block; undefined for those that have none. */
  leaf(number: number): Uint8Array | undefined {
    return this.#leaves[number - this.#options.beefyActivationBlock - 1];
  }

  /** Makes the next block; it may be the first of a session. */
  build(nowMs: bigint, beginsSession: boolean): SimulatedBlock {
    const parent = this.best;
    const number = parent.header.number + 1;
    let state = this.stateOf(parent).main;
    if (beginsSession) {
      const { index } = this.#beginSession(number);
      state = withSession(state, this.validators.set(index), this.validators.set(index + 1));
    }
    const hasLeaf = number > this.#options.beefyActivationBlock;
    if (hasLeaf) {
      this.#addLeaf(parent);
      state = withRange(state, this.range);
    }
    state = this.#withHeads(state, number).set(relayKeys.now, u64.enc(nowMs));
    const digest = relayDigest({
      nowMs,
      newSet: beginsSession ? this.setOf(number) : undefined,
      mmrRoot: hasLeaf ? this.range.root() : undefined,
    });
    return this.#append({ parentHash: parent.hash, number, digest }, state);
  }

  #beginSession(firstBlock: number): RelaySession {
    const index = this.#sessions.length;
    const { grandpaSetId, beefySetId } = this.validators.set(index);
    const session = { index, grandpaSetId, beefySetId, firstBlock };
    this.#sessions.push(session);
    return session;
  }

  /** The heads are those before this block: its leaf is made before parachains are looked at. */
  #addLeaf(parent: SimulatedBlock): void {
    const state = this.stateOf(parent).main;
    const { leafHeads, unlistedParachains } = this.#options;
    const named = [...this.#dummies, ...this.#onDemand(), ...this.#options.heads().keys()];
    const heads = headsOf(state, leafHeads === "all" ? [...named, ...unlistedParachains] : named);
    const leaf: BeefyMmrLeaf = {
      version: 0,
      parentNumber: parent.header.number,
      parentHash: parent.hash,
      nextAuthoritySet: this.validators.set(this.#sessions.length).beefySet,
      extra: merkleRoot(heads.map(({ paraId, head }) => headLeaf(paraId, head))),
    };
    this.#leaves.push(mmrLeafCodec.enc(leaf));
    this.range.append(beefyMmrLeafHash(leaf));
  }

  get #dummies(): readonly number[] {
    return this.#options.dummyParachains;
  }

  #onDemand(): readonly number[] {
    return this.#options.onDemand ?? [...this.#options.heads().keys()];
  }

  #withHeads(state: SubstrateTrie, number: number): SubstrateTrie {
    const real = this.#options.heads();
    const onDemand = this.#onDemand();
    const listed = [...this.#dummies, HEADLESS, ...[...real.keys()].filter((id) => !onDemand.includes(id))];
    const dummies = [...this.#dummies, ...this.#options.unlistedParachains].map((id) =>
      [id, dummyHead(id, number)] as const
    );
    return withHeads(state, new Map([...dummies, ...real]), [...new Set(listed)].sort((a, b) => a - b));
  }

  #append(
    start: Pick<SimulatedHeader, "parentHash" | "number" | "digest">,
    main: SubstrateTrie,
  ): SimulatedBlock {
    const header = { ...start, stateRoot: main.root(), extrinsicsRoot: noExtrinsics };
    return this.append(header, { extrinsics: [], events: [], state: { main, child: emptyState } });
  }
}

/** Head of a parachain that is made up: another one for every relay chain block. */
function dummyHead(paraId: number, number: number): Uint8Array {
  const root = toHash256(blake2b256(u32.enc(paraId)));
  return encodeHeader({
    parentHash: root,
    number: number + 1,
    stateRoot: root,
    extrinsicsRoot: root,
    digest: [],
  });
}
