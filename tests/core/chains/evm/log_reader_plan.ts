/** What one seed of reading logs holds: a chain, its requests, and what its endpoints do wrong when. Drawn from the seed. */
import { Draw } from "../../../support/draw.ts";

/** What an endpoint does wrong for a while. */
export type LogTroubleKind =
  /** All of it is behind the chain: an honest node that has not synced. */
  | { readonly kind: "behind"; readonly blocks: number }
  /** Its head is the chain's, its logs end before: a lagging index. */
  | { readonly kind: "indexBehind"; readonly blocks: number }
  /** Each call of a batch goes to one of two nodes, of which one is behind. */
  | { readonly kind: "outOfStep"; readonly blocks: number }
  /** Its index has no log at all. */
  | { readonly kind: "empty" }
  /** Its index lacks every request whose nonce leaves this rest when it is divided by three. */
  | { readonly kind: "holes"; readonly rest: number }
  /** It refuses wider ranges. */
  | { readonly kind: "narrow"; readonly blocks: number }
  /** It takes longer than anybody waits for wider ranges. */
  | { readonly kind: "slow"; readonly blocks: number }
  | { readonly kind: "down" }
  | { readonly kind: "throttled" };

/** A trouble with its endpoint and time. */
export type LogTrouble = LogTroubleKind & {
  readonly endpoint: number;
  readonly atSec: number;
  readonly forSec: number;
};

/** A whole seed. */
export interface LogPlan {
  readonly blockSec: number;
  readonly endpoints: number;
  /** Blocks of the requests after the start, in order; several may be in one. */
  readonly requests: readonly number[];
  /** Requests before the first block that is read. */
  readonly earlier: number;
  /** Place among {@link requests} of one that no index ever holds. */
  readonly lost: number | undefined;
  readonly troubles: readonly LogTrouble[];
  readonly pollSec: number;
  /** Maximum of blocks of one read. */
  readonly width: number;
  /** From then on nothing goes wrong any more, but for what is lost. */
  readonly calmAfterSec: number;
}

/** Draws the plan of a seed. */
export function logPlanOf(seed: number): LogPlan {
  const draw = new Draw(seed);
  const blockSec = draw.between(2, 12);
  const endpoints = draw.chance(70) ? 2 : draw.chance(50) ? 1 : 3;
  const lost = draw.chance(12) ? draw.between(0, 3) : undefined;
  const calmAfterSec = lost === undefined ? draw.between(150, 400) : draw.between(600, 900);
  const blocks = Math.floor(calmAfterSec / blockSec);
  const requests = Array.from({ length: draw.between(4, 25) }, () => draw.between(1, blocks));
  return {
    blockSec,
    endpoints,
    requests: requests.sort((a, b) => a - b),
    earlier: draw.between(0, 3),
    lost,
    troubles: Array.from(
      { length: draw.between(0, 4 * endpoints) },
      () => trouble(draw, endpoints, calmAfterSec),
    ),
    pollSec: draw.between(8, 30),
    width: draw.chance(20) ? draw.between(1, 20) : 1_000,
    calmAfterSec,
  };
}

function trouble(draw: Draw, endpoints: number, calmAfterSec: number): LogTrouble {
  const atSec = draw.between(0, calmAfterSec - 10);
  const forSec = Math.min(draw.between(10, 200), calmAfterSec - atSec);
  const blocks = draw.between(1, 12);
  return { ...kindOf(draw, blocks), endpoint: draw.between(0, endpoints - 1), atSec, forSec };
}

function kindOf(draw: Draw, blocks: number): LogTroubleKind {
  switch (draw.between(0, 9)) {
    case 0:
      return { kind: "behind", blocks };
    case 1:
    case 2:
      return { kind: "indexBehind", blocks };
    case 3:
      return { kind: "outOfStep", blocks };
    case 4:
      return { kind: "empty" };
    case 5:
      return { kind: "holes", rest: draw.between(0, 2) };
    case 6:
      return { kind: "narrow", blocks };
    case 7:
      return { kind: "slow", blocks };
    case 8:
      return { kind: "down" };
    default:
      return { kind: "throttled" };
  }
}
