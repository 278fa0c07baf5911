/**
 * Pallet Ismp: unsigned messages, dispatch of requests, end of a block, and what governance and light clients
 * change (the oracle of the devnet comes in here).
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/{lib,impls,dispatcher}.rs.
 */
import { fromHex, type Hash256 } from "../../../src/core/encoding/bytes.ts";
import { commitmentOfPost, type Leaf, type PostRequest } from "../../../src/core/ismp/message.ts";
import {
  consensusDigestCodec,
  type RequestMetadata,
  requestMetadataCodec,
  timestampDigestCodec,
} from "../../../src/core/ismp/host_state.ts";
import { type IsmpMessage, ismpMessagesCodec } from "../../../src/core/ismp/ismp_message.ts";
import type { leafIndexAndPosCodec } from "../../../src/core/ismp/proof.ts";
import { messagesTag, stateMachineUpdatedTag } from "../pool_tags.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  type StateMachine,
  stateMachineCodec,
  type StateMachineHeight,
  type StateMachineId,
  toConsensusClientId,
} from "../../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../../src/core/ismp/storage_keys.ts";
import { bool, Struct } from "../../../src/core/encoding/scale.ts";
import { digestItem } from "../digest.ts";
import {
  DispatchError,
  type Execution,
  orInvalid,
  type SimulatedRuntime,
  ValidityError,
  type ValidTransaction,
} from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { updateClient } from "./consensus_updates.ts";
import { type ConsensusNetworks, VerifiedUpdates } from "./consensus_verifiers.ts";
import { type BalancesPallet, relayerFeeAccount } from "./balances.ts";
import { converted } from "../verifiers/refusals.ts";
import { IsmpError } from "./ismp_error.ts";
import { handleRequests, type RequestHandlerHost, type RequestModule } from "./ismp_request.ts";
import { IsmpStorage, type StateCommitmentHeight } from "./ismp_storage.ts";
import type { LeafStore } from "./mmr.ts";
import { PalletStorage } from "../storage.ts";
import type { IsmpPalletEvent } from "./ismp_events.ts";
import { isPolkadotHub } from "../../../src/core/ismp/polkadot_hub.ts";
import { isSubstrate } from "./state_machines.ts";
import type { CodecType } from "scale-ts";

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
  /** The client's trusted state; default empty. */
  readonly state?: Uint8Array;
  /** Heights that are known from the start. */
  readonly commitments?: readonly { readonly id: StateMachineId; readonly at: StateCommitmentHeight }[];
}

/** A post that the chain itself sends. */
export interface OutgoingPost {
  readonly dest: StateMachine;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly body: Uint8Array;
  /** Seconds from now; 0 means never. */
  readonly timeoutSec: bigint;
  /** What a relayer gets for the delivery, from whom; default nothing. */
  readonly fee?: { readonly payer: Hash256; readonly fee: bigint };
}

/** What the pallet works with. */
export interface IsmpParts {
  readonly stateMachine: StateMachine;
  /** The hub that this chain trusts; the hub itself on the hub. */
  readonly coprocessor: StateMachine;
  readonly leaves: LeafStore;
  readonly balances: BalancesPallet;
  readonly module: RequestModule;
  /** Address of the ISMP host of an EVM chain. */
  readonly evmHost: (execution: Execution, chain: StateMachine) => Uint8Array | undefined;
  /** Networks of the consensus clients of EVM chains; undefined: the runtime has no such clients. */
  readonly networks?: ConsensusNetworks | undefined;
}

/** The pallet of a client of beacon chains: chains of which it proves state. */
class AcceptedList extends PalletStorage {
  readonly chains = this.item("SupportedStatemachines", [stateMachineCodec], bool);
}

/** Pallets of the two instances of the beacon chains' client. */
const listPallets = [
  [toConsensusClientId("BEAC"), "IsmpSyncCommitteeEth"],
  [toConsensusClientId("GNOS"), "IsmpSyncCommitteeGno"],
] as const;

/** The pallet. */
export class IsmpPallet {
  readonly storage: IsmpStorage;
  /** Lists of the clients that prove only chains which governance has added. */
  readonly accepted: ReadonlyMap<ConsensusClientId, AcceptedList["chains"]>;
  readonly #parts: IsmpParts;
  readonly #verified = new VerifiedUpdates();
  /** `client/chain` of the Substrate chains that clients were told to follow. */
  readonly #followed = new Set<string>();

