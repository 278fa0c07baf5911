/**
 * Pallet Ismp: unsigned messages, dispatch of requests, end of a block, and what governance and light clients
 * change (the oracle of the devnet comes in here).
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/{lib,impls,dispatcher}.rs.
 */
import { fromHex, type Hash256 } from "../../../../src/core/protocol/bytes.ts";
import { commitmentOfPost } from "../../../../src/core/protocol/ismp/commitment.ts";
import {
  consensusDigestCodec,
  requestMetadataCodec,
  timestampDigestCodec,
} from "../../../../src/core/protocol/ismp/host_state.ts";
import type { IsmpPalletEvent } from "../../../../src/core/protocol/ismp/hub_events.ts";
import { type IsmpMessage, ismpMessagesCodec } from "../../../../src/core/protocol/ismp/ismp_message.ts";
import type { PostRequest } from "../../../../src/core/protocol/ismp/message.ts";
import { messagesTag, stateMachineUpdatedTag } from "../../../../src/core/protocol/ismp/pool_tags.ts";
import type { StateCommitment } from "../../../../src/core/protocol/ismp/state_commitment.ts";
import type {
  ConsensusClientId,
  ConsensusStateId,
  StateMachine,
  StateMachineHeight,
  StateMachineId,
} from "../../../../src/core/protocol/ismp/state_machine.ts";
import { childTrieKeys } from "../../../../src/core/protocol/ismp/storage_keys.ts";
import { Struct } from "../../../../src/core/protocol/scale.ts";
import { digestItem } from "../digest.ts";
import { callHandler, DispatchError, type Execution, type Runtime, ValidityError } from "../runtime.ts";
import type { ValidTransaction } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { consensusClients } from "./consensus_clients.ts";
import type { HostExecutivePallet } from "./host_executive.ts";
import { IsmpError } from "./ismp_error.ts";
import { handleRequests, type RequestHandlerHost, type RequestModule } from "./ismp_request.ts";
import { IsmpStorage } from "./ismp_storage.ts";
import type { MmrPallet } from "./mmr.ts";

/** `payer` of requests for which nobody paid on this chain. */
const nobody: Hash256 = `0x${"00".repeat(32)}`;

/** Blocks for which the pool keeps an unsigned batch. */
const batchLongevity = 25n;

/** A light client as an admin creates it. Times in seconds. */
export interface NewConsensusClient {
  readonly stateId: ConsensusStateId;
  readonly clientId: ConsensusClientId;
  readonly unbondingPeriodSec: bigint;
  /** Challenge period of every chain that the client follows. */
  readonly challengePeriodsSec: ReadonlyMap<StateMachine, bigint>;
}

/** A post that the hub itself sends. */
export interface OutgoingPost {
  readonly dest: StateMachine;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly body: Uint8Array;
  /** Seconds from now; 0 means never. */
  readonly timeoutSec: bigint;
}

/** The pallet. */
export class IsmpPallet {
  readonly storage: IsmpStorage;
  readonly #mmr: MmrPallet;
  readonly #host: (execution: Execution) => RequestHandlerHost;
  readonly #stateMachine: StateMachine;

