/** A light client of the hub in an EVM host whose state an observer hears of as it is read. */
import type { Address } from "../evm/address.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";
import type {
  ConsensusClientKind,
  HostConsensusView,
  HubLightClient,
  StoredAuthoritySet,
} from "./hub_client.ts";

/** Called with each state that was read; must not throw. */
export type OnHostView = (view: HostConsensusView) => void;

/** Returns the client with observed reads. */
export function observeHubClient(client: HubLightClient, onView: OnHostView): HubLightClient {
  return new ObservedHubClient(client, onView);
}

class ObservedHubClient implements HubLightClient {
  readonly #client: HubLightClient;
  readonly #onView: OnHostView;

  constructor(client: HubLightClient, onView: OnHostView) {
    this.#client = client;
    this.#onView = onView;
  }

  async fetchConsensusView(hub: StateMachineId, signal: AbortSignal): Promise<HostConsensusView> {
    const view = await this.#client.fetchConsensusView(hub, signal);
    this.#onView(view);
    return view;
  }

  fetchAuthoritySet(signal: AbortSignal): Promise<StoredAuthoritySet> {
    return this.#client.fetchAuthoritySet(signal);
  }

  fetchHasBatchCall(signal: AbortSignal): Promise<boolean> {
    return this.#client.fetchHasBatchCall(signal);
  }

  fetchClientKind(client: Address, signal: AbortSignal): Promise<ConsensusClientKind> {
    return this.#client.fetchClientKind(client, signal);
  }
}
