/**
 * The calls that relayers make on the hub beside delivering messages: tried, and made into extrinsics.
 * They are unsigned; who gains by them is in their arguments.
 */
import { getMessage } from "../../protocol/ismp/commitment.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../protocol/ismp/fees.ts";
import { getRequestsWithProofCodec } from "../../protocol/ismp/ismp_message.ts";
import type { Proof } from "../../protocol/ismp/proof.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { Refusal, SignedSubmission } from "../chain.ts";
import type { HubCall, HubCallRefusal } from "../hub_accounts.ts";
import { compressCall } from "./compression.ts";
import {
  type BareExtrinsic,
  bareExtrinsic,
  toSubmission,
  VALIDATE_METHOD,
  validationCall,
} from "./extrinsics.ts";
import { callLayouts } from "./layout.ts";
import { codeOfModuleError } from "./module_errors.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchProofFacts } from "./proof_facts.ts";
import { fetchReceipts } from "./receipts.ts";
import { refusalOfGets, refusalOfProof } from "./refusal.ts";
import type { Runtime } from "./runtime.ts";
import { requireReadable, requireSize, withCurrentRuntime } from "./simulation.ts";
import { findModuleError, readDryRun, readValidation } from "./validity.ts";

/**
 * The call with the indexes of the runtime.
 * @throws {RuntimeFault} when the runtime has no such call, or takes other arguments.
 */
export function encodeHubCall(runtime: Runtime, call: HubCall): Uint8Array {
  switch (call.kind) {
    case "accumulate":
      return runtime.encodeCall(callLayouts.accumulateFees, withdrawalProofCodec.enc(call.proof));
    case "withdraw":
      return runtime.encodeCall(callLayouts.withdrawFees, withdrawalInputDataCodec.enc(call.data));
    case "answerGets":
      return runtime.encodeCall(callLayouts.getRequests, getRequestsWithProofCodec.enc(call.answer));
    case "claimRotation":
      return runtime.encodeCall(
        callLayouts.claimRotation,
        outboundConsensusDeliveryClaimCodec.enc(call.claim),
      );
    case "claimRequest":
      return runtime.encodeCall(callLayouts.claimRequest, outboundRequestDeliveryClaimCodec.enc(call.claim));
  }
}

/** What is needed beside the call. */
export interface HubCallOptions {
  /** Largest extrinsic, bytes. */
  readonly maxCallBytes: number;
}

/**
 * What the runtime says to the call now. One round trip when it would take it; when not, two: the pool names no
 * reason, so the dry run is asked for the pallet's error, and storage for what the proofs' heights lack.
 */
export async function tryHubCall(
  node: SubstrateNode,
  call: HubCall,
  options: HubCallOptions,
  signal: AbortSignal,
): Promise<HubCallRefusal | undefined> {
  try {
    return await ask(node, call, options, signal);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "too_large") throw fault;
    return { code: "too_large", detail: fault.detail ?? fault.code, error: undefined };
  }
}

/** Makes the extrinsic, compressed where that helps. One round trip. @throws {RpcFault} `too_large`. */
export async function prepareHubCall(
  node: SubstrateNode,
  call: HubCall,
  options: HubCallOptions,
  signal: AbortSignal,
): Promise<SignedSubmission> {
  const { extrinsic, header } = await withCurrentRuntime(node, async (runtime) => {
    const encoded = encodeHubCall(runtime, call);
    const isCompressible = call.kind === "accumulate";
    const built = bareExtrinsic(node, isCompressible ? compressCall(node, runtime, encoded) : encoded);
    requireSize(node, built, options.maxCallBytes);
    const [version, best] = await node.client.askAll([calls.runtimeVersion(), calls.header()], signal);
    return { version, extrinsic: built, header: best };
  }, signal);
  if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
  return toSubmission(node, extrinsic, header.height);
}

