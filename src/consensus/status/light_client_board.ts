/** What is known of every light client that the program advances: polls, updates, failures, and its own age. */
import type { ConsensusClientView } from "../../core/chains/consensus_target.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { MetricRegistry } from "../../core/telemetry/metric_registry.ts";
import type { PollResult } from "../schedule.ts";
import type { ObservedUpdate, UpdateObserver, UpdateRoute } from "../update_observer.ts";

/** A light client that the program advances, with its id where it is one of the hub's. */
export interface PlannedRoute extends UpdateRoute {
  readonly consensusStateId?: string;
}

/** A light client as last seen. Times are Unix milliseconds; absent: not yet. */
export interface RouteReading extends UpdateRoute {
  readonly lastPollMs?: number;
  /** What the prover waits for, and since when. */
  readonly waitsFor?: { readonly reason: string; readonly sinceMs: number };
  /** Time since which every poll failed. */
  readonly failingSinceMs?: number;
  readonly lastUpdate?: ObservedUpdate & { readonly atMs: number };
  /** Updates of ours that were accepted since the start. */
  readonly accepted: number;
  /** Last update of the light client, whoever sent it. */
  readonly updatedMs?: number;
  readonly isFrozen?: boolean;
  /** Time at which it expires without another update. */
  readonly expiresMs?: number;
}

/** Remembers all routes. */
export class LightClientBoard implements UpdateObserver {
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
    for (const { chain, target } of routes) this.#find({ chain, target });
  }

  noteUpdate({ chain, target }: UpdateRoute, update: ObservedUpdate): void {
    const { kind, result, bytes, findMs, submitMs } = update;
    const route = { chain, target };
    this.#registry.add("causeway_updates_total", { ...route, kind, result });
    this.#registry.observe("causeway_update_bytes", route, bytes);
    this.#registry.observe("causeway_update_seconds", { ...route, stage: "find" }, findMs / 1_000);
    this.#registry.observe("causeway_update_seconds", { ...route, stage: "submit" }, submitMs / 1_000);
    const known = this.#find(route);
    const nowMs = this.#clock.now();
    const isAccepted = result === "accepted";
    this.#put({
      ...known,
      lastUpdate: { ...update, atMs: nowMs },
      accepted: known.accepted + (isAccepted ? 1 : 0),
      ...isAccepted && { updatedMs: nowMs },
    });
  }

  notePoll(route: UpdateRoute, result: PollResult["kind"], reason?: string): void {
    const nowMs = this.#clock.now();
    const { waitsFor, failingSinceMs, ...known } = this.#find(route);
    const isFailure = result === "failed" || result === "suspended";
    this.#put({
      ...known,
      lastPollMs: nowMs,
      ...isFailure && { failingSinceMs: failingSinceMs ?? nowMs },
      ...reason !== undefined && {
        waitsFor: waitsFor === undefined ? { reason, sinceMs: nowMs } : { ...waitsFor, reason },
      },
    });
  }

  /** Notes a light client of the hub that was read. */
  noteClient(consensusStateId: string, client: ConsensusClientView): void {
    const route = this.#planned.find((planned) => planned.consensusStateId === consensusStateId);
    if (route === undefined) return;
    const updatedMs = Number(client.updatedSec) * 1_000;
    this.#put({
      ...this.#find(route),
      updatedMs,
      isFrozen: client.isFrozen,
      expiresMs: updatedMs + Number(client.unbondingSec) * 1_000,
    });
  }

  /** All routes in the order of the plan. */
  list(): readonly RouteReading[] {
    return [...this.#routes.values()];
  }

  /** Writes the gauges of the moment. */
  collect(): void {
    const nowMs = this.#clock.now();
    for (const { chain, target, updatedMs } of this.list()) {
      if (updatedMs === undefined) continue;
      const ageSec = Math.max(0, nowMs - updatedMs) / 1_000;
      this.#registry.set("causeway_update_age_seconds", { chain, target }, ageSec);
    }
  }

  #find({ chain, target }: UpdateRoute): RouteReading {
    const found = this.#routes.get(keyOf({ chain, target }));
    if (found !== undefined) return found;
    const made = { chain, target, accepted: 0 };
    this.#put(made);
    return made;
  }

  #put(route: RouteReading): void {
    this.#routes.set(keyOf(route), route);
  }
}

function keyOf({ chain, target }: UpdateRoute): string {
  return `${chain} ${target}`;
}
