/**
 * `prove`: advances one light client now: builds and verifies an update, says what it contains and what it costs, and
 * submits it. In the running relayer it has the light client's turn, so that its worker and this never work on it at once.
 */
import type { NamedSection } from "../../core/commands/chain_name.ts";
import { OperationRefusal } from "../../core/commands/operation.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { DeadlineFault } from "../../core/runtime/retry.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { bytesOf, deliverUpdate, type UpdateToDeliver } from "../deliver_update.ts";
import { HeightNotifier } from "../height_notifier.ts";
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import { type ConsensusProver, ProverFault } from "../prover.ts";
import type { ProofResult, Proven } from "../proven.ts";
import type { ProverTurns, UpdateObserver, UpdateRoute } from "../poll_loop.ts";
import { findRoute, type ProvingConnections, type WantedRoute } from "./prove_routes.ts";

/** What proves: the connections of a relayer, or of a command's own process. */
export interface Proving extends ProvingConnections {
  /** Chains by the names of their sections. */
  readonly sections: readonly NamedSection[];
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: ProverTurns;
  /** Wakes those who wait for heights on the hub. */
  readonly notifier: HeightNotifier;
  /** Notified of what was submitted; absent: nobody observes. */
  readonly observer?: UpdateObserver | undefined;
}

/** Which light client, and whether to submit. */
export interface ProveRequest extends WantedRoute {
  readonly isDryRun: boolean;
}

/** Builds, verifies and, unless it is a dry run, submits an update now. @throws {OperationRefusal} */
export async function proveNow(
  proving: Proving,
  request: ProveRequest,
  signal: AbortSignal,
): Promise<Proven> {
  const { isDryRun } = request;
  const { observer, turns } = proving;
  const found = findRoute(proving, request);
  const target = (found.kind === "host" ? found.host : found.target).id.stateMachine;
  const route = { chain: request.chain, target };
  const prove = (): Promise<ProofResult> =>
    found.kind === "host"
      ? found.host.prove({ isDryRun, observer }, signal)
      : proveByProver({ ...proving, ...found }, request, signal);
  return await turns.of(route).run(async () => {
    try {
      return { ...route, ...await prove() };
    } catch (error) {
      signal.throwIfAborted();
      throw explain(error, route);
    }
  }, signal);
}

/** Faults whose message is for the operator, as a refusal. */
function explain(error: unknown, { chain, target }: UpdateRoute): unknown {
  const isExpected = error instanceof ProverFault || error instanceof RpcFault ||
    error instanceof DeadlineFault;
  return isExpected ? new OperationRefusal(`No update of ${chain} on ${target}: ${error.message}`) : error;
}

/** The hub and Substrate chains take updates in unsigned extrinsics, which pay no fee. */
const FREE = { gas: "0", native: "0", isPaid: true };

/** Deliveries of one prover. */
interface ProverDelivery extends Pick<Proving, "clock" | "log" | "hub" | "notifier" | "observer"> {
  readonly prover: ConsensusProver;
  /** The chain to prove to. */
  readonly target: ConsensusTarget;
}

async function proveByProver(
  { prover, ...delivery }: ProverDelivery,
  { isDryRun }: Pick<ProveRequest, "isDryRun">,
  signal: AbortSignal,
): Promise<ProofResult> {
  const { clock } = delivery;
  const startMs = clock.now();
  const finding = await prover.next(signal);
  const findMs = clock.now() - startMs;
  if (finding.kind === "nothing") {
    const text = `Nothing to prove: ${finding.reason}.`;
    return { outcome: "nothing", text, updates: 0, bytes: 0, hasMore: false, buildMs: findMs };
  }
  const update = { prover, finding, findMs };
  const end = isDryRun
    ? await tryUpdates(delivery.target, update, signal)
    : await submit(delivery, update, signal);
  return {
    summary: finding.summary,
    updates: finding.proofs.length,
    bytes: bytesOf(finding.proofs),
    height: finding.height?.toString(),
    hasMore: finding.hasMore,
    buildMs: findMs,
    cost: FREE,
    ...end,
  };
}

/** Asks the target whether it would take the updates. */
async function tryUpdates(
  target: ConsensusTarget,
  { prover, finding }: UpdateToDeliver,
  signal: AbortSignal,
): Promise<Pick<Proven, "outcome" | "text">> {
  const update = { id: prover.consensusStateId, proofs: finding.proofs };
  const refusal = await target.updates.dryRunUpdates(update, signal);
  const name = target.id.stateMachine;
  if (refusal === undefined) return { outcome: "possible", text: `Verified; ${name} would accept it.` };
  return { outcome: "refused", text: `${name} would refuse it: ${refusal.code}: ${refusal.detail}` };
}

async function submit(
  { clock, log, hub, target, notifier, observer }: Omit<ProverDelivery, "prover">,
  update: UpdateToDeliver,
  signal: AbortSignal,
): Promise<Pick<Proven, "outcome" | "text">> {
  const name = target.id.stateMachine;
  const isHub = target === hub;
  const deps = {
    clock,
    log: log.with({ chain: update.prover.chain, ...isHub ? {} : { to: name } }),
    hub: target,
    // Nobody waits for heights of the hub.
    notifier: isHub ? notifier : new HeightNotifier(),
    observer,
  };
  const result = await deliverUpdate(deps, update, signal);
  switch (result.kind) {
    case "accepted":
      return { outcome: "accepted", text: `${name} accepted it in block ${result.block}.` };
    case "overtaken":
      return { outcome: "overtaken", text: "Another relayer's update came first." };
    case "refused": {
      const { code, detail } = result.refusal;
      const advice = code === "too_large" ? update.finding.adviceIfTooLarge : undefined;
      const text = `${name} refused it: ${code}: ${detail}`;
      return { outcome: "refused", text: advice === undefined ? text : `${text}; ${advice}` };
    }
    case "lost":
      return { outcome: "lost", text: `It was not included: ${result.reason}.` };
  }
}
