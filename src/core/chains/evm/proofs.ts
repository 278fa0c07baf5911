/**
 * Proofs of requests, fees, receipts and state values at one block, verified as the hub will, below the root that the
 * hub stores for the block. How state is proved is up to a {@link SlotProver}. Source: docs/protocol/evm-host.md section
 * 5; polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
import { fromHex, type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import { requestFeeSlot, requestReceiptSlot, requestSenderSlot } from "../../evm/host_storage.ts";
import type { Message } from "../../ismp/message.ts";
import type { RpcFault } from "../../rpc/call.ts";
import {
  type ChainProofs,
  type FeeProof,
  type MessageProof,
  type ProofVerifier,
  type ProvenBlock,
  type ReceiptProof,
  UnprovableKeyError,
} from "../proofs.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";

/** Proofs of the host's state. */
export class EvmProofs extends EvmPart implements ChainProofs {
  readonly #prover: SlotProver;

  constructor(context: EvmContext, prover: SlotProver) {
    super(context);
    this.#prover = prover;
  }

  /**
   * Proves the sender slots of all messages at block `height`, below the root that `target` stores for it.
   * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
   */
  async proveMessages(
    messages: readonly Message[],
    { height, target }: { readonly height: bigint; readonly target: ProofVerifier },
    signal: AbortSignal,
  ): Promise<MessageProof> {
    const { id } = this.context.at;
    const slots = messages.map((message) => {
      if (message.kind === "getResponse") throw new Error("EVM hosts dispatch requests only");
      return fromHex(requestSenderSlot(message.commitment));
    });
    const stateRoot = await target.reads.fetchStateRoot({ id, height }, signal);
    let proof: StateProof;
    try {
      proof = await this.#prover.prove({ keys: slots, height, stateRoot }, signal);
    } catch (error) {
      const isHostMissing = error instanceof UnprovableKeyError && error.code === "account_not_present";
      throw isHostMissing ? this.#absentAt(height, "no host") : error;
    }
    const absent = messages.find((_, index) =>
      proof.readNumber(toHex(slots[index] ?? new Uint8Array())) === 0n
    );
    if (absent !== undefined) throw this.#absentAt(height, `no request ${absent.commitment} in the host`);
    return { kind: "state", height: { id, height }, proof: proof.bytes };
  }

  /**
   * Proves fee and existence of requests, and returns the proven fees.
   * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
   */
  async proveFees(commitments: readonly Hash256[], at: ProvenBlock, signal: AbortSignal): Promise<FeeProof> {
    const wanted = [...new Set(commitments)];
    const keys = wanted.flatMap((each) => [requestFeeSlot(each), requestSenderSlot(each)]).map(fromHex);
    const proof = await this.#prover.prove({ keys, ...at }, signal);
    const absent = wanted.find((each) => proof.readNumber(requestSenderSlot(each)) === 0n);
    if (absent !== undefined) throw this.#absentAt(at.height, `no request ${absent} in the host`);
    return { proof: proof.bytes, fees: commitments.map((each) => proof.readNumber(requestFeeSlot(each))) };
  }

  /** Proves receipts of requests, and returns the proven relayers. */
  async proveReceipts(
    commitments: readonly Hash256[],
    at: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    const slots = commitments.map(requestReceiptSlot);
    const keys = [...new Set(slots)].map(fromHex);
    const proof = await this.#prover.prove({ keys, ...at }, signal);
    return { proof: proof.bytes, relayers: slots.map((slot) => readAddress(proof.readNumber(slot))) };
  }

  /**
   * Proves slots (52 bytes: contract and slot; 32 bytes: slot of the host) and, in Ethereum's trie, accounts (20 bytes).
   * @throws {UnprovableKeyError}
   */
  async proveState(keys: readonly Uint8Array[], at: ProvenBlock, signal: AbortSignal): Promise<Uint8Array> {
    const wanted = [...new Set(keys.map(toHex))].map(fromHex);
    return (await this.#prover.prove({ keys: wanted, ...at }, signal)).bytes;
  }

  /** Creates the fault of a block whose state lacks what was to be proved. */
  #absentAt(height: bigint, what: string): RpcFault {
    return this.context.fault("not_found", this.#prover.method, `at block ${height} there is ${what}`);
  }
}

/** The address in a slot; `undefined` when it is empty. */
function readAddress(number: bigint): Uint8Array | undefined {
  if (number === 0n) return undefined;
  if (number >> 160n !== 0n) throw new Error("The receipt's slot holds no address");
  return fromHex(number.toString(16).padStart(40, "0"));
}

/** Verified proof. */
export interface StateProof {
  /** Content of a `Proof` about the chain. */
  readonly bytes: Uint8Array;
  /** Reads the number in a proven slot by the hex of its key; 0 when the slot is empty. */
  readonly readNumber: (key: Hex) => bigint;
}

/** Proves state of contracts at one block. */
export interface SlotProver {
  /** RPC method that returns the proofs, for faults. */
  readonly method: string;
  /**
   * Fetches a proof from the root of a block to all keys, and verifies it as the hub will. An endpoint whose proof does
   * not verify is reported.
   * @param wanted.stateRoot as the hub stores it; `undefined`: the endpoint's own header is trusted
   * @throws {UnprovableKeyError}
   */
  prove(
    wanted: ProvenBlock & { readonly keys: readonly Uint8Array[] },
    signal: AbortSignal,
  ): Promise<StateProof>;
}
