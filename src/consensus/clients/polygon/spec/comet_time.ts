/**
 * Times of CometBFT: text in updates and answers of nodes, seconds and nanoseconds in what is hashed and signed.
 * Source: cometbft/cometbft-rs: cometbft/src/time.rs.
 */
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import { PolygonError } from "./polygon_error.ts";
import { integerField } from "./protobuf.ts";

/** A moment. */
export interface CometTime {
  /** Unix time in seconds. */
  readonly seconds: bigint;
  readonly nanos: number;
}

const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/**
 * Reads RFC 3339 in UTC, as nodes write it: nodes and the hub omit zeros at the end. @throws {PolygonError} `time`
 */
export function parseCometTime(text: string): CometTime {
  const [, whole, fraction = ""] = RFC_3339.exec(text) ?? [];
  const ms = whole === undefined ? NaN : Date.parse(`${whole}Z`);
  // The runtime reads the 30th of February as the 2nd of March.
  const isDate = !Number.isNaN(ms) && ms >= 0 && new Date(ms).toISOString().startsWith(`${whole}.`);
  if (!isDate) throw new PolygonError("time");
  return { seconds: BigInt(ms) / 1_000n, nanos: Number(fraction.padEnd(9, "0")) };
}

/** Protobuf of a moment. */
export function encodeCometTime({ seconds, nanos }: CometTime): Uint8Array {
  return concatBytes(integerField(1, seconds), integerField(2, nanos));
}

/** Negative when `a` is before `b`, 0 for the same moment. */
export function compareCometTimes(a: CometTime, b: CometTime): number {
  if (a.seconds !== b.seconds) return a.seconds < b.seconds ? -1 : 1;
  return a.nanos - b.nanos;
}
