/**
 * Updates of light clients as one unsigned extrinsic: created, and dry-run. Source: polytope-labs/hyperbridge:
 * modules/ismp/core/src/handlers/consensus.rs, modules/pallets/consensus-incentives.
 */
import { signatureCodec } from "../../ismp/fees.ts";
import { type IsmpMessage, ismpMessagesCodec } from "../../ismp/ismp_message.ts";
import { consensusSignerMessage } from "../../ismp/signed_messages.ts";
import type { ConsensusStateId } from "../../ismp/state_machine.ts";
import type { Refusal, SignedSubmission } from "../submission.ts";
import { dryRunExtrinsic, type ExtrinsicRecipe, makeSubmission, toSizeRefusal } from "./dry_run.ts";
import type { SubstrateTargetReads } from "./target_reads.ts";
import { bareExtrinsic, type MessageSigner } from "./extrinsics.ts";
import { callLayouts } from "./layout.ts";
import type { SubstrateNode } from "./node.ts";
import type { TargetUpdates, Updates } from "../consensus_target.ts";

/** Options besides the updates. */
export interface UpdateOptions {
  readonly signer: Pick<MessageSigner, "signDigest">;
  /** Maximum size of an extrinsic, bytes. */
  readonly maxCallBytes: number;
}

/** Updates of light clients. */
export class SubstrateTargetUpdates implements TargetUpdates {
  readonly #node: SubstrateNode;
  readonly #options: UpdateOptions;
  readonly #reads: Pick<SubstrateTargetReads, "fetchClientSnapshot">;

  constructor(
    node: SubstrateNode,
    options: UpdateOptions,
    reads: Pick<SubstrateTargetReads, "fetchClientSnapshot">,
  ) {
    this.#node = node;
    this.#options = options;
    this.#reads = reads;
  }

  /** Creates the extrinsic. One round trip. @throws {RpcFault} `too_large`. */
  async prepareUpdates(
    updates: Updates,
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    return await makeSubmission(this.#node, this.#toRecipe(updates), signal);
  }

  /**
   * Dry-runs the updates in the transaction pool. One round trip if they are accepted, else two: the pool gives no
   * reason, so reasons visible in storage are checked.
   */
  async dryRunUpdates(
    updates: Updates,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    try {
      const { result } = await dryRunExtrinsic(this.#node, this.#toRecipe(updates), signal);
      return result.kind === "valid" ? undefined : await this.#explain(updates.id, result.reason, signal);
    } catch (fault) {
      return toSizeRefusal(fault);
    }
  }

  /** Never compressed: docs/protocol/hub-consensus.md section 3.4. */
  #toRecipe(updates: Updates): ExtrinsicRecipe {
    const messages = ismpMessagesCodec.enc(signedMessages(updates, this.#options));
    return {
      build: (runtime) => bareExtrinsic(this.#node, runtime.encodeCall(callLayouts.consensus, messages)),
      maxCallBytes: this.#options.maxCallBytes,
    };
  }

  /** First rule that is broken according to storage, in the hub's order; else it is the proof. */
  async #explain(
    id: ConsensusStateId,
    reason: string,
    signal: AbortSignal,
  ): Promise<Refusal> {
    const { client, nowSec } = await this.#reads.fetchClientSnapshot(id, "best", signal);
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
}

/** Signs each message, though only the first signature is checked when rewards are paid. */
function signedMessages({ id, proofs }: Updates, { signer }: UpdateOptions): IsmpMessage[] {
  if (proofs.length === 0) throw new Error("There is no update to make an extrinsic of");
  return proofs.map((consensusProof): IsmpMessage => {
    const { digest } = consensusSignerMessage(consensusProof);
    const signature = signatureCodec.enc(signer.signDigest(digest));
    return { tag: "Consensus", value: { consensusProof, consensusStateId: id, signer: signature } };
  });
}