  constructor(metadata: RuntimeMetadata, parts: IsmpParts) {
    this.storage = new IsmpStorage(metadata);
    this.accepted = new Map(
      listPallets.map(([client, pallet]) => [client, new AcceptedList(metadata, pallet).chains]),
    );
    this.#parts = parts;
  }

  /** What handlers of messages work with. */
  host(execution: Execution): RequestHandlerHost {
    const { stateMachine, coprocessor, module, evmHost } = this.#parts;
    return {
      stateMachine,
      coprocessor,
      storage: this.storage,
      module,
      evmHost: (chain) => evmHost(execution, chain),
      follows: (client, chain) => {
        const list = this.accepted.get(client);
        if (list === undefined) return this.#followed.has(`${client}/${chain}`);
        return list.get(execution.overlay, chain) !== undefined;
      },
    };
  }

  /** Keeps the body of a request or response. */
  pushLeaf(execution: Execution, leaf: Leaf): CodecType<typeof leafIndexAndPosCodec> {
    return this.#parts.leaves.push(execution, leaf);
  }

  /** Adds `Ismp.handle_unsigned` to the table. */
  register(runtime: SimulatedRuntime): void {
    runtime.register(
      "Ismp",
      "handle_unsigned",
      Struct({ messages: ismpMessagesCodec }),
      {
        validate: (execution, { messages }) => this.#validate(execution, messages),
        dispatch: (execution, { messages }) => void this.execute(execution, messages),
      },
    );
  }

  /**
   * Executes messages in order; events of handled messages come after all callbacks.
   * @throws {DispatchError} InvalidMessage for any failure.
   */
  execute(execution: Execution, messages: readonly IsmpMessage[]): readonly IsmpPalletEvent[] {
    return converted(IsmpError, (cause) => new DispatchError("Ismp", "InvalidMessage", { cause }), () => {
      const events = messages.flatMap((message) => this.#handle(execution, message));
      for (const event of events) execution.emitIsmp(event);
      return events;
    });
  }

  /** Each kind of message has its own handler file. */
  #handle(execution: Execution, message: IsmpMessage): IsmpPalletEvent[] {
    switch (message.tag) {
      case "Request":
        return handleRequests(this.host(execution), execution, message.value);
      case "Consensus": {
        const { networks, stateMachine, coprocessor } = this.#parts;
        const host = {
          storage: this.storage,
          verified: this.#verified,
          networks,
          stateMachine,
          coprocessor,
        };
        return updateClient(host, execution, message.value);
      }
    }
  }

  #validate(execution: Execution, messages: readonly IsmpMessage[]): ValidTransaction {
    const events = orInvalid("BadProof", () => this.execute(execution, messages));
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
  dispatchRequest(
    execution: Execution,
    request: PostRequest,
    commitment: Hash256,
    fee: RequestMetadata["fee"] = { payer: nobody, fee: 0n },
  ): void {
    const key = childTrieKeys.requestCommitment(commitment);
    if (execution.overlay.getChild(key) !== undefined) {
      throw new IsmpError("module_dispatch_error", "Duplicate request");
    }
    const offchain = this.pushLeaf(execution, { tag: "Request", value: { tag: "Post", value: request } });
    execution.emitIsmp({
      tag: "Request",
      value: {
        destChain: request.dest,
        sourceChain: request.source,
        requestNonce: request.nonce,
        commitment,
      },
    });
    const metadata = { offchain, fee, claimed: false };
    execution.overlay.putChild(key, requestMetadataCodec.enc(metadata));
  }

  /**
   * Sends a post of the chain itself; its fee is held until a relayer withdraws it.
   * @returns the post with its commitment.
   * @throws {IsmpError} module_dispatch_error when the payer has too little.
   */
  dispatchPost(
    execution: Execution,
    post: OutgoingPost,
  ): { readonly request: PostRequest; readonly commitment: Hash256 } {
    const fee = post.fee ?? { payer: nobody, fee: 0n };
    if (fee.fee > 0n) this.#collectFee(execution, fee);
    const nonce = this.storage.nonce.get(execution.overlay) ?? 0n;
    this.storage.nonce.put(execution.overlay, nonce + 1n);
    const request: PostRequest = {
      source: this.#parts.stateMachine,
      dest: post.dest,
      nonce,
      from: post.from,
      to: post.to,
      timeoutTimestampSec: post.timeoutSec === 0n ? 0n : execution.nowSec + post.timeoutSec,
      body: post.body,
    };
    const commitment = commitmentOfPost(request);
    this.dispatchRequest(execution, request, commitment, fee);
    return { request, commitment };
  }

