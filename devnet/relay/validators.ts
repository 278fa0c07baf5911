/**
 * Validators of a relay chain: real ed25519 and secp256k1 keys, another set in every session. Keys and roots are made
 * when they are first asked for, so that a thousand validators cost nothing until somebody wants their signatures.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { fromHex, type Hash256, keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { authorityLeaves } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import type { GrandpaAuthority } from "../../src/consensus/clients/grandpa/spec/message.ts";
import type { BeefyAuthoritySet } from "../../src/core/evm/beefy_client_state.ts";
import { u32 } from "../../src/core/encoding/scale.ts";
import { merkleRoot } from "../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import { runAtOnce } from "./run_at_once.ts";

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

/** Id of GRANDPA's set of session 0; both gadgets count for themselves. */
const FIRST_GRANDPA_SET = 100n;
/** Id of BEEFY's set of session 0, which clients trust that begin then. */
export const FIRST_BEEFY_SET = 10n;

/** Stands where a key is no point of the curve. */
const noKey = new Uint8Array(33).fill(5);

/** A validator at its place in a set. */
interface Member {
  readonly index: number;
  readonly validator: Validator;
}

function turned(members: readonly Member[], count: number, turn: number): readonly Member[] {
  return members.filter((_, at) => (at + turn) % members.length < count);
}

/** The validators of one session. */
export class ValidatorSet {
  readonly grandpaSetId: bigint;
  readonly beefySetId: bigint;
  readonly #members: readonly Validator[];
  readonly #broken: ReadonlySet<number>;
  #beefySet: BeefyAuthoritySet | undefined;

  constructor(readonly session: number, members: readonly Validator[], broken: ReadonlySet<number>) {
    this.grandpaSetId = FIRST_GRANDPA_SET + BigInt(session);
    this.beefySetId = FIRST_BEEFY_SET + BigInt(session);
    this.#members = members;
    this.#broken = broken;
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
    return this.#members.map(({ beefyKey }, index) => this.#broken.has(index) ? noKey : beefyKey);
  }

  /** Id, size and root of the BEEFY set. */
  get beefySet(): BeefyAuthoritySet {
    this.#beefySet ??= { id: this.beefySetId, length: this.length, root: authoritiesRoot(this.beefyKeys) };
    return this.#beefySet;
  }

  /** Some members by ascending index; who is left out changes with `turn`. */
  choose(count: number, turn: number): readonly Member[] {
    return turned(this.#members.map((validator, index) => ({ index, validator })), count, turn);
  }

  /** Like {@link choose}, of those who can sign for BEEFY. */
  chooseBeefy(count: number, turn: number): readonly Member[] {
    const able = this.#members.flatMap((validator, index) =>
      this.#broken.has(index) ? [] : [{ index, validator }]
    );
    return turned(able, count, turn);
  }
}

/** The sets of all sessions. */
export class Validators {
  readonly #count: number;
  readonly #broken: ReadonlySet<number>;
  readonly #known = new Map<number, Validator>();
  readonly #sets = new Map<number, ValidatorSet>();

  /** @param broken indexes of members whose BEEFY key is none. */
  constructor(count: number, broken: readonly number[] = []) {
    this.#count = count;
    this.#broken = new Set(broken);
  }

  /** Half of the members of a session were not in the one before. */
  set(session: number): ValidatorSet {
    const known = this.#sets.get(session);
    if (known !== undefined) return known;
    const first = session * Math.ceil(this.#count / 2);
    const members = Array.from({ length: this.#count }, (_, index) => this.#validator(first + index));
    const made = new ValidatorSet(session, members, this.#broken);
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

/** Root of the tree of a set, from its keys in the order of the chain. */
export function authoritiesRoot(keys: readonly Uint8Array[]): Hash256 {
  return merkleRoot(runAtOnce(authorityLeaves(keys)));
}
