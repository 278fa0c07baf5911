/**
 * What keeps a whole leg from delivering although both chains work: its messages are held with the reason until it is
 * gone. Who finds out is handed in; see obstacles.ts of the program.
 */
import type { HoldReason } from "../../ledger/ledger.ts";

/** Reasons for which a whole leg waits. */
export const obstacleReasons = [
  "sink_unprovable",
  "source_not_accepted",
] as const satisfies readonly HoldReason[];

/** Why nothing is delivered on a leg. */
export interface Obstacle {
  readonly reason: typeof obstacleReasons[number];
  /** What is missing, for message rows and logs. */
  readonly detail: string;
}

/** Looks whether anything keeps the leg from delivering; never throws but for an abort. */
export type FindObstacle = (signal: AbortSignal) => Promise<Obstacle | undefined>;
