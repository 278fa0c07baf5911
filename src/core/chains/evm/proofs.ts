/**
 * Proofs of requests, fees, receipts and state values at one block, verified as the hub will, below the root that the
 * hub stores for the block: a forged proof is a fault of the endpoint, which is reported. Source:
 * docs/protocol/evm-host.md section 5; polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import { requestFeeSlot, requestReceiptSlot, requestSenderSlot } from "../../evm/host_storage.ts";
import { evmStateProofCodec } from "../../ismp/proof.ts";
import { buildEvmStateProof, EvmProofError, readEvmState } from "../../merkle/evm_proof.ts";
import { decodeRlp } from "../../merkle/patricia.ts";
import type { FaultPlace, RpcFault } from "../../rpc/fault.ts";
import {
  type ChainProofs,
  type FeeProof,
  type MessageProof,
  type ProofVerifier,
  type ProvenBlock,
  type ReceiptProof,
  UnprovableKeyError,
} from "../proofs.ts";
import type { EvmContext } from "./evm_context.ts";
import { stateRootAt, storageProof } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import type { Message } from "../../ismp/message.ts";

/** Proofs of old blocks require disk reads. */
const PROOF_TIMEOUT_MS = 60_000;

/** Verified proof. */
export interface StateProof {
  /** SCALE of `EvmStateProof`. */
  readonly bytes: Uint8Array;
  /** RLP of the value by hex of the key, `undefined` for empty slots. */
  readonly values: ReadonlyMap<Hex, Uint8Array | undefined>;
}

/** Proofs of the host's state. */
export class EvmProofs implements ChainProofs {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /**
   * Proves the sender slots of all messages at block `height`, below the root that `target` stores for it. One request,
   * and one of the target.
   * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
   */
  async proveMessages(
    messages: readonly Message[],
    { height, target }: { readonly height: bigint; readonly target: ProofVerifier },
    signal: AbortSignal,
  ): Promise<MessageProof> {
    const { id } = this.#context.at;
    const slots = messages.map((message) => {
      if (message.kind === "getResponse") throw new Error("EVM hosts dispatch requests only");
      return fromHex(requestSenderSlot(message.commitment));
    });
    const stateRoot = await target.reads.fetchStateRoot({ id, height }, signal);
    let proof: StateProof;
    try {
      proof = await this.#verifiedProof({ keys: slots, height, stateRoot }, signal);
    } catch (error) {
      const isHostMissing = error instanceof UnprovableKeyError && error.code === "account_not_present";
      throw isHostMissing ? this.#absentAt(height, "no host") : error;
    }
    const absent = messages.find((_, index) =>
      isEmptySlot(proof.values.get(toHex(slots[index] ?? new Uint8Array())))
    );
    if (absent !== undefined) throw this.#absentAt(height, `no request ${absent.commitment} in the host`);
    return { kind: "state", height: { id, height }, proof: proof.bytes };
  }

  /**
   * Proves fee and existence of requests, and returns the proven fees. One request.
   * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
   */
  async proveFees(
    commitments: readonly Hash256[],
    at: ProvenBlock,
    signal: AbortSignal,
  ): Promise<FeeProof> {
    const wanted = [...new Set(commitments)];
    const keys = wanted.flatMap((each) => [requestFeeSlot(each), requestSenderSlot(each)]).map(fromHex);
    const { bytes, values } = await this.#verifiedProof({ keys, ...at }, signal);
    const absent = wanted.find((each) => isEmptySlot(values.get(requestSenderSlot(each))));
    if (absent !== undefined) throw this.#absentAt(at.height, `no request ${absent} in the host`);
    return { proof: bytes, fees: commitments.map((each) => readNumber(values.get(requestFeeSlot(each)))) };
  }

  /** Proves receipts of requests, and returns the proven relayers. One request. */
  async proveReceipts(
    commitments: readonly Hash256[],
    at: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    const slots = commitments.map(requestReceiptSlot);
    const keys = [...new Set(slots)].map(fromHex);
    const { bytes, values } = await this.#verifiedProof({ keys, ...at }, signal);
    return { proof: bytes, relayers: slots.map((slot) => readAddress(values.get(slot))) };
  }

