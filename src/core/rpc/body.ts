/** Bodies of HTTP answers, up to a limit, in one buffer: parts that are kept until the end take several times as much. */
import { giveTurn } from "../runtime/slices.ts";

/** Bytes that most answers fit in. */
const FIRST_BYTES = 16 * 1024;
/** Bytes after which others have their turn. */
const TURN_BYTES = 1024 * 1024;

/**
 * Reads a body whole, its bytes counted as they arrive, after decompression; `undefined`, and the rest is not read, when
 * it has more than `limit` bytes.
 */
export async function readBody(
  { body }: Pick<Response, "body">,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let buffer = new Uint8Array(Math.min(FIRST_BYTES, limit));
  let size = 0;
  let turnAt = TURN_BYTES;
  for await (const part of body ?? []) {
    const at = size;
    size += part.length;
    if (size > limit) return undefined; // which cancels the rest
    if (size > buffer.length) {
      const larger = new Uint8Array(Math.min(limit, Math.max(2 * buffer.length, size)));
      larger.set(buffer.subarray(0, at));
      buffer = larger;
    }
    buffer.set(part, at);
    if (size < turnAt) continue;
    turnAt = size + TURN_BYTES;
    await giveTurn();
  }
  return buffer.subarray(0, size);
}
