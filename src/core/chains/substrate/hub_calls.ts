/**
 * Calls that relayers make on the hub besides delivering messages: dry-run, and encoded as extrinsics. They are
 * unsigned; the beneficiary is in their arguments.
 */
import { getMessage } from "../../ismp/message.ts";
import type { Proof } from "../../ismp/proof.ts";
import type { HubCallRefusal, RelayerHubCall, RelayerHubCalls } from "../hub.ts";
import type { Refusal, SignedSubmission } from "../submission.ts";
import { dryRunExtrinsic, type DryRunFailure, makeExtrinsic, toSizeRefusal } from "./dry_run.ts";
import { bareExtrinsic, compressCall } from "./extrinsics.ts";
import { runtimeCalls } from "./assumptions.ts";
import { fetchProofContext, findGetRefusal, findProofRefusal, toRefusalCode } from "./refusal.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";
import type { ChainReads } from "../reads.ts";

/**
 * Encodes the call with the indexes of the runtime.
 * @throws {RuntimeFault} when the runtime has no such call, or other arguments.
 */
export function encodeHubCall(runtime: Runtime, call: RelayerHubCall): Uint8Array {
  switch (call.kind) {
    case "accumulate":
      return runtime.encodeCall(runtimeCalls.accumulateFees, call.proof);
    case "withdraw":
      return runtime.encodeCall(runtimeCalls.withdrawFees, call.data);
    case "answerGets":
      return runtime.encodeCall(runtimeCalls.getRequests, call.answer);
    case "claimRotation":
      return runtime.encodeCall(runtimeCalls.claimRotation, call.claim);
    case "claimRequest":
      return runtime.encodeCall(runtimeCalls.claimRequest, call.claim);
  }
}

/** Calls of the hub. */
export class SubstrateHubCalls implements RelayerHubCalls {
  /** @param maxCallBytes maximum size of an extrinsic */
  constructor(
    readonly node: SubstrateNode,
    readonly maxCallBytes: number,
    readonly reads: Pick<ChainReads, "fetchReceipts">,
  ) {}

  /**
   * Dry-runs the call. One round trip if it would be accepted; else two: the pool gives no reason, so `system_dryRun`
   * is called for the pallet's error, and storage is read for what the proofs' heights lack.
   */
  async dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    try {
      const { result, fetchDetail } = await dryRunExtrinsic(this.node, {
        // Never compressed: the decompressor's own error could hide the pallet's.
        build: (runtime) => bareExtrinsic(this.node, encodeHubCall(runtime, call)),
        maxCallBytes: this.maxCallBytes,
      }, signal);
      if (result.kind === "valid") return undefined;
      const more = fetchDetail?.().then((run) => run?.kind === "invalid" ? run : result);
      return await this.#explain(call, more ?? result, signal);
    } catch (fault) {
      return { ...toSizeRefusal(fault), error: undefined };
    }
  }

  /** Creates the extrinsic, compressed if that helps. One round trip. @throws {RpcFault} `too_large`. */
  async prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    const { submission } = await makeExtrinsic(this.node, {
      build: (runtime) => {
        const encoded = encodeHubCall(runtime, call);
        const isCompressible = call.kind === "accumulate";
        return bareExtrinsic(this.node, isCompressible ? compressCall(this.node, runtime, encoded) : encoded);
      },
      maxCallBytes: this.maxCallBytes,
    }, signal);
    return submission;
  }

  async #explain(
    call: RelayerHubCall,
    found: DryRunFailure | Promise<DryRunFailure>,
    signal: AbortSignal,
  ): Promise<HubCallRefusal> {
    const [{ reason, error }, known] = await Promise.all([found, this.#findReason(call, signal)]);
    const code = toRefusalCode(error);
    const isVague = code === "unspecified" || code === "bad_proof";
    if (isVague && known !== undefined) return { ...known, error };
    return { code, detail: error ?? reason, error };
  }

  /** Checks the rules that depend on storage only: the pallets report one error for all of them. */
  async #findReason(call: RelayerHubCall, signal: AbortSignal): Promise<Refusal | undefined> {
    const proofs = proofsOf(call);
    const gets = call.kind === "answerGets" ? call.answer.requests.map(getMessage) : [];
    const [facts, receipts] = await Promise.all([
      Promise.all(proofs.map(({ height }) => fetchProofContext(this.node, height, signal))),
      this.reads.fetchReceipts(gets, signal),
    ]);
    const nowSec = facts[0]?.nowSec ?? 0n;
    const ofGets = call.kind === "answerGets" ? findGetRefusal(call.answer, { nowSec, receipts }) : undefined;
    return ofGets ?? facts.map(findProofRefusal).find((refusal) => refusal !== undefined);
  }
}

function proofsOf(call: RelayerHubCall): readonly Proof[] {
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