  constructor(
    metadata: RuntimeMetadata,
    parts: {
      readonly stateMachine: StateMachine;
      readonly mmr: MmrPallet;
      readonly hostExecutive: HostExecutivePallet;
      readonly module: RequestModule;
    },
  ) {
    const storage = new IsmpStorage(metadata);
    this.storage = storage;
    this.#mmr = parts.mmr;
    this.#stateMachine = parts.stateMachine;
    this.#host = (execution) => ({
      stateMachine: parts.stateMachine,
      storage,
      module: parts.module,
      evmHost: (chain) => parts.hostExecutive.evmHosts.get(execution.overlay, chain),
    });
  }

  /** Adds `Ismp.handle_unsigned` to the table. */
  register(runtime: Runtime): void {
    runtime.register(
      "Ismp",
      "handle_unsigned",
      callHandler(Struct({ messages: ismpMessagesCodec }), {
        validate: (execution, { messages }) => this.#validate(execution, messages),
        dispatch: (execution, { messages }) => {
          this.execute(execution, messages);
        },
      }),
    );
  }

  /**
   * Executes messages in order; events of handled messages come after all callbacks.
   * @throws {DispatchError} InvalidMessage for any failure.
   */
  execute(execution: Execution, messages: readonly IsmpMessage[]): readonly IsmpPalletEvent[] {
    try {
      const events = messages.flatMap((message) => this.#handle(execution, message));
      for (const event of events) execution.emitIsmp(event);
      return events;
    } catch (cause) {
      if (!(cause instanceof IsmpError)) throw cause;
      throw new DispatchError("Ismp", "InvalidMessage", { cause });
    }
  }

  /** Each kind of message has its own handler file; what is missing here is refused like a message that fails. */
  #handle(execution: Execution, message: IsmpMessage): IsmpPalletEvent[] {
    switch (message.tag) {
      case "Request":
        return handleRequests(this.#host, execution, message.value);
      case "Consensus":
        return this.#updateClient(execution, message.value.consensusStateId);
      case "FraudProof":
      case "Response":
      case "Timeout":
        throw new IsmpError("cannot_handle_message", message.tag);
    }
  }

  #updateClient(execution: Execution, stateId: ConsensusStateId): never {
    const clientId = this.storage.consensusStateClient.get(execution.overlay, stateId);
    const client = clientId === undefined ? undefined : consensusClients.get(clientId);
    if (client === undefined) throw new IsmpError("consensus_state_id_not_recognized", stateId);
    throw new IsmpError("cannot_handle_message", `${client.id} has no verifier of updates`);
  }

  #validate(execution: Execution, messages: readonly IsmpMessage[]): ValidTransaction {
    let events: readonly IsmpPalletEvent[];
    try {
      events = this.execute(execution, messages);
    } catch (cause) {
      if (!(cause instanceof DispatchError)) throw cause;
      throw new ValidityError("BadProof", { cause });
    }
    for (const event of events) {
      if (event.tag !== "StateMachineUpdated") continue;
      return {
        priority: event.value.latestHeight,
        provides: [fromHex(stateMachineUpdatedTag(event.value.stateMachineId))],
        longevity: batchLongevity,
      };
    }
    if (messages.length === 0) throw new ValidityError("Call");
    return {
      priority: messages.some((message) => message.tag === "Consensus") ? 200n : 100n,
      provides: [fromHex(messagesTag(messages))],
      longevity: batchLongevity,
    };
  }

  /**
   * Files a request under its commitment, with a leaf and an event.
   * @throws {IsmpError} module_dispatch_error when the commitment is there already.
   */
  dispatchRequest(execution: Execution, request: PostRequest, commitment: Hash256): void {
    const key = childTrieKeys.requestCommitment(commitment);
    if (execution.overlay.getChild(key) !== undefined) {
      throw new IsmpError("module_dispatch_error", "Duplicate request");
    }
    const offchain = this.#mmr.push(execution, {
      tag: "Request",
      value: { tag: "Post", value: request },
    });
    execution.emitIsmp({
      tag: "Request",
      value: {
        destChain: request.dest,
        sourceChain: request.source,
        requestNonce: request.nonce,
        commitment,
      },
    });
    const metadata = { offchain, fee: { payer: nobody, fee: 0n }, claimed: false };
    execution.overlay.putChild(key, requestMetadataCodec.enc(metadata));
  }

  /** Sends a post of the hub itself. Returns it with its commitment. */
  dispatchFromHub(
    execution: Execution,
    post: OutgoingPost,
  ): { readonly request: PostRequest; readonly commitment: Hash256 } {
    const nonce = this.storage.nonce.get(execution.overlay) ?? 0n;
    this.storage.nonce.put(execution.overlay, nonce + 1n);
    const request: PostRequest = {
      source: this.#stateMachine,
      dest: post.dest,
      nonce,
      from: post.from,
      to: post.to,
      timeoutTimestampSec: post.timeoutSec === 0n ? 0n : execution.nowSec + post.timeoutSec,
      body: post.body,
    };
    const commitment = commitmentOfPost(request);
    this.dispatchRequest(execution, request, commitment);
    return { request, commitment };
  }

  /** End of a block: child root and mountain range root go into storage and digest, with the block's time. */
  finalizeBlock(execution: Execution): Uint8Array[] {
    const childTrieRoot = execution.overlay.childRoot();
    this.storage.childTrieRoot.put(execution.overlay, childTrieRoot);
    const mmrRoot = this.#mmr.finalize(execution, childTrieRoot);
    return [
      digestItem("consensus", "ISMP", consensusDigestCodec.enc({ mmrRoot, childTrieRoot })),
      digestItem("consensus", "ISTM", timestampDigestCodec.enc({ timestampSec: execution.nowSec })),
    ];
  }

  /** Creates (or overwrites) a light client, as `create_consensus_client` does by governance. */
  createConsensusClient(execution: Execution, client: NewConsensusClient): void {
    const { overlay } = execution;
    const { storage } = this;
    storage.consensusStates.put(overlay, new Uint8Array(), client.stateId);
    storage.unbondingPeriodSec.put(overlay, client.unbondingPeriodSec, client.stateId);
    storage.consensusStateClient.put(overlay, client.clientId, client.stateId);
    for (const [stateMachine, periodSec] of client.challengePeriodsSec) {
      storage.challengePeriodSec.put(overlay, periodSec, { stateMachine, consensusStateId: client.stateId });
    }
    storage.consensusClientUpdateTimeSec.put(overlay, execution.nowSec, client.stateId);
    execution.emitIsmp({
      tag: "ConsensusClientCreated",
      value: { consensusClientId: client.clientId },
    });
  }

  /**
   * Stores commitments of one chain as an accepted consensus update does: heights below the latest and heights
   * already known are skipped, one event for the highest new one.
   */
  storeCommitments(
    execution: Execution,
    id: StateMachineId,
    commitments: readonly { readonly height: bigint; readonly commitment: StateCommitment }[],
  ): void {
    const { overlay } = execution;
    const { storage } = this;
    const latest = storage.latestHeight.get(overlay, id) ?? 0n;
    let highest: bigint | undefined;
    const ascending = [...commitments].sort((a, b) => (a.height < b.height ? -1 : 1));
    for (const { height, commitment } of ascending) {
      if (height < latest || storage.stateCommitments.get(overlay, id, height) !== undefined) continue;
      storage.insertCommitment(overlay, { id, height }, commitment, execution.nowSec);
      highest = height;
    }
    if (highest === undefined) return;
    storage.consensusClientUpdateTimeSec.put(overlay, execution.nowSec, id.consensusStateId);
    storage.storeLatestHeight(overlay, { id, height: highest });
    execution.emitIsmp({
      tag: "StateMachineUpdated",
      value: { stateMachineId: id, latestHeight: highest },
    });
  }

  /** Removes a commitment, as a fisherman's veto does; the latest height goes back to the one before. */
  veto(execution: Execution, at: StateMachineHeight, fisherman: Uint8Array): void {
    const { overlay } = execution;
    const { storage } = this;
    storage.removeCommitment(overlay, at);
    if (storage.latestHeight.get(overlay, at.id) === at.height) {
      storage.latestHeight.put(overlay, storage.previousHeight.get(overlay, at.id) ?? 0n, at.id);
    }
    execution.emitIsmp({ tag: "StateCommitmentVetoed", value: { height: at, fisherman } });
  }

  /** Stops a light client, as a valid fraud proof does. */
  freeze(execution: Execution, stateId: ConsensusStateId): void {
    this.storage.frozenConsensusClients.put(execution.overlay, true, stateId);
    const clientId = this.storage.consensusStateClient.get(execution.overlay, stateId);
    if (clientId === undefined) return;
    execution.emitIsmp({ tag: "ConsensusClientFrozen", value: { consensusClientId: clientId } });
  }
}
