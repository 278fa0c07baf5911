/**
 * GRANDPA votes of a chain's validators: justifications, signed when they are asked for, and finality proofs.
 * Source: paritytech/finality-grandpa: src/lib.rs (Commit); paritytech/polkadot-sdk:
 * substrate/client/consensus/grandpa/src/{finality_proof,authorities}.rs.
 */
import {
  finalityProofCodec,
  grandpaJustificationCodec,
} from "../../src/consensus/clients/grandpa/spec/message.ts";
import {
  grandpaThreshold,
  precommitPayload,
} from "../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { decodeSubstrateHeader } from "../../src/core/substrate/header.ts";
import { encodeHeader } from "../hub/digest.ts";
import type { ServedChain } from "../hub/blocks.ts";
import type { ValidatorSet } from "./validators.ts";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { RpcError, type RpcMethods, u32Param } from "../hub/rpc/json_rpc.ts";

/** A chain whose blocks are voted for. */
interface VotedChain extends Pick<ServedChain, "finalized" | "blockAt" | "findNumber"> {
  /** The set in force after a block. */
  setOf(number: number): ValidatorSet;
  /** True for blocks that announce another set. */
  changesSet(number: number): boolean;
  /** Those blocks, ascending. */
  readonly changes: readonly number[];
}

/** How the validators vote; see `RelaySimulatorOptions`. */
interface GrandpaOptions {
  readonly grandpaPeriod: number;
  readonly splitVotes: (block: number) => boolean;
}

/** Most headers in an answer of `grandpa_proveFinality`. */
const MAX_UNKNOWN_HEADERS = 100_000;

/** The gadget. */
export class GrandpaVotes {
  readonly #chain: VotedChain;
  readonly #options: GrandpaOptions;
  readonly #made = new Map<number, Uint8Array>();

  constructor(chain: VotedChain, options: GrandpaOptions) {
    this.#chain = chain;
    this.#options = options;
  }

  /** SCALE of the votes that made a block final. */
  justification(number: number): Uint8Array {
    const known = this.#made.get(number);
    if (known !== undefined) return known;
    const made = this.#sign(number);
    this.#made.set(number, made);
    return made;
  }

  /** Whether the node keeps the justification of a block. */
  keeps(number: number): boolean {
    if (number === 0 || number > this.#chain.finalized.header.number) return false;
    return this.#chain.changesSet(number) || number % this.#options.grandpaPeriod === 0;
  }

  /**
   * SCALE of the proof that a block is final: the justification of the last block that its set finalized, or the newest
   * one where that set still votes, with the headers between.
   * @throws {RpcError} with the texts of a node.
   */
  prove(number: number): Uint8Array {
    const newest = this.#chain.finalized.header.number;
    if (number > newest) throw unproven("Block not yet finalized");
    // The node was synchronised with the set of block 0, so it cannot tell which set finalized that.
    if (number === 0) throw unproven("Block not covered by authority set changes");
    const target = this.#chain.changes.find((change) => change >= number && change <= newest) ?? newest;
    const last = Math.min(target, number + MAX_UNKNOWN_HEADERS);
    const unknown = Array.from({ length: last - number }, (_, at) => this.#chain.blockAt(number + 1 + at));
    return finalityProofCodec.enc({
      block: this.#chain.blockAt(target).hash,
      justification: this.justification(target),
      unknownHeaders: unknown.map(({ header }) => decodeSubstrateHeader(encodeHeader(header))),
    });
  }

  /** A block that announces a set is finalized by the set before it. */
  #sign(number: number): Uint8Array {
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
}

/**
 * RPC methods of nodes whose chain is made final by GRANDPA.
 * Source: paritytech/polkadot-sdk: substrate/client/consensus/grandpa/rpc/src.
 */

/** The methods. */
export function grandpaMethods(votes: GrandpaVotes): RpcMethods {
  return {
    grandpa_proveFinality: ([block]) => toHex(votes.prove(u32Param(block, "block"))),
  };
}

function unproven(why: string): RpcError {
  return new RpcError(4, `GRANDPA prove finality rpc failed: ${why}`);
}
