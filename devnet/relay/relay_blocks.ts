/**
 * Blocks of a relay chain: sessions, heads of parachains, the mountain range. There are no forks and no extrinsics.
 */
import { blake2b256, concatBytes, fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { grandpaAuthoritiesCodec } from "../../src/consensus/clients/grandpa/spec/message.ts";
import { fixedBytes, list, Struct, u32, u64 } from "../../src/core/encoding/scale.ts";
import { digestItem, encodeHeader, type SimulatedHeader } from "../hub/digest.ts";
import { Validators, type ValidatorSet } from "./validators.ts";
import { type BeefyMmrLeaf, beefyMmrLeafHash, mmrLeafCodec } from "../../src/core/beefy/commitment.ts";
import { merkleRoot } from "../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import { headLeaf } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
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
import type { ServedChain } from "../hub/blocks.ts";
import type { Snapshot } from "../hub/storage.ts";
import type { RelayChainSettings, RelaySession } from "./relay_options.ts";
import { emptyState, headsOf, relayKeys, withHeads, withRange, withSession } from "./relay_state.ts";

/**
 * Digests of a relay chain's headers.
 * Source: paritytech/polkadot-sdk: substrate/primitives/consensus/{babe,grandpa,beefy}/src.
 */

/** Milliseconds of a slot. */
const slotMs = 6000n;

/** `PreDigest::SecondaryPlain`. */
const SECONDARY_PLAIN = 2;
/** `ConsensusLog` of GRANDPA and of BEEFY. */
const SCHEDULED_CHANGE = 1;
const AUTHORITIES_CHANGE = 1;
const MMR_ROOT = 3;

const beefySetCodec = Struct({ validators: list(fixedBytes(33)), id: u64 });

/** What the digest tells of a block. */
interface DigestFacts {
  readonly nowMs: bigint;
  /** The set that takes over with this block; undefined where none does. */
  readonly newSet: ValidatorSet | undefined;
  /** Undefined before the range has leaves. */
  readonly mmrRoot: Hash256 | undefined;
}

/** The items of a header: author's slot, announcements, seal. */
function relayDigest({ nowMs, newSet, mmrRoot }: DigestFacts): readonly Uint8Array[] {
  const slot = concatBytes(Uint8Array.of(SECONDARY_PLAIN), u32.enc(0), u64.enc(nowMs / slotMs));
  const items = [digestItem("preRuntime", "BABE", slot)];
  if (newSet !== undefined) {
    const authorities = grandpaAuthoritiesCodec.enc(newSet.grandpaAuthorities);
    const change = concatBytes(Uint8Array.of(SCHEDULED_CHANGE), authorities, u32.enc(0));
    items.push(digestItem("consensus", "FRNK", change));
    const set = beefySetCodec.enc({ validators: newSet.beefyKeys, id: newSet.beefySetId });
    items.push(digestItem("consensus", "BEEF", concatBytes(Uint8Array.of(AUTHORITIES_CHANGE), set)));
  }
  if (mmrRoot !== undefined) {
    items.push(digestItem("consensus", "BEEF", concatBytes(Uint8Array.of(MMR_ROOT), fromHex(mmrRoot))));
  }
  // Nobody here looks at seals: what stands for the signature is no signature.
  return [...items, digestItem("seal", "BABE", new Uint8Array(64).fill(0xb5))];
}

const prunedState: Snapshot = { main: emptyState, child: emptyState };
const noExtrinsics = extrinsicsRoot([], "Blake2");

/** Stands in the list of parachains but has no head, as parachains that are being set up. */
const HEADLESS = 2999;

/** The chain. */
export class RelayBlocks extends BlockHistory implements ServedChain {
  readonly validators: Validators;
  readonly range = new MountainRange();
  readonly #options: RelayChainSettings;
  readonly #sessions: RelaySession[] = [];
  readonly #leaves: Uint8Array[] = [];

  constructor(options: RelayChainSettings, nowMs: bigint) {
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
    const named = [...this.#options.dummyParachains, ...this.#onDemand(), ...this.#options.heads().keys()];
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

  #onDemand(): readonly number[] {
    return this.#options.onDemand ?? [...this.#options.heads().keys()];
  }

  #withHeads(state: SubstrateTrie, number: number): SubstrateTrie {
    const { dummyParachains, unlistedParachains } = this.#options;
    const real = this.#options.heads();
    const onDemand = this.#onDemand();
    const listed = [...dummyParachains, HEADLESS, ...[...real.keys()].filter((id) => !onDemand.includes(id))];
    const dummies = [...dummyParachains, ...unlistedParachains].map((id) =>
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
