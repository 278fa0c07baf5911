/**
 * Detection of obstacles that block a whole leg: an EVM chain whose state no endpoint can prove at the heights that the
 * hub knows (deliveries to it could never be claimed), a chain whose messages the hub does not accept yet, and a runtime
 * of the target that this program does not know.
 */
import type { Counterparties } from "../../core/chains/hub.ts";
import type { Chain } from "../../core/chains/port.ts";
import type { ChainReads } from "../../core/chains/reads.ts";
import type { ProofChecks } from "../../core/chains/proofs.ts";
import type { StateMachineId } from "../../core/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type FindObstacle, type Leg, type Obstacle, obstacleReasons } from "./leg.ts";
import { NEVER_MS } from "./decisions/retry_schedule.ts";
import { transition } from "./messages.ts";

/** Validity of a finding without an obstacle, ms: nodes are replaced, and the hub's view of a chain may fall behind. */
const CLEAR_MS = 5 * 60_000;

/** Interval after which an obstacle, or an unknown result, is checked again, ms. */
const BLOCKED_MS = 30_000;

/** Time after which endpoints that fail in other ways count as incapable, ms. */
const PATIENCE_MS = 10 * 60_000;

/** Dependencies of the detection. */
export interface ObstacleDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Faults that show a missing capability of a node; all others are temporary and leave the last finding unchanged. */
const INABILITIES: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([
  "pruned",
  "missing_method",
  "malformed",
  "refused",
  "too_large",
  "not_found",
]);

/** Detects, for the leg to an EVM chain, whether its deliveries will be claimable. */
export function findTargetProvability(
  deps: ObstacleDeps,
  hub: { readonly reads: Pick<ChainReads, "fetchView"> },
  chain: Pick<Chain, "id"> & { readonly proofChecks: Pick<ProofChecks, "requireProofs"> },
): FindObstacle {
  const name = chain.id.stateMachine;
  const obstacle = (detail: string): Obstacle => ({ reason: "target_unprovable", detail });
  return remembered({ ...deps, log: deps.log.with({ chain: name }) }, async (last, signal) => {
    let asked = "";
    try {
      const { height } = await hub.reads.fetchView(chain.id, signal);
      if (height === 0n) return undefined;
      asked = `block ${height}: `;
      await chain.proofChecks.requireProofs(height, signal);
      return undefined;
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      // Before the first finding without an obstacle nothing is risked.
      const isMissingCapability = asked !== "" && INABILITIES.has(error.code);
      if (isMissingCapability || last === "unknown") return obstacle(`${asked}${error.detail ?? error.code}`);
      throw error;
    }
  });
}

/** Detects, for the leg to the hub, whether the hub accepts messages of the source. */
export function findSourceAcceptance(
  deps: ObstacleDeps,
  hub: { readonly counterparties: Pick<Counterparties, "findUnlisted"> },
  id: StateMachineId,
): FindObstacle {
  return remembered({ ...deps, log: deps.log.with({ chain: id.stateMachine }) }, async (_last, signal) => {
    const unlisted = await hub.counterparties.findUnlisted(id, signal);
    if (unlisted === undefined) return undefined;
    return { reason: "source_not_accepted", detail: `the hub ${unlisted}` };
  });
}

/** Detects, for the legs to a chain, whether its runtime is one that this program knows, also after an upgrade. */
export function findRuntimeSupport(
  { clock, log }: ObstacleDeps,
  { id, runtime }: Pick<Chain, "id" | "runtime">,
): FindObstacle | undefined {
  return runtime && remembered(
    { clock, log: log.with({ chain: id.stateMachine }), everyMs: 0 },
    async (_last, signal) => {
      const detail = await runtime.findUnsupported(signal);
      return detail === undefined ? undefined : { reason: "runtime_unsupported", detail };
    },
  );
}

/** Combines detections: the first obstacle counts. `undefined` ones are left out. */
export function firstObstacle(detections: readonly (FindObstacle | undefined)[]): FindObstacle {
  return async (signal) => {
    for (const find of detections) {
      const found = await find?.(signal);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

type LastFound = Obstacle | "none" | "unknown";

/** Caches the finding and refreshes it periodically; a temporary fault leaves the last finding unchanged. */
function remembered(
  { clock, log, everyMs = CLEAR_MS }: ObstacleDeps & {
    /** Validity of a finding without an obstacle, ms. */
    readonly everyMs?: number;
  },
  find: (last: LastFound, signal: AbortSignal) => Promise<Obstacle | undefined>,
): FindObstacle {
  let last: LastFound = "unknown";
  let foundMs = clock.now();
  let nextMs = foundMs;
  return async (signal) => {
    if (clock.now() >= nextMs) {
      try {
        const isStale = last === "none" && clock.now() - foundMs >= CLEAR_MS + PATIENCE_MS;
        last = await find(isStale ? "unknown" : last, signal) ?? "none";
        foundMs = clock.now();
        nextMs = foundMs + (last === "none" ? everyMs : Math.min(everyMs, BLOCKED_MS));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault)) throw error;
        log.debug("read_failed.delivery_check", { error });
        nextMs = clock.now() + Math.min(everyMs, BLOCKED_MS);
      }
    }
    return typeof last === "string" ? undefined : last;
  };
}

/** Number of messages held per transaction of the database. */
const PAGE = 200;

/** Holds every message of the leg that would be due now, until {@link releaseBlocked}. */
export function holdBlocked(
  leg: Leg,
  { reason, detail }: Obstacle,
): void {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  for (;;) {
    const due = leg.ledger.messages.listDue({ source, target, nowMs: leg.clock.now(), limit: PAGE });
    leg.ledger.transaction(() => {
      for (const row of due) transition(leg, row, { to: "held", reason, detail, nextAttemptAtMs: NEVER_MS });
    });
    if (due.length < PAGE) return;
  }
}

/** Releases the messages that an obstacle held, also in an earlier run of the program. */
export function releaseBlocked(leg: Leg): void {
  for (const reason of obstacleReasons) {
    leg.ledger.messages.wake(leg.source.id.stateMachine, leg.target.id.stateMachine, reason);
  }
}
