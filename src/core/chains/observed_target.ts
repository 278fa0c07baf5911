/** A target of updates whose light clients an observer hears of as they are read; everything else is its own. */
import type { StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";
import type { ConsensusStateId } from "../ismp/state_machine.ts";
import type { StateCommitment } from "../ismp/state_commitment.ts";
import type { ConsensusClientView, ConsensusTarget, HubBlock, TargetReads } from "./consensus_target.ts";

/** Called with each light client that was read; must not throw. */
export type OnClient = (id: ConsensusStateId, client: ConsensusClientView) => void;

/** Returns the target with observed reads. */
export function observeTarget(target: ConsensusTarget, onClient: OnClient): ConsensusTarget {
  return { ...target, reads: new ObservedTargetReads(target.reads, onClient) };
}

class ObservedTargetReads implements TargetReads {
  readonly #reads: TargetReads;
  readonly #onClient: OnClient;

  constructor(reads: TargetReads, onClient: OnClient) {
    this.#reads = reads;
    this.#onClient = onClient;
  }

  async fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined> {
    const client = await this.#reads.fetchClient(id, block, signal);
    if (client !== undefined) this.#onClient(id, client);
    return client;
  }

  fetchLatestHeight(of: StateMachineId, signal: AbortSignal): Promise<bigint | undefined> {
    return this.#reads.fetchLatestHeight(of, signal);
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
