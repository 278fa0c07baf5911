/**
 * The hub's light client on a follower: its state, the chains that it follows, and the heights that it stores. Source:
 * docs/protocol/hub-consensus.md sections 4.3, 4.7, 4.8 and 4.9.
 */
import { mapError } from "../../spec/client_error.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import { type GrandpaConsensusState, grandpaNumberCodec, supportedStateMachineKey } from "./spec/message.ts";
import { decodeGrandpaState, type GrandpaView } from "./spec/verify_message.ts";
import {
  formatStateMachine,
  type IntermediateState,
  type StateMachine,
  stateMachineParts,
} from "../../../core/ismp/state_machine.ts";
import { decodeStrict, ScaleError } from "../../../core/encoding/scale.ts";
import { type ClientState, TargetClient } from "../../target_client.ts";
import { type ClientObstacle, ProverFault, type ProverOptions } from "../../prover.ts";

/** Client to read. */
export interface GrandpaClientOptions extends Pick<ProverOptions, "stateMachine" | "consensusStateId"> {
  /** Parachains whose heads are proved; empty for a standalone chain. */
  readonly paraIds: readonly number[];
}

/** The client on one chain. Methods may throw an `RpcFault`, and a {@link ProverFault} with code `hub_state`. */
export class GrandpaClient {
  readonly #target: ConsensusTarget;
  readonly #options: GrandpaClientOptions;
  readonly #client: TargetClient<GrandpaConsensusState>;

  constructor(target: ConsensusTarget, options: GrandpaClientOptions) {
    this.#target = target;
    this.#options = options;
    this.#client = new TargetClient(target, options, {
      clientId: consensusClientIds.grandpa,
      owner: target.id.stateMachine,
      decode: decodeGrandpaState,
    });
  }

  /** Explains why accepted proofs enable no messages on the chain; `undefined`: no reason is known. @throws {ProverFault} `frozen`, `expired` */
  async findObstacle(signal: AbortSignal): Promise<ClientObstacle | undefined> {
    const { consensusStateId } = this.#options;
    const client = await this.#target.reads.fetchClient(consensusStateId, "best", signal);
    if (client === undefined) {
      const text = `has no client ${consensusStateId} of the hub; nothing can be proved to it until its ` +
        "governance creates one (log-consensus-state prints the state for it)";
      return { event: "client_missing", text };
    }
    if (client.clientId !== consensusClientIds.grandpa) {
      const text = `has ${client.clientId} as client ${consensusStateId}, which accepts no GRANDPA proofs`;
      return { event: "client_unusable", text };
    }
    await this.fetchTrusted(signal);
    if ((await this.fetchView(signal)).supported.size > 0) return undefined;
    const text =
      "does not list the hub in IsmpGrandpa.SupportedStateMachines: proofs advance no heights there until " +
      "its governance does";
    return { event: "hub_not_accepted", text };
  }

  /** Reads the client's state, if it accepts updates. */
  fetchTrusted(signal: AbortSignal): Promise<ClientState<GrandpaConsensusState>> {
    return this.#client.fetch(signal);
  }

  /**
   * Reads the client's view besides its trusted state. The hub of a chain is its coprocessor: a chain cannot be asked
   * for it (`pallet_ismp::Config::Coprocessor` is no constant of the metadata), and one with another hub accepts no
   * messages of this hub.
   */
  async fetchView(signal: AbortSignal): Promise<GrandpaView> {
    const { stateMachine, consensusStateId } = this.#options;
    const followed = this.#followed();
    const stored = await this.#target.reads.fetchStorage(followed.map(supportedStateMachineKey), signal);
    const supported = followed.flatMap((chain, at) => {
      const value = stored[at];
      return value === undefined ? [] : [[chain, this.#slotMs(value)] as const];
    });
    return { consensusStateId, coprocessor: stateMachine, supported: new Map(supported) };
  }

  /** Returns the heights that the chain does not have, ascending. */
  async newHeights(
    commitments: readonly IntermediateState[],
    signal: AbortSignal,
  ): Promise<readonly IntermediateState[]> {
    const known = await Promise.all(
      commitments.map(({ height }) => this.#target.reads.fetchLatestHeight(height.id, signal)),
    );
    return commitments.filter(({ height }, at) => height.height > (known[at] ?? 0n))
      .toSorted((a, b) => Number(a.height.height - b.height.height));
  }

  /** Creates the fault of an unusable client. */
  fault(detail: string, cause?: unknown): ProverFault {
    return this.#client.fault(detail, cause);
  }

  /** Names under which the chain may follow what is proved. */
  #followed(): readonly StateMachine[] {
    const { stateMachine, consensusStateId, paraIds } = this.#options;
    const { tag } = stateMachineParts(stateMachine);
    if (tag === "Substrate") return [stateMachine];
    const family = tag === "Kusama" ? "Kusama" as const : "Polkadot" as const;
    return paraIds.flatMap((value) => [
      formatStateMachine({ tag: family, value }),
      formatStateMachine({ tag: "Relay", value: { relay: consensusStateId, paraId: value } }),
    ]);
  }

  #slotMs(stored: Uint8Array): bigint {
    return mapError(
      ScaleError,
      () => decodeStrict(grandpaNumberCodec, stored, "SlotDuration"),
      (cause) => this.fault("its IsmpGrandpa.SupportedStateMachines is unreadable", cause),
    );
  }
}
