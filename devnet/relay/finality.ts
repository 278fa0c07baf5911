/**
 * Votes of a relay chain's validators: justifications of GRANDPA and BEEFY, signed when they are asked for.
 * Source: paritytech/polkadot-sdk: substrate/primitives/consensus/beefy/src.
 */
import { fromHex } from "../../src/core/encoding/bytes.ts";
import {
  type BeefyCommitment,
  commitmentHash,
  encodeBeefyJustification,
  MMR_ROOT_ID,
} from "../../src/core/beefy/commitment.ts";
import { beefyThreshold } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import type { SimulatedBlock } from "../hub/block_history.ts";
import { GrandpaVotes } from "./grandpa_votes.ts";
import type { RelayBlocks } from "./relay_blocks.ts";
import type { RelayChainSettings } from "./relay_options.ts";

/** Both gadgets. */
export class Finality {
  /** GRANDPA's part. */
  readonly votes: GrandpaVotes;
  readonly #chain: RelayBlocks;
  readonly #options: RelayChainSettings;
  readonly #beefy = new Map<number, Uint8Array>();

  constructor(chain: RelayBlocks, options: RelayChainSettings) {
    this.#chain = chain;
    this.#options = options;
    this.votes = new GrandpaVotes(chain, options);
  }

  /** SCALE of BEEFY's justification of a block. */
  beefy(number: number): Uint8Array {
    const known = this.#beefy.get(number);
    if (known !== undefined) return known;
    const made = this.#signBeefy(number);
    this.#beefy.set(number, made);
    return made;
  }

  /** Whether BEEFY has justified the block itself. */
  hasBeefy(number: number): boolean {
    if (this.#chain.leafCount(number) === 0n || number > this.#chain.finalized.header.number) return false;
    return this.#chain.changesSet(number) || number % this.#options.beefyPeriod === 0;
  }

  /** Newest block that BEEFY has justified; undefined when there is none yet. */
  get beefyFinalized(): SimulatedBlock | undefined {
    for (let number = this.#chain.finalized.header.number; number > 0; number--) {
      if (this.hasBeefy(number)) return this.#chain.blockAt(number);
    }
    return undefined;
  }

  /** Justifications of a block as `chain_getBlock` tells them: null, or pairs of engine and bytes. */
  justificationsOf(number: number): readonly (readonly [engine: Uint8Array, data: Uint8Array])[] | null {
    const encoder = new TextEncoder();
    const kept = [
      ...this.votes.keeps(number)
        ? [[encoder.encode("FRNK"), this.votes.justification(number)] as const]
        : [],
      ...this.hasBeefy(number) ? [[encoder.encode("BEEF"), this.beefy(number)] as const] : [],
    ];
    return kept.length === 0 ? null : kept;
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
    // No more than are needed, as on live chains.
    const signatures = set.chooseBeefy(beefyThreshold(set.length), number).map(({ index, validator }) => ({
      index,
      signature: validator.signBeefy(hash),
    }));
    return encodeBeefyJustification({ commitment, setLength: set.length, signatures });
  }
}
