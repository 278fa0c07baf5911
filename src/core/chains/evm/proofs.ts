/**
 * Proof that this chain's host dispatched some messages, in the form the hub's EVM verifier takes.
 * Source: protocol notes 02, section 5; polytope-labs/hyperbridge: modules/ismp/state-machines/evm.
 */
import { requestSenderSlot } from "../../protocol/evm/host_storage.ts";
import type { Message } from "../../protocol/ismp/message.ts";
import { evmStateProofCodec } from "../../protocol/ismp/proof.ts";
import { buildEvmStateProof } from "../../protocol/trie/evm_proof.ts";
import type { FaultPlace } from "../../rpc/fault.ts";
import type { RpcFault } from "../../rpc/fault.ts";
import type { MessageProof } from "../chain.ts";
import type { EvmContext } from "./evm_context.ts";
import { storageProof } from "./queries.ts";
import { faultAt, Question } from "./question.ts";

/** Proofs of old blocks make nodes read from disk. */
const PROOF_TIMEOUT_MS = 60_000;

/**
 * State proof of the sender slots of all messages at block `height`. One request.
 * @throws {RpcFault} `not_found` when the host had not dispatched one of them by then.
 */
export async function proveMessages(
  context: EvmContext,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
): Promise<MessageProof> {
  const { pool, host, id } = context.at;
  const slots = messages.map((message) => {
    if (message.kind === "getResponse") throw new Error("EVM hosts dispatch requests only");
    return requestSenderSlot(message.commitment);
  });
  const question = new Question(pool);
  const answer = question.add(storageProof(host, slots, height));
  const check = (place: FaultPlace): RpcFault | undefined => {
    const { accountProof, storageProof: proved } = answer();
    if (accountProof.length === 0 || proved.length !== slots.length) {
      return faultAt("malformed", place, "the proof does not cover what was asked");
    }
    const absent = messages.filter((_, index) => /^0x0*$/.test(proved[index]?.value ?? "0x"));
    const [first] = absent;
    if (first === undefined) return undefined;
    return faultAt("not_found", place, `at block ${height} the host has no request ${first.commitment}`);
  };
  await question.ask({ signal, timeoutMs: PROOF_TIMEOUT_MS, check });
  const proof = evmStateProofCodec.enc(buildEvmStateProof([answer()]));
  return { kind: "state", height: { id, height }, proof };
}
