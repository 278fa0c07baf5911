/**
 * Blocks of a relay chain: sessions, heads of parachains, the mountain range. There are no forks and no extrinsics.
 */
import { blake2b256, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { type BeefyMmrLeaf, beefyMmrLeafHash, mmrLeafCodec } from "../../src/core/beefy/commitment.ts";
import { merkleRoot } from "../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import { headLeaf } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { u32, u64 } from "../../src/core/encoding/scale.ts";
import { MountainRange } from "../trie/mmr_range.ts";
import type { SubstrateTrie } from "../trie/substrate_trie.ts";
import { ChainError, extrinsicsRoot, type SimulatedBlock } from "../hub/blocks.ts";
import { encodeHeader, hashHeader, type SimulatedHeader } from "../hub/digest.ts";
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

const zeroHash: Hash256 = `0x${"00".repeat(32)}`;
const noExtrinsics = extrinsicsRoot([], "Blake2");

/** Stands in the list of parachains but has no head, as parachains that are being set up. */
const HEADLESS = 2999;

/** The chain. */
export class RelayBlocks implements ServedChain {
  readonly validators: Validators;
  readonly range = new MountainRange();
  readonly #options: RelayBlocksOptions;
  readonly #blocks: SimulatedBlock[] = [];
  readonly #numbers = new Map<Hash256, number>();
  readonly #sessions: RelaySession[] = [];
  readonly #leaves: Uint8Array[] = [];
  #finalized = 0;

  constructor(options: RelayBlocksOptions, nowMs: bigint) {
    this.#options = options;
    this.validators = new Validators(options.validators, options.brokenBeefyKeys);
    this.#beginSession(0);
    const begun = withSession(emptyState, this.validators.set(0), this.validators.set(1));
    const state = this.#withHeads(begun, 0).set(relayKeys.now, u64.enc(nowMs));
    this.#append({ parentHash: zeroHash, number: 0, digest: [] }, state);
  }

  get best(): SimulatedBlock {
    return this.blockAt(this.#blocks.length - 1);
  }

  get finalized(): SimulatedBlock {
    return this.blockAt(this.#finalized);
  }

  blockAt(number: number): SimulatedBlock {
    const block = this.#blocks[number];
    if (block === undefined) throw new ChainError("unknown_block", String(number));
    return block;
  }

  findNumber(number: number): SimulatedBlock | undefined {
    return this.#blocks[number];
  }

  find(hash: string): SimulatedBlock | undefined {
    const number = this.#numbers.get(`0x${hash.toLowerCase().replace(/^0x/, "")}`);
    return number === undefined ? undefined : this.#blocks[number];
  }

  block(hash: string): SimulatedBlock {
    const block = this.find(hash);
    if (block === undefined) throw new ChainError("unknown_block", hash);
    return block;
  }

  stateOf(block: SimulatedBlock): Snapshot {
    const isKept = block.header.number > this.#blocks.length - 1 - this.#options.keepStates;
    if (block.body === undefined || !isKept) throw new ChainError("pruned", block.hash);
    return block.body.state;
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

  /** Makes blocks final that are old enough. @returns them, oldest first. */
  advanceFinality(): SimulatedBlock[] {
    const target = Math.max(this.#finalized, this.best.header.number - this.#options.finalityLag);
    const before = this.#finalized;
    this.#finalized = target;
    return this.#blocks.slice(before + 1, target + 1);
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
    const state = { main, child: emptyState };
    const block = {
      header,
      hash: hashHeader(header, "Blake2"),
      body: { extrinsics: [], events: [], state },
    };
    this.#blocks.push(block);
    this.#forgetState(header.number - this.#options.keepStates);
    this.#numbers.set(block.hash, header.number);
    return block;
  }

  /** Frees the memory of a state that {@link stateOf} does not give any more; nodes keep the block itself. */
  #forgetState(number: number): void {
    const old = this.#blocks[number];
    if (old?.body === undefined) return;
    const state = { main: emptyState, child: emptyState };
    this.#blocks[number] = { ...old, body: { ...old.body, state } };
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
