/**
 * Updates of light clients as one unsigned extrinsic: made, and tried.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers/consensus.rs, modules/pallets/consensus-incentives.
 */
import { signatureCodec } from "../../protocol/ismp/fees.ts";
import { type IsmpMessage, ismpMessagesCodec } from "../../protocol/ismp/ismp_message.ts";
import { consensusSignerMessage } from "../../protocol/ismp/signed_messages.ts";
import type { ConsensusStateId } from "../../protocol/ismp/state_machine.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { Refusal, SignedSubmission } from "../chain.ts";
import { fetchClientFacts } from "./consensus_views.ts";
import {
  type BareExtrinsic,
  bareExtrinsic,
  type MessageSigner,
  toSubmission,
  VALIDATE_METHOD,
  validationCall,
} from "./extrinsics.ts";
import { callLayouts } from "./layout.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";
import { requireReadable, requireSize, withCurrentRuntime } from "./simulation.ts";
import { readDryRun, readValidation, type Verdict } from "./validity.ts";

/** Updates of one light client, in the order in which the hub shall execute them: all or none. */
export interface Updates {
  readonly id: ConsensusStateId;
  readonly proofs: readonly Uint8Array[];
}

/** What is needed beside the updates. */
export interface UpdateOptions {
  readonly signer: Pick<MessageSigner, "signDigest">;
  /** Largest extrinsic, bytes. */
  readonly maxCallBytes: number;
}

/** Makes the extrinsic. One round trip. @throws {RpcFault} `too_large`. */
export async function prepareUpdates(
  node: SubstrateNode,
  updates: Updates,
  options: UpdateOptions,
  signal: AbortSignal,
): Promise<SignedSubmission> {
  const messages = signedMessages(updates, options);
  const { extrinsic, header } = await withCurrentRuntime(node, async (runtime) => {
    const built = updateExtrinsic(node, runtime, messages);
    requireSize(node, built, options.maxCallBytes);
    const [version, best] = await node.client.askAll([calls.runtimeVersion(), calls.header()], signal);
    return { version, extrinsic: built, header: best };
  }, signal);
  if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
  return toSubmission(node, extrinsic, header.height);
}

/**
 * What the pool says to the updates now. One round trip when it takes them, two when not: it names no reason, so those
 * that storage shows are looked for.
 */
export async function tryUpdates(
  node: SubstrateNode,
  updates: Updates,
  options: UpdateOptions,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  try {
    const verdict = await ask(node, signedMessages(updates, options), options, signal);
    return verdict.kind === "valid" ? undefined : await explain(node, updates.id, verdict.reason, signal);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "too_large") throw fault;
    return { code: "too_large", detail: fault.detail ?? fault.code };
  }
}

/** Signed each, though only the first one's signature is looked at when rewards are paid. */
function signedMessages({ id, proofs }: Updates, { signer }: UpdateOptions): readonly IsmpMessage[] {
  if (proofs.length === 0) throw new Error("There is no update to make an extrinsic of");
  return proofs.map((consensusProof): IsmpMessage => {
    const { digest } = consensusSignerMessage(consensusProof);
    const signature = signatureCodec.enc(signer.signDigest(digest));
    return { tag: "Consensus", value: { consensusProof, consensusStateId: id, signer: signature } };
  });
}

/** Never compressed: protocol notes 05, section 3.4. */
function updateExtrinsic(
  node: SubstrateNode,
  runtime: Runtime,
  messages: readonly IsmpMessage[],
): BareExtrinsic {
  return bareExtrinsic(node, runtime.encodeCall(callLayouts.consensus, ismpMessagesCodec.enc(messages)));
}

async function ask(
  node: SubstrateNode,
  messages: readonly IsmpMessage[],
  { maxCallBytes }: UpdateOptions,
  signal: AbortSignal,
): Promise<Exclude<Verdict, { kind: "unreadable" }>> {
  const { runtime, extrinsic, answer } = await withCurrentRuntime(node, async (current) => {
    const built = updateExtrinsic(node, current, messages);
    requireSize(node, built, maxCallBytes);
    const [version, validated] = await node.client.tryAll(
      [calls.runtimeVersion(), validationCall(built)],
      signal,
    );
    if (version instanceof RpcFault) throw version;
    return { version, runtime: current, extrinsic: built, answer: validated };
  }, signal);
  if (!(answer instanceof RpcFault)) {
    return requireReadable(node, readValidation(answer), VALIDATE_METHOD);
  }
  // A gateway may not offer the runtime API, but the dry run.
  if (answer.code !== "missing_method") throw answer;
  const run = await node.client.ask(calls.dryRun(extrinsic.bytes), signal);
  return requireReadable(node, readDryRun(runtime, run), "system_dryRun");
}

/** The first rule that storage shows to be broken, in the hub's order; else it is the proof. */
async function explain(
  node: SubstrateNode,
  id: ConsensusStateId,
  reason: string,
  signal: AbortSignal,
): Promise<Refusal> {
  const { client, nowSec } = await fetchClientFacts(node, id, "best", signal);
  if (client === undefined) return { code: "not_ready", detail: `the hub has no consensus client ${id}` };
  if (client.isFrozen) return { code: "host_frozen", detail: `the consensus client ${id} is frozen` };
  const ageSec = nowSec - client.updatedSec;
  if (ageSec >= client.unbondingSec) {
    const detail = `${ageSec} seconds without an update, ${client.unbondingSec} are allowed`;
    return { code: "client_expired", detail };
  }
  if (reason === "Invalid.ExhaustsResources") return { code: "too_large", detail: reason };
  const isProof = reason === "Invalid.BadProof" || reason === "Ismp.InvalidMessage";
  return { code: isProof ? "bad_proof" : "unspecified", detail: reason };
}
