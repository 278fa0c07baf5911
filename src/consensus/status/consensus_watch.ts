/** Watches a running consensus relayer for its operator: its polls and updates, besides what any program has. */
import type { ConsensusClientView, ConsensusTarget } from "../../core/chains/consensus_target.ts";
import type { HostConsensusView, HubLightClient } from "../../core/chains/hub_client.ts";
import { observed } from "../../core/chains/chain_board.ts";
import { HourlyMaxima } from "../../core/telemetry/status_sections.ts";
import { ProgramWatch } from "../../core/checks/program_watch.ts";
import { STARTING, toChainStatus, toProgramStatus } from "../../core/checks/program_status.ts";
import { ChainNames } from "../../core/config/chain_names.ts";
import {
  type ConsensusStateId,
  type StateMachine,
  type StateMachineId,
  stateMachineIdKey,
} from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { HubConsensus } from "../client.ts";
import { consensusView } from "./consensus_view.ts";
import {
  consensusGauges,
  type ConsensusStatus,
  findStallReasons,
  type RouteReading,
} from "./consensus_status.ts";
import type { MetricRegistry } from "../../core/telemetry/metrics.ts";
import { neverExpires } from "../target_client.ts";
import type { ConsensusProver } from "../prover.ts";
import {
  type ObservedUpdate,
  planPauseMs,
  type PollResult,
  type UpdateObserver,
  type UpdateRoute,
} from "../poll_loop.ts";

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

/** Names under which a target stores a light client and its heights; a rollup's may change when the hub was read. */
export type PlannedProver = Pick<ConsensusProver, "chain" | "consensusStateId" | "commitmentId">;

/** A light client that the program advances. */
export interface PlannedRoute extends UpdateRoute {
  /** Absent: an EVM host, which has one light client only. */
  readonly prover?: PlannedProver;
}

/** Failures after which the pause between polls grows no longer. */
const MAX_FAILURES = 64;

/** Remembers all routes. */
class LightClientBoard implements UpdateObserver {
  readonly #clock: Pick<Clock, "now">;
  readonly #registry: MetricRegistry;
  readonly #routes = new Map<string, RouteReading>();
  #planned: readonly PlannedRoute[] = [];

  constructor(deps: { readonly clock: Pick<Clock, "now">; readonly registry: MetricRegistry }) {
    this.#clock = deps.clock;
    this.#registry = deps.registry;
  }

  /** Sets the routes that are listed, also before their first poll. */
  plan(routes: readonly PlannedRoute[]): void {
    this.#planned = routes;
    for (const route of routes) this.#change(route, () => ({}));
  }

  noteUpdate({ chain, target }: UpdateRoute, update: ObservedUpdate): void {
    const { kind, result, bytes, height, findMs, submitMs } = update;
    const route = { chain, target };
    this.#registry.add("causeway_updates_total", { ...route, kind, result });
    this.#registry.observe("causeway_update_bytes", route, bytes);
    this.#registry.observe("causeway_update_seconds", { ...route, stage: "find" }, findMs / 1_000);
    this.#registry.observe("causeway_update_seconds", { ...route, stage: "submit" }, submitMs / 1_000);
    const atMs = this.#clock.now();
    const isAccepted = result === "accepted";
    this.#change(route, ({ accepted, updatedMs, knownHeight }) => ({
      lastUpdate: { ...update, atMs },
      accepted: accepted + (isAccepted ? 1 : 0),
      updatedMs: isAccepted ? atMs : updatedMs,
      knownHeight: height ?? knownHeight,
    }));
  }

  notePoll(route: UpdateRoute, result: PollResult): void {
    const nowMs = this.#clock.now();
    const reason = result.kind === "nothing" ? result.reason : undefined;
    const failure = result.kind === "failed" || result.kind === "suspended" ? result.failure : undefined;
    // Chance makes the pause shorter, never longer.
    const delayMs = planPauseMs(result, { intervalMs: 0, spentMs: 0, failures: MAX_FAILURES }, 0);
    this.#change(route, ({ failingSinceMs, lastFailure, waitsFor }) => ({
      lastPollMs: nowMs,
      failingSinceMs: failure && (failingSinceMs ?? nowMs),
      lastFailure: failure ? { ...failure, atMs: nowMs } : lastFailure,
      nextPollMs: failure && nowMs + delayMs,
      waitsFor: reason === undefined ? undefined : { reason, sinceMs: waitsFor?.sinceMs ?? nowMs },
    }));
  }

  /** Notes a light client that was read on its target. */
  noteClient(target: StateMachine, id: ConsensusStateId, client: ConsensusClientView): void {
    const { isFrozen, updatedSec, unbondingSec } = client;
    for (const route of this.#planned) {
      if (route.target !== target || route.prover?.consensusStateId !== id) continue;
      this.#change(route, () => ({ ...toAge(updatedSec, unbondingSec), isFrozen }));
    }
  }

  /** Notes the latest height of a chain that a target has. */
  noteHeight(target: StateMachine, of: StateMachineId, height: bigint): void {
    for (const route of this.#planned) {
      const { commitmentId } = route.prover ?? {};
      if (route.target !== target || commitmentId === undefined) continue;
      if (stateMachineIdKey(commitmentId) !== stateMachineIdKey(of)) continue;
      this.#change(route, () => ({ knownHeight: Number(height) }));
    }
  }

  /** Notes the hub's light client on an EVM host. */
  noteHost(route: UpdateRoute, view: HostConsensusView): void {
    const { state, hubHeight, isFrozen, updatedSec, unstakingSec } = view;
    this.#change(route, ({ trusts }) => ({
      ...toAge(updatedSec, unstakingSec),
      isFrozen,
      knownHeight: Number(hubHeight),
      trusts: state ? `relay block ${state.latestHeight}, authority set ${state.current.id}` : trusts,
    }));
  }

  /** All routes in the order of the plan. */
  list(): readonly RouteReading[] {
    return [...this.#routes.values()];
  }

  #change(
    { chain, target }: UpdateRoute,
    change: (known: RouteReading) => Partial<RouteReading>,
  ): void {
    const key = `${chain} ${target}`;
    const known = this.#routes.get(key) ?? { chain, target, accepted: 0 };
    this.#routes.set(key, { ...known, ...change(known) });
  }
}

function toAge(updatedSec: bigint, unbondingSec: bigint): Pick<RouteReading, "updatedMs" | "expiresMs"> {
  const updatedMs = Number(updatedSec) * 1_000;
  const expiresMs = neverExpires({ unbondingSec }) ? undefined : updatedMs + Number(unbondingSec) * 1_000;
  return { updatedMs, expiresMs };
}
