/** Watches a running consensus relayer for its operator: its polls and updates, besides what any program has. */
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import type { HubLightClient } from "../../core/chains/hub_client.ts";
import { observed } from "../../core/chains/chain_board.ts";
import { HourlyMaxima } from "../../core/telemetry/status_sections.ts";
import { ProgramWatch } from "../../core/checks/program_watch.ts";
import { STARTING, toChainStatus, toProgramStatus } from "../../core/checks/program_status.ts";
import { ChainNames } from "../../core/config/chain_names.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { HubConsensus } from "../client.ts";
import { consensusView } from "./consensus_view.ts";
import { consensusGauges, type ConsensusStatus, findStallReasons } from "./consensus_status.ts";
import { LightClientBoard, type PlannedProver } from "./light_client_board.ts";

/** Connections whose routes are listed. */
interface PlannedConnections {
  readonly hub: Pick<ConsensusTarget, "id">;
  readonly proved: readonly PlannedProver[];
  readonly hubConsensus?: HubConsensus | undefined;
}

/** Watches one consensus relayer. */
export class ConsensusWatch extends ProgramWatch<ConsensusStatus> {
  readonly updates: LightClientBoard;
  readonly #hub: string;
  readonly #ages = new HourlyMaxima();
  #isOpen = false;

  constructor(clock: Clock, hub: string, names: ChainNames = new ChainNames()) {
    super(clock, names, {
      ...consensusView,
      program: "causeway-consensus",
      gauges: consensusGauges,
      everyMs: 0,
    });
    this.#hub = hub;
    this.updates = new LightClientBoard({ clock, registry: this.registry });
  }

  /** The target with its light clients observed. */
  observe(target: ConsensusTarget): ConsensusTarget {
    const { stateMachine } = target.id;
    const reads = observed(target.reads, {
      fetchClient: (client, [id]) => client && this.updates.noteClient(stateMachine, id, client),
      fetchLatestHeight: (height, [of]) => {
        if (height !== undefined) this.updates.noteHeight(stateMachine, of, height);
      },
    });
    return { ...target, reads };
  }

  /** The hub's light client on an EVM host, observed. */
  observeHost(host: StateMachine, client: HubLightClient): HubLightClient {
    return observed(client, {
      fetchConsensusView: (view) => this.updates.noteHost({ chain: this.#hub, target: host }, view),
    });
  }

  /** Lists the light clients that the program advances. */
  plan({ hub, proved, hubConsensus }: PlannedConnections): void {
    this.forget();
    const hubName = hub.id.stateMachine;
    this.updates.plan([
      ...proved.map((prover) => ({ chain: prover.chain, target: hubName, prover })),
      ...(hubConsensus?.followers ?? []).map(({ client, proved }) => ({
        ...client.route,
        ...proved && { prover: proved.prover },
      })),
    ]);
  }

  /** Notes that the checks of the start are passed. */
  open(): void {
    this.#isOpen = true;
  }

  protected read(): ConsensusStatus {
    const place = this.place(this.#hub);
    const { nowMs } = place;
    const lightClients = this.updates.list().map((client) => {
      const { chain, target, updatedMs } = client;
      const ageMin = updatedMs === undefined ? undefined : (nowMs - updatedMs) / 60_000;
      return { ...client, ageMinByHour: this.#ages.note(`${chain} on ${target}`, ageMin, nowMs) };
    });
    const names = [
      this.#hub,
      ...lightClients.flatMap(({ chain, target }) => [chain, target]),
      ...this.endpoints.list().map(({ chain }) => chain),
    ];
    const chains = [...new Set(names)].map((chain) => toChainStatus(place, chain));
    const own = { chains, lightClients };
    return toProgramStatus(place, own, this.#isOpen ? findStallReasons({ ...place, ...own }) : [STARTING]);
  }
}
