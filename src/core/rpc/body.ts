/** Bodies of HTTP answers, up to a limit. */
import { giveTurn } from "../runtime/slices.ts";

/** Bytes after which others have their turn. */
const TURN_BYTES = 1024 * 1024;

/** Reads a body whole; `undefined`, and the rest is not read, when it has more than `limit` bytes. */
export async function readBody(
  { body }: Pick<Response, "body">,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  let turnAt = TURN_BYTES;
  for await (const part of body ?? []) {
    size += part.length;
    if (size > limit) return undefined; // which cancels the rest
    parts.push(part);
    if (size < turnAt) continue;
    turnAt = size + TURN_BYTES;
    await giveTurn();
  }
  const [only = new Uint8Array()] = parts;
  return parts.length < 2 ? only : await new Blob(parts).bytes();
}
