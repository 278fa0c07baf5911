/**
 * Proofs of state in Ethereum's trie (`eth_getProof`), verified as the hub will, below the root that the hub stores for
 * the block: a forged proof is a fault of the endpoint, which is reported.
 */
import { fromHex, type Hash256, toHash256, toHex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import { evmStateProofCodec } from "../../ismp/proof.ts";
import { buildEvmStateProof, EvmProofError, readEvmState } from "../../merkle/evm_proof.ts";
import { decodeRlp } from "../../merkle/patricia.ts";
import type { FaultPlace, RpcFault } from "../../rpc/fault.ts";
import { type ProvenBlock, UnprovableKeyError } from "../proofs.ts";
import type { EvmContext } from "./evm_context.ts";
import { stateRootAt, storageProof } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import type { SlotProver, StateProof } from "./slot_prover.ts";

/** Proofs of old blocks require disk reads. */
const PROOF_TIMEOUT_MS = 60_000;

/** Prover of a chain whose state is in Ethereum's trie. */
export class TrieProver implements SlotProver {
  readonly method = "eth_getProof";
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** An endpoint whose proof does not verify is followed by the next one. One request. @throws {UnprovableKeyError} */
  async prove(
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
        proved = {
          bytes: evmStateProofCodec.enc(proof),
          readNumber: (key) => readNumber(values.get(key)),
        };
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
