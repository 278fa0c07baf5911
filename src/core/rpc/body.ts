/** Bodies of HTTP answers, read into one buffer: nothing is allocated for each part that arrives. */
import { giveTurn } from "../runtime/slices.ts";

/** Bytes that most answers fit in. */
const FIRST_BYTES = 16 * 1024;
/** Bytes after which others have their turn. */
const TURN_BYTES = 1024 * 1024;

/** Takes the next bytes of a body into a buffer behind `size`; returns the buffer, which may be another, and the size. */
type ReadInto = (
  buffer: Uint8Array<ArrayBuffer>,
  size: number,
) => Promise<{ readonly buffer: Uint8Array<ArrayBuffer>; readonly size: number; readonly isDone: boolean }>;

/** Reads a body whole; `undefined`, and the rest is not read, when it has more than `limit` bytes. */
export async function readBody(
  { body }: Pick<Response, "body">,
  limit: number,
): Promise<Uint8Array | undefined> {
  if (body === null) return new Uint8Array();
  const { readInto, cancel } = open(body);
  let turnAt = TURN_BYTES;
  for (let at = await readInto(new Uint8Array(FIRST_BYTES), 0);; at = await readInto(at.buffer, at.size)) {
    const { buffer, size, isDone } = at;
    if (size > limit) {
      await cancel();
      return undefined;
    }
    if (isDone) return buffer.subarray(0, size);
    if (size < turnAt) continue;
    turnAt = size + TURN_BYTES;
    await giveTurn();
  }
}

function open(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): { readonly readInto: ReadInto; readonly cancel: () => Promise<void> } {
  const direct = directReader(body);
  if (direct !== undefined) {
    return {
      readInto: async (buffer, size) => {
        const room = size < buffer.length ? buffer : withRoom(buffer, size, 1);
        const { done, value } = await direct.read(room.subarray(size));
        // The stream keeps the buffer that it was given, and returns its memory as another.
        if (value === undefined) throw new TypeError("The buffer of a body was not returned");
        return { buffer: new Uint8Array(value.buffer), size: size + value.length, isDone: done };
      },
      cancel: () => direct.cancel(),
    };
  }
  const reader = body.getReader();
  return {
    readInto: async (buffer, size) => {
      const { done, value } = await reader.read();
      if (done) return { buffer, size, isDone: true };
      const room = withRoom(buffer, size, value.length);
      room.set(value, size);
      return { buffer: room, size: size + value.length, isDone: false };
    },
    cancel: () => reader.cancel(),
  };
}

/** The reader that fills a given buffer; answers of the network have one. */
function directReader(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The buffer, or its content in one twice as large or larger, with room for `count` bytes behind `size`. */
function withRoom(
  buffer: Uint8Array<ArrayBuffer>,
  size: number,
  count: number,
): Uint8Array<ArrayBuffer> {
  if (size + count <= buffer.length) return buffer;
  const larger = new Uint8Array(Math.max(2 * buffer.length, size + count));
  larger.set(buffer.subarray(0, size));
  return larger;
}