  #collectFee(execution: Execution, { payer, fee }: RequestMetadata["fee"]): void {
    const move = { from: payer, to: relayerFeeAccount, amount: fee };
    if (!this.#parts.balances.transfer(execution, move, false)) {
      throw new IsmpError("module_dispatch_error", "Error withdrawing request fees");
    }
  }

  /** End of a block: child root and mountain range root go into storage and digest, with the block's time. */
  finalizeBlock(execution: Execution): Uint8Array[] {
    const childTrieRoot = execution.overlay.childRoot();
    this.storage.childTrieRoot.put(execution.overlay, childTrieRoot);
    const mmrRoot = this.#parts.leaves.finalize(execution);
    return [
      digestItem("consensus", "ISMP", consensusDigestCodec.enc({ mmrRoot, childTrieRoot })),
      digestItem("consensus", "ISTM", timestampDigestCodec.enc({ timestampSec: execution.nowSec })),
    ];
  }

  /** Creates (or overwrites) a light client, as `create_consensus_client` does by governance. */
  createConsensusClient(execution: Execution, client: NewConsensusClient): void {
    const { overlay } = execution;
    const { storage } = this;
    storage.consensusStates.put(overlay, client.state ?? new Uint8Array(), client.stateId);
    storage.unbondingPeriodSec.put(overlay, client.unbondingPeriodSec, client.stateId);
    storage.consensusStateClient.put(overlay, client.clientId, client.stateId);
    for (const [stateMachine, periodSec] of client.challengePeriodsSec) {
      storage.challengePeriodSec.put(overlay, periodSec, { stateMachine, consensusStateId: client.stateId });
      if (isSubstrate(stateMachine) || isPolkadotHub(stateMachine)) {
        this.#followed.add(`${client.clientId}/${stateMachine}`);
      }
    }
    for (const { id, at } of client.commitments ?? []) {
      const { height, commitment } = at;
      storage.insertCommitment(overlay, { id, height }, commitment, execution.nowSec);
      storage.storeLatestHeight(overlay, { id, height });
    }
    storage.consensusClientUpdateTimeSec.put(overlay, execution.nowSec, client.stateId);
    execution.emitIsmp({
      tag: "ConsensusClientCreated",
      value: { consensusClientId: client.clientId },
    });
  }

  /** Lets a beacon chain's client prove a chain, as `add_state_machine` does by governance, or takes that back. */
  setAccepted(
    { overlay }: Pick<Execution, "overlay">,
    client: ConsensusClientId,
    chain: StateMachine,
    isAccepted: boolean,
  ): void {
    const list = this.accepted.get(client);
    list?.set(overlay, isAccepted ? true : undefined, chain);
  }

  /**
   * Stores commitments of one chain as an accepted consensus update does: heights below the latest and heights
   * already known are skipped, one event for the highest new one.
   */
  storeCommitments(
    execution: Execution,
    id: StateMachineId,
    commitments: readonly StateCommitmentHeight[],
  ): void {
    const { overlay, nowSec } = execution;
    const highest = this.storage.advance(overlay, id, commitments, nowSec);
    if (highest === undefined) return;
    this.storage.consensusClientUpdateTimeSec.put(overlay, nowSec, id.consensusStateId);
    execution.emitIsmp({
      tag: "StateMachineUpdated",
      value: { stateMachineId: id, latestHeight: highest },
    });
  }

  /** Removes a commitment, as a fisherman's veto does; the latest height goes back to the one before. */
  veto(execution: Execution, at: StateMachineHeight): void {
    const { overlay } = execution;
    const { storage } = this;
    storage.removeCommitment(overlay, at);
    if (storage.latestHeight.get(overlay, at.id) === at.height) {
      storage.latestHeight.put(overlay, storage.previousHeight.get(overlay, at.id) ?? 0n, at.id);
    }
    const fisherman = new Uint8Array(32);
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
