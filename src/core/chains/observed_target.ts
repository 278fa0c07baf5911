/** A target of updates whose light clients and heights an observer hears of as they are read; all else is its own. */
import type { StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";
import type { ConsensusStateId } from "../ismp/state_machine.ts";
import type { StateCommitment } from "../ismp/state_commitment.ts";
import type { ConsensusClientView, ConsensusTarget, HubBlock, TargetReads } from "./consensus_target.ts";

/** Hears of what was read. Must not throw. */
export interface TargetReadObserver {
  onClient(id: ConsensusStateId, client: ConsensusClientView): void;
  /** Called with the latest height of a chain that the target has. */
  onHeight(of: StateMachineId, height: bigint): void;
}

/** Returns the target with observed reads. */
export function observeTarget(target: ConsensusTarget, observer: TargetReadObserver): ConsensusTarget {
  return { ...target, reads: new ObservedTargetReads(target.reads, observer) };
}

class ObservedTargetReads implements TargetReads {
  readonly #reads: TargetReads;
  readonly #observer: TargetReadObserver;

  constructor(reads: TargetReads, observer: TargetReadObserver) {
    this.#reads = reads;
    this.#observer = observer;
  }

  async fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined> {
    const client = await this.#reads.fetchClient(id, block, signal);
    if (client !== undefined) this.#observer.onClient(id, client);
    return client;
  }

  async fetchLatestHeight(of: StateMachineId, signal: AbortSignal): Promise<bigint | undefined> {
    const height = await this.#reads.fetchLatestHeight(of, signal);
    if (height !== undefined) this.#observer.onHeight(of, height);
    return height;
  }

  fetchCommitment(of: StateMachineHeight, signal: AbortSignal): Promise<StateCommitment | undefined> {
    return this.#reads.fetchCommitment(of, signal);
  }

  fetchUpdateTime(of: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return this.#reads.fetchUpdateTime(of, signal);
  }

  fetchNowSec(signal: AbortSignal): Promise<bigint> {
    return this.#reads.fetchNowSec(signal);
  }

  fetchStorage(
    keys: readonly Uint8Array[],
    signal: AbortSignal,
    block?: HubBlock,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#reads.fetchStorage(keys, signal, block);
  }
}
