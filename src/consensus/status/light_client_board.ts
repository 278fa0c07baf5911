/** What is known of every light client that the program advances: polls, updates, failures, and its own age. */
import type { ConsensusClientView } from "../../core/chains/consensus_target.ts";
import type { HostConsensusView } from "../../core/chains/hub_client.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "../../core/ismp/state_machine.ts";
import { stateMachineIdKey } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
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
import type { RouteReading } from "./consensus_status.ts";

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
