/**
 * Proof that this chain's host dispatched some messages, in the form that the hub's EVM verifier expects. Source:
 * docs/protocol/evm-host.md section 5; polytope-labs/hyperbridge: modules/ismp/state-machines/evm.
 */
import { fromHex, toHex } from "../../encoding/bytes.ts";
import { requestSenderSlot } from "../../evm/host_storage.ts";
import type { Message } from "../../ismp/message.ts";
import type { MessageProof, ProofVerifier } from "../port.ts";
import { UnprovableKeyError } from "../fees.ts";
import type { EvmContext } from "./evm_context.ts";
import { absentAt, isEmptySlot, type StateProof, verifiedProof } from "./state_proofs.ts";

/**
 * Proves the sender slots of all messages at block `height`, below the root that `target` stores for it. One request,
 * and one of the target.
 * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
 */
export async function proveMessages(
  context: EvmContext,
  messages: readonly Message[],
  height: bigint,
  target: ProofVerifier,
  signal: AbortSignal,
): Promise<MessageProof> {
  const { id } = context.at;
  const slots = messages.map((message) => {
    if (message.kind === "getResponse") throw new Error("EVM hosts dispatch requests only");
    return fromHex(requestSenderSlot(message.commitment));
  });
  const stateRoot = await target.fetchStateRoot({ id, height }, signal);
  let proof: StateProof;
  try {
    proof = await verifiedProof(context, { keys: slots, height, stateRoot }, signal);
  } catch (error) {
    const isHostMissing = error instanceof UnprovableKeyError && error.code === "account_not_present";
    throw isHostMissing ? absentAt(context, height, "no host") : error;
  }
  const absent = messages.find((_, index) =>
    isEmptySlot(proof.values.get(toHex(slots[index] ?? new Uint8Array())))
  );
  if (absent !== undefined) throw absentAt(context, height, `no request ${absent.commitment} in the host`);
  return { kind: "state", height: { id, height }, proof: proof.bytes };
}