async function ask(
  node: SubstrateNode,
  call: HubCall,
  { maxCallBytes }: HubCallOptions,
  signal: AbortSignal,
): Promise<HubCallRefusal | undefined> {
  const { runtime, extrinsic, answer } = await withCurrentRuntime(node, async (current) => {
    // Never compressed: the decompressor's own error could hide the pallet's.
    const built = bareExtrinsic(node, encodeHubCall(current, call));
    requireSize(node, built, maxCallBytes);
    const [version, validated] = await node.client.tryAll(
      [calls.runtimeVersion(), validationCall(built)],
      signal,
    );
    if (version instanceof RpcFault) throw version;
    return { version, runtime: current, extrinsic: built, answer: validated };
  }, signal);
  if (answer instanceof RpcFault) {
    if (answer.code !== "missing_method") throw answer;
    const run = await dryRun(node, runtime, extrinsic, signal);
    if (run === undefined) throw answer;
    return run.kind === "valid" ? undefined : await explain(node, call, run, signal);
  }
  const verdict = requireReadable(node, readValidation(answer), VALIDATE_METHOD);
  if (verdict.kind === "valid") return undefined;
  const run = dryRun(node, runtime, extrinsic, signal);
  const reason = { reason: verdict.reason, error: undefined };
  return await explain(node, call, run.then((each) => each?.kind === "invalid" ? each : reason), signal);
}

/** Why a call fails, in the runtime's words. */
interface Reason {
  readonly reason: string;
  /** `Pallet.Error`. */
  readonly error: string | undefined;
}

/** `undefined`: the node does not offer it, or gave no verdict. */
async function dryRun(
  node: SubstrateNode,
  runtime: Runtime,
  extrinsic: BareExtrinsic,
  signal: AbortSignal,
): Promise<{ readonly kind: "valid" } | ({ readonly kind: "invalid" } & Reason) | undefined> {
  const [answer] = await node.client.tryAll([calls.dryRun(extrinsic.bytes)], signal);
  if (answer instanceof RpcFault) {
    if (answer.code === "missing_method") return undefined;
    throw answer;
  }
  const verdict = readDryRun(runtime, answer);
  if (verdict.kind === "unreadable") return undefined;
  return verdict.kind === "valid" ? verdict : { ...verdict, error: findModuleError(runtime, answer) };
}

async function explain(
  node: SubstrateNode,
  call: HubCall,
  found: Reason | Promise<Reason>,
  signal: AbortSignal,
): Promise<HubCallRefusal> {
  const [{ reason, error }, known] = await Promise.all([found, findReason(node, call, signal)]);
  const code = codeOfModuleError(error);
  const isVague = code === "unspecified" || code === "bad_proof";
  if (isVague && known !== undefined) return { ...known, error };
  return { code, detail: error ?? reason, error };
}

/** Rules that can be judged from storage: the pallets name one error for all of them. */
async function findReason(
  node: SubstrateNode,
  call: HubCall,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const proofs = proofsOf(call);
  const gets = call.kind === "answerGets" ? call.answer.requests.map(getMessage) : [];
  const [facts, receipts] = await Promise.all([
    Promise.all(proofs.map(({ height }) => fetchProofFacts(node, height, signal))),
    fetchReceipts(node, gets, signal),
  ]);
  const nowSec = facts[0]?.nowSec ?? 0n;
  const ofGets = call.kind === "answerGets" ? refusalOfGets(call.answer, { nowSec, receipts }) : undefined;
  return ofGets ?? facts.map(refusalOfProof).find((refusal) => refusal !== undefined);
}

function proofsOf(call: HubCall): readonly Proof[] {
  switch (call.kind) {
    case "accumulate":
      return [call.proof.sourceProof, call.proof.destProof];
    case "answerGets":
      return [call.answer.source, call.answer.response];
    case "claimRotation":
    case "claimRequest":
      return [call.claim.stateProof];
    case "withdraw":
      return [];
  }
}
