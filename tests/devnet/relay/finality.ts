/**
 * Votes of a relay chain's validators: justifications of GRANDPA and BEEFY, signed when they are asked for.
 * Source: paritytech/finality-grandpa: src/lib.rs (Commit); paritytech/polkadot-sdk:
 * substrate/client/consensus/grandpa/src/{finality_proof,authorities}.rs, substrate/primitives/consensus/beefy/src.
 */
import { fromHex } from "../../../src/core/protocol/bytes.ts";
import {
  type BeefyCommitment,
  commitmentHash,
  encodeBeefyJustification,
  MMR_ROOT_ID,
  type PayloadEntry,
} from "../../../src/core/protocol/consensus/beefy/commitment.ts";
import { beefyThreshold } from "../../../src/core/protocol/consensus/beefy/verify_proof.ts";
import {
  finalityProofCodec,
  grandpaJustificationCodec,
} from "../../../src/core/protocol/consensus/grandpa/message.ts";
import {
  grandpaThreshold,
  precommitPayload,
} from "../../../src/core/protocol/consensus/grandpa/verify_justification.ts";
import { decodeSubstrateHeader } from "../../../src/core/protocol/consensus/substrate_header.ts";
import type { Block } from "../hub/blocks.ts";
import { encodeHeader } from "../hub/digest.ts";
import type { RelayBlocks } from "./relay_blocks.ts";

/** How the validators vote; see `RelayChainOptions`. */
export interface FinalityOptions {
  readonly grandpaPeriod: number;
  readonly beefyPeriod: number;
  readonly beefyLag: number;
  readonly beefySigners: "threshold" | "all";
  readonly beefyPayload: readonly PayloadEntry[];
  readonly splitVotes: (block: number) => boolean;
}

/** Most headers in an answer of `grandpa_proveFinality`. */
const MAX_UNKNOWN_HEADERS = 100_000;

/** Why no finality proof is given; the texts are those of a node. */
export class FinalityProofError extends Error {
  override readonly name = "FinalityProofError";
  constructor(readonly code: "not_finalized" | "unknown_set") {
    super(
      code === "not_finalized" ? "Block not yet finalized" : "Block not covered by authority set changes",
    );
  }
}

/** Both gadgets. */
export class Finality {
  readonly #chain: RelayBlocks;
  readonly #options: FinalityOptions;
  readonly #grandpa = new Map<number, Uint8Array>();
  readonly #beefy = new Map<number, Uint8Array>();

  constructor(chain: RelayBlocks, options: FinalityOptions) {
    this.#chain = chain;
    this.#options = options;
  }

  /** SCALE of the votes that made a block final. */
  grandpa(number: number): Uint8Array {
    const known = this.#grandpa.get(number);
    if (known !== undefined) return known;
    const made = this.#signGrandpa(number);
    this.#grandpa.set(number, made);
    return made;
  }

  /** SCALE of BEEFY's justification of a block. */
  beefy(number: number): Uint8Array {
    const known = this.#beefy.get(number);
    if (known !== undefined) return known;
    const made = this.#signBeefy(number);
    this.#beefy.set(number, made);
    return made;
  }

  /** Whether the node keeps the GRANDPA justification of a block. */
  keepsGrandpa(number: number): boolean {
    if (number === 0 || number > this.#chain.finalized.header.number) return false;
    return this.#chain.changesSet(number) || number % this.#options.grandpaPeriod === 0;
  }

  /** Whether BEEFY has justified the block itself. */
  hasBeefy(number: number): boolean {
    if (this.#chain.leafCount(number) === 0n || number > this.#newestForBeefy) return false;
    return this.#chain.changesSet(number) || number % this.#options.beefyPeriod === 0;
  }

  /** Newest block that BEEFY has justified; undefined when there is none yet. */
  get beefyFinalized(): Block | undefined {
    for (let number = this.#newestForBeefy; number > 0; number--) {
      if (this.hasBeefy(number)) return this.#chain.blockAt(number);
    }
    return undefined;
  }

  get #newestForBeefy(): number {
    const { best, finalized } = this.#chain;
    return Math.min(finalized.header.number, best.header.number - this.#options.beefyLag);
  }

  /** Justifications of a block as `chain_getBlock` tells them: null, or pairs of engine and bytes. */
  justificationsOf(number: number): readonly (readonly [engine: Uint8Array, data: Uint8Array])[] | null {
    const encoder = new TextEncoder();
    const kept = [
      ...this.keepsGrandpa(number) ? [[encoder.encode("FRNK"), this.grandpa(number)] as const] : [],
      ...this.hasBeefy(number) ? [[encoder.encode("BEEF"), this.beefy(number)] as const] : [],
    ];
    return kept.length === 0 ? null : kept;
  }

  /**
   * SCALE of the proof that a block is final: the justification of the last block that its set finalized, or the newest
   * one where that set still votes, with the headers between.
   * @throws {FinalityProofError}
   */
  prove(number: number): Uint8Array {
    const newest = this.#chain.finalized.header.number;
    if (number > newest) throw new FinalityProofError("not_finalized");
    // The node was synchronised with the set of block 0, so it cannot tell which set finalized that.
    if (number === 0) throw new FinalityProofError("unknown_set");
    const target = this.#chain.changes.find((change) => change >= number && change <= newest) ?? newest;
    const last = Math.min(target, number + MAX_UNKNOWN_HEADERS);
    const unknown = Array.from({ length: last - number }, (_, at) => this.#chain.blockAt(number + 1 + at));
    return finalityProofCodec.enc({
      block: this.#chain.blockAt(target).hash,
      justification: this.grandpa(target),
      unknownHeaders: unknown.map(({ header }) => decodeSubstrateHeader(encodeHeader(header))),
    });
  }

  /** A block that announces a set is finalized by the set before it. */
  #signGrandpa(number: number): Uint8Array {
    const set = this.#chain.setOf(number - 1);
    const target = this.#chain.blockAt(number);
    const child = this.#options.splitVotes(number) && !this.#chain.changesSet(number)
      ? this.#chain.findNumber(number + 1)
      : undefined;
    const round = BigInt(number);
    const count = Number(grandpaThreshold(set.grandpaAuthorities));
    const precommits = set.choose(count, number).map(({ validator }, at) => {
      const voted = at === 0 ? target : child ?? target;
      const vote = { targetHash: voted.hash, targetNumber: voted.header.number };
      const signature = validator.signGrandpa(precommitPayload(vote, round, set.grandpaSetId));
      return { ...vote, signature, id: validator.grandpaId };
    });
    return grandpaJustificationCodec.enc({
      round,
      commit: { targetHash: target.hash, targetNumber: number, precommits },
      votesAncestries: child === undefined ? [] : [decodeSubstrateHeader(encodeHeader(child.header))],
    });
  }

  #signBeefy(number: number): Uint8Array {
    const set = this.#chain.setOf(number);
    const root = this.#chain.range.root(this.#chain.leafCount(number));
    const commitment: BeefyCommitment = {
      payload: [{ id: MMR_ROOT_ID, data: fromHex(root) }, ...this.#options.beefyPayload],
      blockNumber: number,
      validatorSetId: set.beefySetId,
    };
    const hash = commitmentHash(commitment);
    const count = this.#options.beefySigners === "all" ? set.length : beefyThreshold(set.length);
    const signatures = set.chooseBeefy(count, number).map(({ index, validator }) => ({
      index,
      signature: validator.signBeefy(hash),
    }));
    return encodeBeefyJustification({ commitment, setLength: set.length, signatures });
  }
}
