/** Builds beacon blocks with their states: payload, withdrawals, and the committee's signature over the parent. */
import { type electra, type gloas, type phase0, ssz } from "@lodestar/types";
import { fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { Node } from "@chainsafe/persistent-merkle-tree";
import {
  forkAtEpoch,
  SYNC_COMMITTEE_SIZE,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { firstState } from "./first_state.ts";
import { applyBlock, type BlockEffects, type ChainRules, processSlots } from "./state_transition.ts";
import { isGloasState, rootOf, valueOf } from "./state_tree.ts";
import type { ValidatorKeys } from "./validator_keys.ts";
import * as z from "zod";

/** A block without withdrawals: those are the beacon chain's to decide. */
export interface ExecutionBlock {
  readonly number: number;
  readonly hash: Hash256;
  readonly parentHash: Hash256;
  readonly payload: Omit<electra.ExecutionPayload, "withdrawals">;
}

const hex = z.string().regex(/^0x[0-9a-fA-F]*$/);
const bytes = hex.transform(fromHex);
const quantity = hex.transform((text) => Number(text));
const blockShape = z.object({
  number: quantity,
  hash: hex,
  parentHash: hex,
  miner: bytes,
  stateRoot: bytes,
  receiptsRoot: bytes,
  logsBloom: bytes,
  mixHash: bytes,
  gasLimit: quantity,
  gasUsed: quantity,
  timestamp: quantity,
  extraData: bytes,
  baseFeePerGas: hex.transform(BigInt),
  blobGasUsed: hex.transform(BigInt).default(0n),
  excessBlobGas: hex.transform(BigInt).default(0n),
  transactions: z.array(hex),
});
const answerShape = z.object({ id: z.number(), result: z.unknown() });

/** The chain behind a JSON-RPC address. */
export class ExecutionChain {
  readonly #signal: AbortSignal;

  constructor(readonly url: string, signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @returns undefined when there is no such block. */
  async block(at: number | "latest"): Promise<ExecutionBlock | undefined> {
    const tag = at === "latest" ? at : `0x${at.toString(16)}`;
    const [json] = await this.#call("eth_getBlockByNumber", [[tag, false]]);
    if (json === null) return undefined;
    const block = blockShape.parse(json);
    return {
      number: block.number,
      hash: toHash256(block.hash),
      parentHash: toHash256(block.parentHash),
      payload: {
        parentHash: fromHex(block.parentHash),
        feeRecipient: block.miner,
        stateRoot: block.stateRoot,
        receiptsRoot: block.receiptsRoot,
        logsBloom: block.logsBloom,
        prevRandao: block.mixHash,
        blockNumber: block.number,
        gasLimit: block.gasLimit,
        gasUsed: block.gasUsed,
        timestamp: block.timestamp,
        extraData: block.extraData,
        baseFeePerGas: block.baseFeePerGas,
        blockHash: fromHex(block.hash),
        transactions: await this.#transactions(block.transactions),
        blobGasUsed: block.blobGasUsed,
        excessBlobGas: block.excessBlobGas,
      },
    };
  }

  /** Makes empty blocks. */
  async mine(blocks: number): Promise<void> {
    await this.#call("anvil_mine", [[`0x${blocks.toString(16)}`]]);
  }

  async #forward(body: string): Promise<string> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: this.#signal,
    });
    return await response.text();
  }

  async #transactions(hashes: readonly string[]): Promise<Uint8Array[]> {
    if (hashes.length === 0) return [];
    const raw = await this.#call("eth_getRawTransactionByHash", hashes.map((hash) => [hash]));
    return raw.map((item) => bytes.parse(item));
  }

  /** One method, several parameter lists, in one request. */
  async #call(method: string, calls: readonly (readonly unknown[])[]): Promise<unknown[]> {
    const body = calls.map((params, id) => ({ jsonrpc: "2.0", id, method, params }));
    const json: unknown = JSON.parse(await this.#forward(JSON.stringify(body)));
    const answers = z.array(answerShape).parse(json);
    return answers.sort((a, b) => a.id - b.id).map(({ result }) => {
      if (result === undefined) throw new Error(`${method}: ${JSON.stringify(json)}`);
      return result;
    });
  }
}

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
      eth1Data: valueOf(before, "eth1Data"),
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
        latestExecutionPayloadHeader: {
          ...payload,
          transactionsRoot: types.payload.fields.transactions.hashTreeRoot(payload.transactions),
          withdrawalsRoot: types.payload.fields.withdrawals.hashTreeRoot(payload.withdrawals),
        },
        nextWithdrawalIndex: last === undefined ? valueOf(before, "nextWithdrawalIndex") : last.index + 1,
        nextWithdrawalValidatorIndex: last === undefined
          ? valueOf(before, "nextWithdrawalValidatorIndex")
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

  #withdrawals(state: Node): electra.ExecutionPayload["withdrawals"] {
    const validators = this.#keys.publicKeys.length;
    const index = valueOf(state, "nextWithdrawalIndex");
    const first = valueOf(state, "nextWithdrawalValidatorIndex");
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
