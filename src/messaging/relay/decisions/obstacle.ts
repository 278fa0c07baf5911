/**
 * Obstacles that block a whole leg although both chains work: its messages are held with the reason until the obstacle
 * is gone. Detection is passed in; see `obstacles.ts`.
 */
import type { HoldReason } from "../../ledger/ledger.ts";

/** Reasons for which a whole leg waits. */
export const obstacleReasons = [
  "sink_unprovable",
  "source_not_accepted",
] as const satisfies readonly HoldReason[];

/** Obstacle that blocks a leg. */
export interface Obstacle {
  readonly reason: typeof obstacleReasons[number];
  /** Description of what is missing, for message rows and logs. */
  readonly detail: string;
}

/** Detects an obstacle that blocks the leg; only throws on abort. */
export type FindObstacle = (signal: AbortSignal) => Promise<Obstacle | undefined>;