  /**
   * Proves accounts (keys of 20 bytes) and slots (52 bytes: contract and slot; 32 bytes: slot of the host). One request.
   * @throws {UnprovableKeyError}
   */
  async proveState(
    keys: readonly Uint8Array[],
    at: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const wanted = [...new Set(keys.map(toHex))].map(fromHex);
    return (await this.#verifiedProof({ keys: wanted, ...at }, signal)).bytes;
  }

  /** Creates the fault of a block whose state lacks what was to be proved. */
  #absentAt(height: bigint, what: string): RpcFault {
    const place = { chain: this.#context.at.endpoints.chain, endpointHost: "", method: "eth_getProof" };
    return faultAt("not_found", place, `at block ${height} there is ${what}`);
  }

  /**
   * Fetches a proof from the root of a block to all keys. An endpoint whose proof does not verify is reported, and the
   * next one is used.
   * @param wanted.stateRoot as the hub stores it; `undefined`: the endpoint's own header is trusted
   * @throws {UnprovableKeyError}
   */
  async #verifiedProof(
    wanted: ProvenBlock & { readonly keys: readonly Uint8Array[] },
    signal: AbortSignal,
  ): Promise<StateProof> {
    const { endpoints, host } = this.#context.at;
    const { keys, height } = wanted;
    const batch = new RpcBatch(endpoints);
    const root = wanted.stateRoot === undefined
      ? batch.add(stateRootAt(height))
      : (): Hash256 | undefined => wanted.stateRoot;
    const answers = [...slotsByAccount(keys, host)].map(([account, slots]) =>
      batch.add(storageProof(account, slots, height))
    );
    let proved: StateProof | UnprovableKeyError | undefined;
    const check = (place: FaultPlace): RpcFault | undefined => {
      const stateRoot = root();
      if (stateRoot === undefined) return faultAt("lagging", place, `no block ${height} yet`);
      try {
        const proof = buildEvmStateProof(answers.map((answer) => answer()));
        const values = readEvmState({ stateRoot, host: fromHex(host), proof, keys });
        proved = { bytes: evmStateProofCodec.enc(proof), values };
        return undefined;
      } catch (cause) {
        if (!(cause instanceof EvmProofError)) throw cause;
        if (cause.code !== "account_not_present") {
          const under = wanted.stateRoot === undefined ? "" : " under the root that the hub stores";
          this.#context.reportFault(place.endpointHost, "endpoint_proof_invalid", {
            block: height,
            reason: cause.code,
            storedRoot: wanted.stateRoot !== undefined,
          });
          return faultAt(
            "malformed",
            place,
            `the proof of block ${height} does not verify${under}: ${cause.code}`,
          );
        }
        proved = new UnprovableKeyError("account_not_present", undefined, { cause });
        return undefined;
      }
    };
    await batch.send({ signal, timeoutMs: PROOF_TIMEOUT_MS, check });
    if (proved instanceof UnprovableKeyError) throw proved;
    if (proved === undefined) throw new Error("The answers were not checked");
    return proved;
  }
}

/** Slots per account, for keys as GET requests name them. @throws {UnprovableKeyError} */
function slotsByAccount(
  keys: readonly Uint8Array[],
  host: Address,
): ReadonlyMap<Address, readonly Hash256[]> {
  const slots = new Map<Address, Hash256[]>();
  for (const key of keys) {
    if (key.length !== 20 && key.length !== 32 && key.length !== 52) {
      throw new UnprovableKeyError("unsupported_key_length", key);
    }
    const account = key.length === 32 ? host : toAddress(toHex(key.subarray(0, 20)));
    const known = slots.get(account) ?? [];
    slots.set(account, known);
    if (key.length > 20) known.push(toHash256(key.subarray(key.length - 32)));
  }
  return slots;
}

/** True for a slot without a value; some nodes keep slots that were set to zero. */
function isEmptySlot(value: Uint8Array | undefined): boolean {
  return value === undefined || value.every((byte) => byte === 0 || byte === 0x80);
}

/** The number in a slot; 0 when it is empty. */
function readNumber(value: Uint8Array | undefined): bigint {
  if (value === undefined || isEmptySlot(value)) return 0n;
  const bytes = decodeRlp(value);
  if (Array.isArray(bytes) || bytes.length > 32) throw new Error("The fee's slot holds no number");
  return BigInt(toHex(bytes));
}

/** The address in a slot; RLP omits its leading zeros. */
function readAddress(value: Uint8Array | undefined): Uint8Array | undefined {
  if (value === undefined || isEmptySlot(value)) return undefined;
  const bytes = decodeRlp(value);
  if (Array.isArray(bytes) || bytes.length > 20) throw new Error("The receipt's slot holds no address");
  const address = new Uint8Array(20);
  address.set(bytes, 20 - bytes.length);
  return address;
}
