/** Holds the messages of a leg blocked by an obstacle, and releases them when it is gone. */
import { type Obstacle, obstacleReasons } from "./decisions/obstacle.ts";
import { NEVER_MS } from "./decisions/retry_schedule.ts";
import type { Leg, PipelineDeps } from "./leg.ts";
import { transition } from "./transitions.ts";

/** Number of messages held per transaction of the database. */
const PAGE = 200;

/** Holds every message of the leg that would be due now, until {@link wakeHindered}. */
export function holdHindered(
  deps: PipelineDeps,
  leg: Pick<Leg, "source" | "target">,
  { reason, detail }: Obstacle,
): void {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  for (;;) {
    const due = deps.ledger.messages.listDue({ source, target, nowMs: deps.clock.now(), limit: PAGE });
    deps.ledger.transaction(() => {
      for (const row of due) transition(deps, row, "held", { reason, detail, nextAttemptAtMs: NEVER_MS });
    });
    if (due.length < PAGE) return;
  }
}

/** Releases the messages that an obstacle held, also in an earlier run of the program. */
export function wakeHindered(deps: PipelineDeps, leg: Pick<Leg, "source" | "target">): void {
  for (const reason of obstacleReasons) {
    deps.ledger.messages.wake(leg.source.id.stateMachine, leg.target.id.stateMachine, reason);
  }
}
