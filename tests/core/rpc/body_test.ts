import { deepEqual, equal, rejects } from "node:assert/strict";
import { readBody } from "../../../src/core/rpc/http_exchange.ts";
import { serveLocally } from "../../support/test_server.ts";

const LIMIT = 3 * 1024 * 1024;

/** Bytes that tell their place. */
function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 255);
}

/** Sends these parts; `cut` ends the connection after them. */
function streamOf(
  parts: readonly Uint8Array<ArrayBuffer>[],
  cut = false,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = [...parts];
  return new ReadableStream({
    pull: (controller) => {
      const part = left.shift();
      if (part !== undefined) controller.enqueue(part);
      else if (cut) controller.error(new Error("cut"));
      else controller.close();
    },
  });
}

const sizes: readonly number[] = [0, 1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 64 * 1024, 2_500_000, LIMIT];

Deno.test("body: is read whole from the network, whatever its size", async () => {
  await using server = serveLocally({}, (request) => {
    const size = Number(new URL(request.url).searchParams.get("size"));
    return new Response(streamOf([bytesOf(size).subarray(0, size >> 1), bytesOf(size).subarray(size >> 1)]));
  });
  for (const size of sizes) {
    const response = await fetch(`http://127.0.0.1:${server.port}/?size=${size}`);
    deepEqual(await readBody(response, LIMIT), bytesOf(size));
  }
});

Deno.test("body: is read whole from a stream that does not fill buffers", async () => {
  for (const size of sizes) {
    const parts = Array.from(
      { length: 5 },
      (_, at) => bytesOf(size).subarray(at * size / 5, (at + 1) * size / 5),
    );
    deepEqual(await readBody({ body: streamOf(parts) }, LIMIT), bytesOf(size));
  }
});

/** A body without an end, and how many parts of it were asked for. */
function endless(): {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly count: () => number;
  readonly isCancelled: () => boolean;
} {
  let sent = 0;
  let isCancelled = false;
  const body = new ReadableStream({
    pull: (controller) => {
      sent += 1;
      controller.enqueue(bytesOf(100_000));
    },
    cancel: () => void (isCancelled = true),
  });
  return { body, count: () => sent, isCancelled: () => isCancelled };
}

Deno.test("body: beyond the limit it is not read on", async () => {
  await using server = serveLocally({}, () => new Response(endless().body));
  const response = await fetch(`http://127.0.0.1:${server.port}/`);
  equal(await readBody(response, 150_000), undefined);
  const { body, count, isCancelled } = endless();
  equal(await readBody({ body }, 150_000), undefined);
  equal(isCancelled(), true);
  equal(count() <= 3, true);
});

Deno.test("body: a connection that ends within it is an error", async () => {
  await using server = serveLocally(
    { onError: () => new Response() },
    () => new Response(streamOf([bytesOf(10)], true)),
  );
  const ask = async (): Promise<unknown> =>
    await readBody(await fetch(`http://127.0.0.1:${server.port}/`), LIMIT);
  await rejects(ask);
  await rejects(readBody({ body: streamOf([bytesOf(10)], true) }, LIMIT));
});
