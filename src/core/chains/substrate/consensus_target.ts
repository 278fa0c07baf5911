/** Light clients of the target: plain reads of its storage. */
import { type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import type { ConsensusStateId, StateMachineId } from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../ismp/storage_keys.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type {
  ConsensusClientView,
  ConsensusTarget,
  HubBlock,
  TargetReads,
  TargetUpdates,
  Updates,
} from "../consensus_target.ts";
import type { SubstrateNode } from "./node.ts";
import { SubstrateReads } from "./reads.ts";
import { fetchManyStored, fetchStored, toSeconds } from "./stored.ts";
import { signatureCodec } from "../../ismp/fees.ts";
import type { IsmpMessage } from "../../ismp/ismp_message.ts";
import { signedMessage } from "../../ismp/signed_messages.ts";
import type { Refusal, SignedSubmission } from "../submission.ts";
import { dryRunExtrinsic, type ExtrinsicRecipe, makeExtrinsic, toSizeRefusal } from "./dry_run.ts";
import { bareExtrinsic, type ExtrinsicOptions } from "./extrinsics.ts";
import { runtimeCalls } from "./assumptions.ts";
import type { Secret } from "../../config/redact.ts";
import { SubstrateSender } from "./deliveries.ts";
import { checkNode, planSubstrateChecks } from "./chain_checks.ts";
import {
  createChainContext,
  DEFAULT_MAX_CALL_BYTES,
  type SubstrateChainDeps,
  type SubstrateNodeOptions,
} from "./substrate_chain.ts";

/** Light client with its trusted state, and the clock that decides whether it accepts updates. */
export interface ClientSnapshot {
  /** `undefined`: the hub has no such client. */
  readonly client: ConsensusClientView | undefined;
  /** Clock of the target, Unix seconds. */
  readonly nowSec: bigint;
}

/** Reads of a chain with light clients that this relayer updates. */
class SubstrateTargetReads extends SubstrateReads implements TargetReads {
  async fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined> {
    return (await this.fetchClientSnapshot(id, block, signal)).client;
  }

  /** Fetches a light client and the clock, at one block. One round trip, two for the final block. */
  async fetchClientSnapshot(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ClientSnapshot> {
    const found = await fetchManyStored(this.node, {
      state: ismpKeys.consensusStates.of(id),
      clientId: ismpKeys.consensusStateClient.of(id),
      updatedSec: ismpKeys.consensusClientUpdateTime.of(id),
      unbondingSec: ismpKeys.unbondingPeriod.of(id),
      isFrozen: ismpKeys.frozenConsensusClients.of(id),
      now: otherKeys.timestampNow.of(),
    }, { block: await this.#fetchHash(block, signal), signal });
    const nowSec = toSeconds(found.now);
    const { clientId, state, updatedSec = 0n, unbondingSec = 0n, isFrozen = false } = found;
    if (clientId === undefined || state === undefined) return { client: undefined, nowSec };
    return { client: { clientId, state, updatedSec, unbondingSec, isFrozen }, nowSec };
  }

  async fetchLatestHeight(of: StateMachineId, signal: AbortSignal): Promise<bigint | undefined> {
    return await fetchStored(this.node, ismpKeys.latestStateMachineHeight.of(of), { signal });
  }

  async fetchNowSec(signal: AbortSignal): Promise<bigint> {
    return toSeconds(await fetchStored(this.node, otherKeys.timestampNow.of(), { signal }));
  }

  async fetchStorage(
    keys: readonly Uint8Array[],
    signal: AbortSignal,
    block: HubBlock = "best",
  ): Promise<readonly (Uint8Array | undefined)[]> {
    if (keys.length === 0) return [];
    const wanted = calls.storageAt(keys, await this.#fetchHash(block, signal));
    const values = await this.node.client.call(wanted, signal);
    return keys.map((key) => values.get(toHex(key)));
  }

  /** `undefined` stands for the best block. */
  async #fetchHash(block: HubBlock, signal: AbortSignal): Promise<Hash256 | undefined> {
    return block === "final" ? await this.node.client.call(calls.finalizedHash(), signal) : undefined;
  }
}

/** Updates of light clients. */
class SubstrateTargetUpdates implements TargetUpdates {
  constructor(
    readonly node: SubstrateNode,
    readonly options: ExtrinsicOptions,
    readonly reads: Pick<SubstrateTargetReads, "fetchClientSnapshot">,
  ) {}

  /** Creates the extrinsic. One round trip. @throws {RpcFault} `too_large`. */
  async prepareUpdates(updates: Updates, signal: AbortSignal): Promise<SignedSubmission> {
    return (await makeExtrinsic(this.node, this.#toRecipe(updates), signal)).submission;
  }

  /**
   * Dry-runs the updates in the transaction pool. One round trip if they are accepted, else two: the pool gives no
   * reason, so reasons visible in storage are checked.
   */
  async dryRunUpdates(updates: Updates, signal: AbortSignal): Promise<Refusal | undefined> {
    try {
      const { result } = await dryRunExtrinsic(this.node, this.#toRecipe(updates), signal);
      return result.kind === "valid" ? undefined : await this.#explain(updates.id, result.reason, signal);
    } catch (fault) {
      return toSizeRefusal(fault);
    }
  }

  /** Never compressed: docs/protocol/hub-consensus.md section 3.4. */
  #toRecipe(updates: Updates): ExtrinsicRecipe {
    const messages = signedMessages(updates, this.options);
    return {
      build: (runtime) => bareExtrinsic(this.node, runtime.encodeCall(runtimeCalls.consensus, messages)),
      maxCallBytes: this.options.maxCallBytes,
    };
  }

  /** First rule that is broken according to storage, in the hub's order; else it is the proof. */
  async #explain(id: ConsensusStateId, reason: string, signal: AbortSignal): Promise<Refusal> {
    const { client, nowSec } = await this.reads.fetchClientSnapshot(id, "best", signal);
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
function signedMessages({ id, proofs }: Updates, { signer }: ExtrinsicOptions): IsmpMessage[] {
  if (proofs.length === 0) throw new Error("There is no update to make an extrinsic of");
  return proofs.map((consensusProof): IsmpMessage => {
    const { digest } = signedMessage(consensusProof);
    const signature = signatureCodec.enc(signer.signDigest(digest));
    return { tag: "Consensus", value: { consensusProof, consensusStateId: id, signer: signature } };
  });
}

/** Part of the configuration of the hub (`[hub.substrate]`), or of a chain that follows it, that the adapter needs. */
export interface TargetOptions extends Omit<SubstrateNodeOptions, "signer" | "relayerId"> {
  /** sr25519 key, 32-byte mini secret or 64 bytes: it receives the rewards for updates. */
  readonly signer: Secret<Hex>;
  /** Default false: a Substrate chain that follows the hub, and accepts updates as the hub does. */
  readonly isHub?: boolean;
}

/** Creates a target of updates; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createTarget(deps: SubstrateChainDeps, options: TargetOptions): ConsensusTarget {
  const { isHub = false } = options;
  const { endpoint, node, signer, outcomes } = createChainContext(deps, options, { isHub, use: "updated" });
  const reads = new SubstrateTargetReads(node);
  const extrinsics = { signer, maxCallBytes: options.maxCallBytes ?? DEFAULT_MAX_CALL_BYTES };
  return {
    id: node.id,
    reads,
    updates: new SubstrateTargetUpdates(node, extrinsics, reads),
    sender: new SubstrateSender(node, extrinsics),
    outcomes,
    planChecks: () => planSubstrateChecks(node, {}),
    check: (signal) => checkNode(node, undefined, signal),
    close: () => endpoint.close(),
  };
}
