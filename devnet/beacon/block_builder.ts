/** Builds beacon blocks with their states: payload, withdrawals, and the committee's signature over the parent. */
import type { Node } from "@chainsafe/persistent-merkle-tree";
import { type electra, type gloas, type phase0, ssz } from "@lodestar/types";
import { fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import {
  forkAtEpoch,
  SYNC_COMMITTEE_SIZE,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import type { ExecutionBlock } from "./execution_chain.ts";
import { firstState } from "./first_state.ts";
import { applyBlock, type BlockEffects, type ChainRules, processSlots } from "./state_transition.ts";
import { fieldNode, fields, isGloasState, rootOf } from "./state_tree.ts";
import type { ValidatorKeys } from "./validator_keys.ts";

/** A block with the state after it. */
export interface BeaconRecord {
  readonly slot: number;
  readonly root: Hash256;
  readonly header: phase0.BeaconBlockHeader;
  readonly signed: electra.SignedBeaconBlock | gloas.SignedBeaconBlock;
  readonly state: Node;
  readonly stateRoot: Hash256;
  readonly execution: ExecutionBlock;
}

/** See `BeaconOptions` for their meaning. */
export interface BuilderOptions {
  readonly signers: (slot: number) => number;
}

const domainSyncCommittee = 7;
/** Withdrawals in each payload. Anvil knows nothing of them. */
const withdrawalsPerBlock = 4;
const types = {
  body: ssz.fulu.BeaconBlockBody,
  gloasBody: ssz.gloas.BeaconBlockBody,
  bid: ssz.gloas.ExecutionPayloadBid,
  payload: ssz.fulu.ExecutionPayload,
  header: ssz.phase0.BeaconBlockHeader,
} as const;

/** An SSZ signature that nobody checks: the point at infinity. */
function noSignature(): Uint8Array {
  return new Uint8Array(96).fill(0xc0, 0, 1);
}

/** The parts of a body that every fork has. */
type BodyContent = Pick<
  electra.BeaconBlockBody & gloas.BeaconBlockBody,
  "randaoReveal" | "eth1Data" | "graffiti" | "syncAggregate"
>;

/** Where a block is to stand. */
interface BlockPlace {
  readonly message: Pick<phase0.BeaconBlockHeader, "slot" | "proposerIndex" | "parentRoot">;
  /** State at its slot. */
  readonly before: Node;
  readonly execution: ExecutionBlock;
  readonly parent: BeaconRecord | undefined;
}

/** A body with what it does to the state. */
interface BuiltBody {
  readonly bodyRoot: Uint8Array;
  readonly effects: BlockEffects["execution"];
  signed(stateRoot: Uint8Array): BeaconRecord["signed"];
}

/** Makes each block out of the one before. */
export class BlockBuilder {
  readonly #rules: ChainRules;
  readonly #keys: ValidatorKeys;
  readonly #options: BuilderOptions;

  constructor(rules: ChainRules, keys: ValidatorKeys, options: BuilderOptions) {
    this.#rules = rules;
    this.#keys = keys;
    this.#options = options;
  }

  /** @param parent undefined for the first block, which has to be at the start of an epoch. */
  build(execution: ExecutionBlock, slot: number, parent: BeaconRecord | undefined): BeaconRecord {
    const before = parent === undefined
      ? firstState(this.#rules, slot, this.#keys.publicKeys)
      : processSlots(this.#rules, parent.state, slot);
    const parentRoot = parent === undefined ? new Uint8Array(32) : fromHex(parent.root);
    const content = {
      randaoReveal: new Uint8Array(96).fill(slot & 0xff),
      eth1Data: fields.eth1Data.tree_toValue(fieldNode(before, "eth1Data")),
      graffiti: new Uint8Array(32).fill(0x2a),
      syncAggregate: this.#aggregate(slot, parentRoot),
    };
    const message = { slot, proposerIndex: slot % this.#keys.publicKeys.length, parentRoot };
    const place = { message, before, execution, parent };
    const { signed, effects, bodyRoot } = isGloasState(before)
      ? this.#withBid(content, place)
      : this.#withPayload(content, place);
    const header = { ...message, stateRoot: new Uint8Array(32), bodyRoot };
    const state = applyBlock(this.#rules, before, { header, execution: effects });
    const complete = { ...header, stateRoot: state.root };
    return {
      slot,
      root: toHash256(types.header.hashTreeRoot(complete)),
      header: complete,
      signed: signed(state.root),
      state,
      stateRoot: rootOf(state),
      execution,
    };
  }

  /** A block of before Gloas, which holds its payload. */
  #withPayload(content: BodyContent, { message, before, execution, parent }: BlockPlace): BuiltBody {
    const isRepeated = parent !== undefined && parent.execution.hash === execution.hash;
    const withdrawals = isRepeated ? [] : this.#withdrawals(before);
    const payload = { ...execution.payload, withdrawals };
    const body = { ...types.body.defaultValue(), ...content, executionPayload: payload };
    const last = withdrawals.at(-1);
    return {
      bodyRoot: types.body.hashTreeRoot(body),
      signed: (stateRoot) => ({ message: { ...message, stateRoot, body }, signature: noSignature() }),
      effects: {
        payloadHeader: {
          ...payload,
          transactionsRoot: types.payload.fields.transactions.hashTreeRoot(payload.transactions),
          withdrawalsRoot: types.payload.fields.withdrawals.hashTreeRoot(payload.withdrawals),
        },
        nextWithdrawalIndex: last === undefined ? this.#withdrawalIndex(before) : last.index + 1,
        nextWithdrawalValidatorIndex: last === undefined
          ? fields.nextWithdrawalValidatorIndex.tree_toValue(
            fieldNode(before, "nextWithdrawalValidatorIndex"),
          )
          : (last.validatorIndex + 1) % this.#keys.publicKeys.length,
      },
    };
  }

  /** A block of Gloas, which holds a bid for its payload: that itself comes separately, and always in time. */
  #withBid(content: BodyContent, { message, execution, parent }: BlockPlace): BuiltBody {
    const { payload } = execution;
    const bid: gloas.ExecutionPayloadBid = {
      ...types.bid.defaultValue(),
      parentBlockHash: fromHex(parent?.execution.hash ?? execution.parentHash),
      parentBlockRoot: message.parentRoot,
      blockHash: fromHex(execution.hash),
      prevRandao: payload.prevRandao,
      feeRecipient: payload.feeRecipient,
      gasLimit: BigInt(payload.gasLimit),
      slot: message.slot,
      blobKzgCommitments: [new Uint8Array(48).fill(0xc0)],
    };
    const body = {
      ...types.gloasBody.defaultValue(),
      ...content,
      signedExecutionPayloadBid: { message: bid, signature: noSignature() },
    };
    return {
      bodyRoot: types.gloasBody.hashTreeRoot(body),
      signed: (stateRoot) => ({ message: { ...message, stateRoot, body }, signature: noSignature() }),
      effects: bid,
    };
  }

  #withdrawalIndex(state: Node): number {
    return fields.nextWithdrawalIndex.tree_toValue(fieldNode(state, "nextWithdrawalIndex"));
  }

  #withdrawals(state: Node): electra.ExecutionPayload["withdrawals"] {
    const validators = this.#keys.publicKeys.length;
    const index = this.#withdrawalIndex(state);
    const first = fields.nextWithdrawalValidatorIndex.tree_toValue(
      fieldNode(state, "nextWithdrawalValidatorIndex"),
    );
    return Array.from({ length: withdrawalsPerBlock }, (_, at) => ({
      index: index + at,
      validatorIndex: (first + at) % validators,
      address: new Uint8Array(20).fill(0x77),
      amount: BigInt(10_000 + at),
    }));
  }

  /** Signature of a part of the committee over the parent, with the fork of the slot before. */
  #aggregate(slot: number, parentRoot: Uint8Array): electra.BeaconBlockBody["syncAggregate"] {
    const aggregate = types.body.fields.syncAggregate.defaultValue();
    const count = Math.max(0, Math.min(SYNC_COMMITTEE_SIZE, this.#options.signers(slot)));
    if (count === 0) {
      return { ...aggregate, syncCommitteeSignature: noSignature() };
    }
    const firstAbsent = slot * 7 % SYNC_COMMITTEE_SIZE;
    const flags = Array.from({ length: SYNC_COMMITTEE_SIZE }, (_, member) => {
      return (member - firstAbsent + SYNC_COMMITTEE_SIZE) % SYNC_COMMITTEE_SIZE >=
        SYNC_COMMITTEE_SIZE - count;
    });
    flags.forEach((flag, member) => aggregate.syncCommitteeBits.set(member, flag));
    const period = Math.floor(slot / this.#rules.slotsPerEpoch / this.#rules.epochsPerPeriod);
    const message = ssz.phase0.SigningData.hashTreeRoot({
      objectRoot: parentRoot,
      domain: this.#domain(Math.floor((slot - 1) / this.#rules.slotsPerEpoch)),
    });
    return {
      syncCommitteeBits: aggregate.syncCommitteeBits,
      syncCommitteeSignature: this.#keys.sign(period, flags, message),
    };
  }

  #domain(epoch: number): Uint8Array {
    const { network } = this.#rules;
    const root = ssz.phase0.ForkData.hashTreeRoot({
      currentVersion: fromHex(forkAtEpoch(network, BigInt(epoch)).version),
      genesisValidatorsRoot: fromHex(network.genesisValidatorsRoot),
    });
    return Uint8Array.from([domainSyncCommittee, 0, 0, 0, ...root.subarray(0, 28)]);
  }
}
