/**
 * Watches a running consensus relayer for its operator: endpoints, polls and updates come together here, and are served
 * as metrics, readiness, status and page. Updating depends on nothing of this.
 */
import { CheckBoard, STARTING, toCheckReasons } from "../../core/checks/program_status.ts";
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import type { HubLightClient } from "../../core/chains/hub_client.ts";
import { observed } from "../../core/chains/chain_board.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { EndpointBoard } from "../../core/rpc/endpoint_board.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { Refreshed } from "../../core/runtime/refreshed.ts";
import { programVersion } from "../../core/runtime/version.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import type { StatusSources } from "../../core/telemetry/http/status_server.ts";
import { ProgramWatch } from "../../core/telemetry/program_watch.ts";
import { ReasonMemory, writeReadiness } from "../../core/telemetry/readiness.ts";
import type { Connections } from "../session.ts";
import { renderConsensusPage } from "./consensus_view.ts";
import { type ConsensusStatus, findStallReasons } from "./consensus_status.ts";
import { LightClientBoard, type PlannedProver } from "./light_client_board.ts";

/** Age of an exposition up to which it is sent again. */
const EXPOSITION_EVERY_MS = 1_000;

/** Interval of looks at what is in the way while nobody asks: since when it is, is known from the first look on. */
const LOOK_EVERY_MS = 60_000;

/** Connections whose routes are listed. */
type PlannedConnections = Pick<Connections, "hubConsensus"> & {
  readonly hub: Pick<ConsensusTarget, "id">;
  readonly proved: readonly PlannedProver[];
};

/** Watches one consensus relayer. */
export class ConsensusWatch {
  readonly program: ProgramWatch;
  readonly endpoints: EndpointBoard;
  readonly updates: LightClientBoard;
  /** Results of the checks that the program makes. */
  readonly checks = new CheckBoard();
  readonly #clock: Clock;
  readonly #hub: string;
  readonly #memory: ReasonMemory;
  readonly #exposition: Refreshed<Promise<string>>;
  #isOpen = false;

  constructor(clock: Clock, hub: string) {
    this.#clock = clock;
    this.#hub = hub;
    this.program = new ProgramWatch(clock, "causeway-consensus");
    const { registry } = this.program;
    this.endpoints = new EndpointBoard({ clock, registry });
    this.updates = new LightClientBoard({ clock, registry });
    this.#memory = new ReasonMemory(clock);
    this.#exposition = new Refreshed(clock, { everyMs: EXPOSITION_EVERY_MS, make: () => this.#expose() });
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
    this.program.troubles.clear();
    this.endpoints.clear();
    const hubName = hub.id.stateMachine;
    const { hosts = [], followers = [] } = hubConsensus ?? {};
    this.updates.plan([
      ...proved.map((prover) => ({ chain: prover.chain, target: hubName, prover })),
      ...hosts.map(({ id }) => ({ chain: hubName, target: id.stateMachine })),
      ...followers.map(({ prover, target }) => ({ chain: hubName, target: target.id.stateMachine, prover })),
    ]);
  }

  /** Workers that only watch. */
  workers(): readonly Worker[] {
    return [this.program.loopWorker(), {
      name: "reasons",
      run: async (signal) => {
        while (!signal.aborted) {
          this.status();
          await this.#clock.sleep(LOOK_EVERY_MS, signal);
        }
      },
    }];
  }

  /** Notes that the checks of the start are passed. */
  open(): void {
    this.#isOpen = true;
  }

  /** The snapshot. */
  status(): ConsensusStatus {
    const known = {
      nowMs: this.#clock.now(),
      hub: this.#hub,
      lightClients: this.updates.list().map((client) => {
        const { head, final } = this.endpoints.heights(client.chain);
        return { ...client, ...head && { head }, ...final && { final } };
      }),
      endpoints: this.endpoints.list(),
      checks: this.checks.rows,
    };
    const found = [
      ...this.#isOpen ? findStallReasons(known) : [STARTING],
      ...this.program.troubles.list(),
      ...toCheckReasons(known.checks),
    ];
    return {
      program: "causeway-consensus",
      version: programVersion,
      startedAtMs: this.program.startedAtMs,
      ...known,
      reasons: this.#memory.date(found),
      warnings: this.program.warnings,
    };
  }

  /** What the status server serves. */
  sources(): StatusSources {
    return {
      metrics: () => this.#exposition.get(),
      reasons: () => this.status().reasons,
      page: () => renderConsensusPage(this.status()),
      statusJson: () => `${JSON.stringify(this.status(), null, 2)}\n`,
    };
  }

  #expose(): Promise<string> {
    const { registry } = this.program;
    this.program.collect();
    this.endpoints.collect();
    this.updates.collect();
    writeReadiness(registry, this.status().reasons);
    return registry.expose();
  }
}
