/**
 * Validators of a BSC-type chain: what they write into the extra data of headers. They announce the next set in the
 * first header of an epoch, and vote for each block in the block after the next one, as parlia has it.
 * Source of the rules: docs/protocol/evm-consensus.md section 9; BEP-126 (fast finality).
 */
import { fromHex, type Hash256, keccak256 } from "../../src/core/encoding/bytes.ts";
import {
  type BscNetwork,
  type BscValidator,
  encodeExtraData,
  epochBlock,
  epochOfBlock,
  type VoteAttestation,
  type VoteData,
  voteMessage,
} from "../../src/consensus/clients/bsc/spec/extra_data.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { blsPublicKey, blsSignature } from "../bls_signer.ts";
import { compareHex } from "../../src/core/encoding/scale.ts";
import type { HeaderRule, RewrittenHeader } from "./header_rewriter.ts";

/** A validator with its secret: the number that it was made from. */
interface Member extends BscValidator {
  readonly secret: number;
}

/** How the chain works. */
export interface BscChainOptions {
  readonly network: BscNetwork;
  readonly epochLength: bigint;
  /** Blocks in a row of one validator. Default 1. */
  readonly turnLength?: number;
  /** Numbers (from 1) of the validators that an epoch announces. Default: the same five always. */
  readonly setOf?: (epoch: bigint) => readonly number[];
  /** What differs from a chain on which everybody votes for the newest pair of blocks. */
  readonly voting?: (block: bigint) => BlockVoting | undefined;
}

/** What the producer of one block finds. */
export interface BlockVoting {
  /** How many of the set have voted; 0: the block has no attestation. */
  readonly voters?: number;
  /** Blocks between source and target. Default 1; the hub takes nothing else as final. */
  readonly distance?: bigint;
  /** Blocks between the target and this block. Default 1; up to 3 since Fermi. */
  readonly age?: bigint;
}

/** Numbers of the validators by default. */
const FIVE = [1, 2, 3, 4, 5];
const members = new Map<number, Member>();

/** The validator with this number: address and vote key are made of it. */
function memberOf(number: number): Member {
  let member = members.get(number);
  if (member === undefined) {
    const address = toAddress(keccak256(new TextEncoder().encode(`validator ${number}`)).slice(12));
    const secret = 10_007 + number;
    member = { address, secret, voteKey: blsPublicKey(secret) };
    members.set(number, member);
  }
  return member;
}

/** A set in the order in which votes count it. */
function setOf(numbers: readonly number[]): readonly Member[] {
  return numbers.map(memberOf).sort((a, b) => compareHex(a.address, b.address));
}

/** The rule by which the headers of the chain are made. */
export function bscHeaderRule(options: BscChainOptions): HeaderRule {
  const { epochLength } = options;
  const announced = (epoch: bigint): readonly Member[] => setOf(options.setOf?.(epoch) ?? FIVE);
  const turnLength = options.turnLength ?? 1;
  return (header, earlier) => {
    const isFirst = header.number % epochLength === 0n;
    const announcement = isFirst
      ? { validators: announced(epochOfBlock(header.number, epochLength)), turnLength }
      : undefined;
    const attestation = attest(header.number, earlier, signersOf, options.voting);
    const extraData = encodeExtraData({
      vanity: new Uint8Array(32),
      announcement,
      attestation,
      seal: new Uint8Array(65),
    });
    return { ...header, extraData };
  };

  /** Who votes for a target: the set of the epoch before until the chain itself has switched. */
  function signersOf(target: bigint): readonly Member[] {
    const epoch = epochOfBlock(target, epochLength);
    if (epoch === 0n) return announced(0n);
    const before = announced(epoch - 1n);
    const isNew = target >= firstTargetOfNewSet(epochBlock(epoch, epochLength), before.length, turnLength);
    return isNew ? announced(epoch) : before;
  }
}

/**
 * First target whose votes the new set signs, later than the hub enacts it. Source: bnb-chain/bsc:
 * consensus/parlia/{parlia,snapshot}.go (the snapshot switches at `turnLength * (n / 2 + 1) - 1`; votes are checked with
 * the snapshot of the target's parent).
 */
function firstTargetOfNewSet(epochFirstBlock: bigint, validatorCount: number, turnLength: number): bigint {
  return epochFirstBlock + BigInt(turnLength * (Math.floor(validatorCount / 2) + 1));
}

function attest(
  block: bigint,
  earlier: readonly RewrittenHeader[],
  signersOf: (target: bigint) => readonly Member[],
  voting: BscChainOptions["voting"],
): VoteAttestation | undefined {
  const { voters: wanted, distance = 1n, age = 1n } = voting?.(block) ?? {};
  const target = earlier.at(-Number(age));
  const source = earlier.at(-Number(age + distance));
  if (wanted === 0 || target === undefined || source === undefined) return undefined;
  const signers = signersOf(target.header.number);
  const voters = wanted ?? signers.length;
  const vote: VoteData = {
    sourceNumber: source.header.number,
    sourceHash: source.hash,
    targetNumber: target.header.number,
    targetHash: target.hash,
  };
  return {
    voters: (1n << BigInt(voters)) - 1n,
    signature: sign(voteMessage(vote), signers.slice(0, voters)),
    vote,
    extra: new Uint8Array(0),
  };
}

/** The sum of the voters' signatures is the signature of the sum of their secrets, which are small numbers. */
function sign(message: Hash256, voters: readonly Member[]): Uint8Array {
  return blsSignature(voters.reduce((sum, { secret }) => sum + secret, 0), fromHex(message));
}
