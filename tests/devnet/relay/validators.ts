/**
 * Validators of a relay chain: real ed25519 and secp256k1 keys, another set in every session. Keys and roots are made
 * when they are first asked for, so that a thousand validators cost nothing until somebody wants their signatures.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { fromHex, type Hash256, toHash256 } from "../../../src/core/protocol/bytes.ts";
import { authoritiesRoot } from "../../../src/core/protocol/consensus/beefy/authorities.ts";
import type { GrandpaAuthority } from "../../../src/core/protocol/consensus/grandpa/message.ts";
import type { BeefyAuthoritySet } from "../../../src/core/protocol/evm/beefy_client_state.ts";
import { keccak256 } from "../../../src/core/protocol/hash.ts";
import { u32 } from "../../../src/core/protocol/scale.ts";

/** One validator. */
class Validator {
  readonly #secret: Uint8Array;
  #grandpaId: Hash256 | undefined;
  #beefyKey: Uint8Array | undefined;

  constructor(number: number) {
    this.#secret = keccak256(Uint8Array.of(0x76, ...u32.enc(number)));
  }

  get grandpaId(): Hash256 {
    this.#grandpaId ??= toHash256(ed25519.getPublicKey(this.#secret));
    return this.#grandpaId;
  }

  /** Compressed. */
  get beefyKey(): Uint8Array {
    this.#beefyKey ??= secp256k1.getPublicKey(this.#secret);
    return this.#beefyKey;
  }

  signGrandpa(payload: Uint8Array): Uint8Array {
    return ed25519.sign(payload, this.#secret);
  }

  /** r, s and the recovery id 0 or 1. */
  signBeefy(hash: Hash256): Uint8Array {
    const signed = secp256k1.sign(fromHex(hash), this.#secret, { prehash: false, format: "recovered" });
    return Uint8Array.of(...signed.subarray(1), signed[0] ?? 0);
  }
}

/** Ids of the sets of session 0; both gadgets count for themselves. */
const FIRST_GRANDPA_SET = 100n;
const FIRST_BEEFY_SET = 10n;

/** The validators of one session. */
export class ValidatorSet {
  readonly grandpaSetId: bigint;
  readonly beefySetId: bigint;
  readonly #members: readonly Validator[];
  #beefySet: BeefyAuthoritySet | undefined;

  constructor(readonly session: number, members: readonly Validator[]) {
    this.grandpaSetId = FIRST_GRANDPA_SET + BigInt(session);
    this.beefySetId = FIRST_BEEFY_SET + BigInt(session);
    this.#members = members;
  }

  get length(): number {
    return this.#members.length;
  }

  /** Voters of GRANDPA, all of weight 1. */
  get grandpaAuthorities(): readonly GrandpaAuthority[] {
    return this.#members.map(({ grandpaId }) => ({ id: grandpaId, weight: 1n }));
  }

  /** Compressed keys. */
  get beefyKeys(): readonly Uint8Array[] {
    return this.#members.map(({ beefyKey }) => beefyKey);
  }

  /** Id, size and root of the BEEFY set. */
  get beefySet(): BeefyAuthoritySet {
    this.#beefySet ??= { id: this.beefySetId, length: this.length, root: authoritiesRoot(this.beefyKeys) };
    return this.#beefySet;
  }

  /** Some members by ascending index; who is left out changes with `turn`. */
  choose(count: number, turn: number): readonly { readonly index: number; readonly validator: Validator }[] {
    return this.#members.map((validator, index) => ({ index, validator }))
      .filter(({ index }) => (index + turn) % this.length < count);
  }
}

/** The sets of all sessions. */
export class Validators {
  readonly #count: number;
  readonly #known = new Map<number, Validator>();
  readonly #sets = new Map<number, ValidatorSet>();

  constructor(count: number) {
    this.#count = count;
  }

  /** Half of the members of a session were not in the one before. */
  set(session: number): ValidatorSet {
    const known = this.#sets.get(session);
    if (known !== undefined) return known;
    const first = session * Math.ceil(this.#count / 2);
    const members = Array.from({ length: this.#count }, (_, index) => this.#validator(first + index));
    const made = new ValidatorSet(session, members);
    this.#sets.set(session, made);
    return made;
  }

  #validator(number: number): Validator {
    const known = this.#known.get(number);
    if (known !== undefined) return known;
    const made = new Validator(number);
    this.#known.set(number, made);
    return made;
  }
}
