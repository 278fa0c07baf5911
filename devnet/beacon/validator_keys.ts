/**
 * BLS keys of the validators, and the sync committees and signatures made of them.
 * Secret keys are consecutive small numbers.
 */
import { SYNC_COMMITTEE_SIZE } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { blsPublicKey, blsSignature } from "../bls_signer.ts";

/** Secret key of validator 0. */
const firstSecret = 1000;

/** Committees that are kept ready: those of the head's period, the next, and the ones of a jump before. */
const keptCommittees = 4;

/** How far the next period's committee starts behind this period's among the validators. */
const committeeStep = 37;

/** A sync committee in the form of the SSZ types. */
export interface CommitteeKeys {
  readonly pubkeys: Uint8Array[];
  readonly aggregatePubkey: Uint8Array;
}

/** Keys of all validators of the state. */
export class ValidatorKeys {
  /** Compressed, by validator index. */
  readonly publicKeys: readonly Uint8Array[];
  readonly #committees = new Map<number, CommitteeKeys>();

  /** @param count more than a committee has, so that those of two periods in a row differ. */
  constructor(count: number) {
    this.publicKeys = Array.from({ length: count }, (_, index) => blsPublicKey(firstSecret + index));
  }

  /** The committee of a period: validators in a row, another row for each period. */
  committee(period: number): CommitteeKeys {
    const known = this.#committees.get(period);
    if (known !== undefined) return known;
    const members = this.#members(period);
    const sum = members.reduce((total, member) => total + firstSecret + member, 0);
    const committee = {
      pubkeys: members.map((member) => this.publicKeys[member] ?? new Uint8Array(48)),
      aggregatePubkey: blsPublicKey(sum),
    };
    this.#committees.set(period, committee);
    for (const old of this.#committees.keys()) {
      if (this.#committees.size <= keptCommittees) break;
      this.#committees.delete(old);
    }
    return committee;
  }

  /** Aggregated signature of the members whose flags are set. At least one has to be. */
  sign(period: number, flags: readonly boolean[], message: Uint8Array): Uint8Array {
    const sum = this.#members(period).reduce(
      (total, member, at) => flags[at] === true ? total + firstSecret + member : total,
      0,
    );
    return blsSignature(sum, message);
  }

  #members(period: number): number[] {
    const count = this.publicKeys.length;
    const first = period * committeeStep;
    return Array.from({ length: SYNC_COMMITTEE_SIZE }, (_, at) => (first + at) % count);
  }
}
