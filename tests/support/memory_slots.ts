/**
 * Proofs of an EVM chain's state in memory: `eth_getProof` names the slots' values, and a seal in the place of nodes that
 * binds them to the block. The seal is what hosts in memory verify. Start reading at {@link proveSlots}.
 */
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  keccak256,
  toHash256,
  toHex,
} from "../../src/core/encoding/bytes.ts";
import { requestFeeSlot, requestReceiptSlot, requestSenderSlot } from "../../src/core/evm/host_storage.ts";
import type { EvmContext } from "../../src/core/chains/evm/evm_context.ts";
import type { SlotProver, StateProof } from "../../src/core/chains/evm/proofs.ts";
import { stateRootAt, storageProof } from "../../src/core/chains/evm/queries.ts";
import { faultAt, RpcBatch } from "../../src/core/chains/evm/rpc_batch.ts";
import type { ProvenBlock } from "../../src/core/chains/proofs.ts";
import type { FaultPlace, RpcFault } from "../../src/core/rpc/call.ts";
import { sealOfKeys } from "./memory_answers.ts";
import type { MemoryBlock } from "./memory_block.ts";
import { sealOf } from "./memory_host.ts";
import { quantity } from "./memory_logs.ts";

/** Seal of what a block's state says of requests, which claims on the hub carry. */
export function sealOfClaims(
  what: "fees" | "receipts",
  root: Hash256,
  commitments: readonly Hash256[],
): Uint8Array {
  return keccak256(new TextEncoder().encode([what, root, ...commitments].join()));
}

/** What a slot of the host holds. */
interface SlotMeaning {
  readonly what: "sender" | "fee" | "receipt";
  readonly commitment: Hash256;
}

/** Slots of every request that was met. */
const meanings = new Map<Hex, SlotMeaning>();
const noted = new Set<Hash256>();
/** Requests whose slots are remembered; more are of seeds that are over. */
const MAX_NOTED = 4_096;

function note(commitment: Hash256): void {
  if (noted.has(commitment)) return;
  if (noted.size >= MAX_NOTED) {
    noted.clear();
    meanings.clear();
  }
  noted.add(commitment);
  meanings.set(requestSenderSlot(commitment), { what: "sender", commitment });
  meanings.set(requestFeeSlot(commitment), { what: "fee", commitment });
  meanings.set(requestReceiptSlot(commitment), { what: "receipt", commitment });
}

/** Answer to `eth_getProof` of these slots. */
export function proveSlots(
  { state, hash }: MemoryBlock,
  { host, to }: { readonly host: Hex; readonly to: string },
  slots: unknown,
): unknown {
  const keys = Array.isArray(slots) ? slots.map((slot) => toHash256(String(slot))) : [];
  if (to !== host) {
    const bare = keys.map((slot) => concatBytes(fromHex(to), fromHex(slot)));
    return answerOf(to, keys.map(() => 0n), sealOfKeys(hash, bare), { keys, root: hash });
  }
  for (const commitment of [...state.sent.keys(), ...state.receipts.keys()]) note(commitment);
  const found = keys.map((slot) => meanings.get(slot));
  const values = found.map((meaning) => {
    if (meaning === undefined) return 0n;
    const { what, commitment } = meaning;
    if (what === "sender") return state.sent.has(commitment) ? 1n : 0n;
    if (what === "fee") return state.fees.get(commitment) ?? 0n;
    const relayer = state.receipts.get(commitment);
    return relayer === undefined ? 0n : BigInt(toHex(relayer));
  });
  const of = (kind: SlotMeaning["what"]): readonly Hash256[] =>
    found.flatMap((meaning) => meaning?.what === kind ? [meaning.commitment] : []);
  const [fees, receipts, senders] = [of("fee"), of("receipt"), of("sender")];
  const seal = fees.length > 0
    ? sealOfClaims("fees", hash, fees)
    : receipts.length > 0
    ? sealOfClaims("receipts", hash, receipts)
    : fromHex(sealOf(hash, senders.map((commitment) => ({ commitment }))));
  return answerOf(to, values, seal, { keys, root: hash });
}

function answerOf(
  address: string,
  values: readonly bigint[],
  seal: Uint8Array,
  { keys, root }: { readonly keys: readonly Hash256[]; readonly root: Hash256 },
): unknown {
  const storageProof = keys.map((key, index) => ({ key, value: quantity(values[index] ?? 0n), proof: [] }));
  return { address, accountProof: [toHex(seal)], storageHash: bindingOf(root, values, seal), storageProof };
}

/** What binds values and seal to a root. */
function bindingOf(root: Hash256, values: readonly bigint[], seal: Uint8Array): Hex {
  return toHex(keccak256(new TextEncoder().encode([root, ...values, toHex(seal)].join())));
}

/** Proves slots as the adapter's prover does, with seals in the place of tries. */
export class SealProver implements SlotProver {
  readonly method = "eth_getProof";
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  async prove(
    { keys, height, stateRoot }: ProvenBlock & { readonly keys: readonly Uint8Array[] },
    signal: AbortSignal,
  ): Promise<StateProof> {
    const { endpoints, host } = this.#context.at;
    const batch = new RpcBatch(endpoints);
    const root = stateRoot === undefined ? batch.add(stateRootAt(height)) : (): Hash256 => stateRoot;
    const [first] = keys;
    const account = first !== undefined && first.length === 52 ? toHex(first.subarray(0, 20)) : host;
    const slots = keys.map((key) => toHash256(key.subarray(key.length - 32)));
    const answer = batch.add(storageProof(account, slots, height));
    const check = (place: FaultPlace): RpcFault | undefined => {
      const known = root();
      if (known === undefined) return faultAt("lagging", place, `no block ${height} yet`);
      const { accountProof: [seal = "0x"], storageHash } = answer();
      if (storageHash === bindingOf(known, valuesOf(answer()), fromHex(seal))) return undefined;
      const reason = "seal";
      const fields = { block: height, reason, storedRoot: stateRoot !== undefined };
      this.#context.at.log.warn("endpoint_data_invalid.proof", { endpoint: place.endpointHost, ...fields });
      return faultAt("malformed", place, `the proof of block ${height} does not verify`);
    };
    await batch.send({ signal, check });
    const { accountProof: [seal = "0x"] } = answer();
    const found = valuesOf(answer());
    const values = new Map(slots.map((slot, index) => [slot, found[index]]));
    return { bytes: fromHex(seal), readNumber: (key) => values.get(toHash256(key)) ?? 0n };
  }
}

/** Values of the slots, in the order of the question. */
function valuesOf(
  { storageProof }: { readonly storageProof: readonly { readonly value: string }[] },
): readonly bigint[] {
  return storageProof.map(({ value }) => BigInt(value));
}
