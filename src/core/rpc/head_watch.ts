/**
 * Heads of the endpoints of a set, compared: which of them are behind. Start reading at {@link findLag}, the rule.
 */
import type { RpcAnswer, RpcCall } from "./call.ts";
import type { Json } from "./json.ts";

/** Newest block that an endpoint named. */
export interface NamedHead {
  readonly height: bigint;
  /** Time of the block, Unix seconds. */
  readonly timeSec: number;
}

/** How the head of an endpoint is read. */
export interface HeadQuery {
  readonly call: RpcCall;
  /** `undefined`: the answer is no block. */
  readonly read: (result: Json) => NamedHead | undefined;
}

/** A head as it was read. */
export interface HeadReading extends NamedHead {
  readonly readAtMs: number;
  /** Time between the blocks that this endpoint named before, seconds; 0: not known yet. */
  readonly blockSec: number;
}

/** How far an endpoint is behind another one. */
export interface Lag {
  readonly blocks: number;
  readonly seconds: number;
}

/** Time after which an endpoint of a set in use is asked for its head, if no answer named it meanwhile. */
export const HEAD_EVERY_MS = 15_000;
/** Blocks and seconds by which an endpoint may be behind; where blocks take longer than 5 s, three of them. */
const TOLERATED: Lag = { blocks: 3, seconds: 15 };

/**
 * How far the endpoint of `own` is behind; `undefined`: it is not, as far as one can tell. It is when another endpoint
 * names a block that is at least {@link TOLERATED} newer in height and in time, not counting the time between both
 * readings. An endpoint that is behind stays so until it is nearer than half of that time.
 *
 * A block's time counts up to the time of reading by our clock, so another endpoint's claim cannot exceed the age of our
 * own endpoint's newest block: one that follows its chain is not behind, whatever height another one invents. A liar can
 * come before an endpoint only while that endpoint's own block is old: on a chain that stands still. There it is believed
 * by the choice of endpoints alone: what decides about money or an end is asked of two.
 */
export function findLag(
  own: HeadReading,
  others: readonly HeadReading[],
  wasBehind: boolean,
): Lag | undefined {
  const lags = others.map((other) => {
    const laterSec = (other.readAtMs - own.readAtMs) / 1_000;
    return {
      blocks: Number(other.height - own.height),
      seconds: seenSec(other) - seenSec(own) - (wasBehind ? laterSec : Math.max(0, laterSec)),
    };
  });
  const tolerated = Math.max(TOLERATED.seconds, TOLERATED.blocks * own.blockSec);
  return lags.filter(({ blocks, seconds }) =>
    wasBehind ? seconds >= tolerated / 2 : blocks >= TOLERATED.blocks && seconds >= tolerated
  )
    .reduce<Lag | undefined>(
      (most, lag) => most === undefined || lag.seconds > most.seconds ? lag : most,
      undefined,
    );
}

/** Time of a block, but none that is later than the reading. */
function seenSec({ timeSec, readAtMs }: HeadReading): number {
  return Math.min(timeSec, readAtMs / 1_000);
}

/** The head among the answers of a request. */
export function findHead(
  { call, read }: HeadQuery,
  calls: readonly RpcCall[],
  answers: readonly RpcAnswer[],
): NamedHead | undefined {
  const at = calls.findLastIndex(({ method, params }) =>
    method === call.method && params[0] === call.params[0]
  );
  const answer = answers[at];
  return answer?.kind === "result" ? read(answer.result) : undefined;
}

/** A head that was read now, after an earlier one. */
export function nextReading(head: NamedHead, before: HeadReading | undefined, readAtMs: number): HeadReading {
  const blocks = before === undefined ? 0 : Number(head.height - before.height);
  const measured = before === undefined || blocks <= 0 ? undefined : (head.timeSec - before.timeSec) / blocks;
  const blockSec = measured === undefined || measured < 0 ? before?.blockSec ?? 0 : measured;
  return { ...head, readAtMs, blockSec };
}
