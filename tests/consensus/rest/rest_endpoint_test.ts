import { deepStrictEqual as equal, fail, ok, rejects } from "node:assert/strict";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { type Fetch } from "../../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../../src/core/rpc/http.ts";
import { RestEndpoint, type RestEndpointOptions } from "../../../src/consensus/rest/rest_endpoint.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { waitUntil } from "../../../devnet/waiting.ts";
import { catchFault } from "../../support/rpc_faults.ts";

const never = new AbortController().signal;
const request = { route: "things/{id}", path: "/things/7?full=1" };

function endpoint(
  answer: (url: URL, init: RequestInit) => Response | Promise<Response>,
  options: Partial<RestEndpointOptions> = {},
  clock = new FakeClock(),
): RestEndpoint {
  const fetched: Fetch = (url, init) => Promise.resolve(answer(new URL(url), init));
  return new RestEndpoint({ fetch: fetched, clock }, { url: "http://node.test", chain: "EVM-1", ...options });
}

/** Code of the fault with which a read of JSON, or of a stream, ends. */
const fetchCode = async (node: RestEndpoint): Promise<string> =>
  (await catchFault(node.fetchJson(request, { signal: never }))).code;
const streamCode = async (node: RestEndpoint, endsItself = true): Promise<string> => {
  const body = { take: (): "more" => "more", endsItself };
  return (await catchFault(node.stream(request, body, { signal: never }))).code;
};

const octets = { "content-type": "application/octet-stream" };

Deno.test("rest: paths go below the base URL, whose query and credentials are kept", async () => {
  const seen: { href: string; headers: Headers }[] = [];
  const node = endpoint((url, init) => {
    seen.push({ href: url.href, headers: new Headers(init.headers) });
    return Response.json({ a: 1 });
  }, { url: "http://user:pass@node.test:8080/base/?key=abc" });
  equal(await node.fetchJson(request, { signal: never }), { a: 1 });
  equal(seen[0]?.href, "http://node.test:8080/base/things/7?key=abc&full=1");
  equal(seen[0]?.headers.get("authorization"), `Basic ${btoa("user:pass")}`);
  equal(seen[0]?.headers.get("accept"), "application/json");
  equal(node.host, "node.test:8080");
});

Deno.test("rest: a status is a code", async () => {
  const cases = [
    [400, "refused"],
    [401, "unauthorized"],
    [402, "unauthorized"],
    [403, "missing_method"],
    [404, "not_found"],
    [405, "missing_method"],
    [406, "missing_method"],
    [413, "too_large"],
    [429, "throttled"],
    [500, "server_error"],
    [501, "missing_method"],
    [502, "server_error"],
    [503, "server_error"],
    [307, "refused"],
  ] as const;
  for (const [status, code] of cases) {
    const fault = await catchFault(
      endpoint(() => new Response("no", { status })).fetchJson(request, { signal: never }),
    );
    equal([fault.code, fault.detail], [code, `HTTP ${status}`]);
  }
  const syncing = endpoint(() => Response.json({ code: 503, message: "Syncing" }, { status: 503 }));
  equal(await fetchCode(syncing), "lagging");
});

Deno.test("rest: a route is refused alone only while the endpoint serves others", async () => {
  let status = 200;
  const clock = new FakeClock();
  const node = endpoint(() => new Response("{}", { status }), {}, clock);
  await node.fetchJson(request, { signal: never });
  const codeOf = async (refusal: number): Promise<string> => {
    status = refusal;
    return await fetchCode(node);
  };
  equal(await codeOf(403), "missing_method");
  await clock.advance(61_000);
  for (const refusal of [403, 302, 410, 451]) equal(await codeOf(refusal), "unauthorized");
  equal(await codeOf(400), "refused");
});

Deno.test("rest: a pause that the endpoint asks for is kept", async () => {
  const headers = { "retry-after": "7" };
  const node = endpoint(() => new Response("", { status: 429, headers }));
  equal((await catchFault(node.fetchJson(request, { signal: never }))).retryAfterMs, 7000);
});

Deno.test("rest: an answer that is too long, no JSON or cut off is a fault", async () => {
  const long = endpoint(() => Response.json("x".repeat(100)), { maxResponseBytes: 100 });
  equal(await fetchCode(long), "too_large");
  const half = endpoint(() => new Response("{"));
  equal(await fetchCode(half), "malformed");
  const cut = endpoint(() => new Response(pieces([Uint8Array.of(123)], new Error("cut"))));
  equal(await fetchCode(cut), "unreachable");
});

/** A body of these pieces, which ends, breaks off or continues forever. */
function pieces(
  list: readonly Uint8Array[],
  end: Error | "end" | "silence",
  onCancel: () => void = () => undefined,
): ReadableStream<Uint8Array> {
  const left = [...list];
  return new ReadableStream({
    pull(controller): Promise<void> | void {
      const piece = left.shift();
      if (piece !== undefined) controller.enqueue(Uint8Array.from(piece));
      else if (end === "end") controller.close();
      else if (end === "silence") return new Promise(() => undefined);
      else controller.error(end);
    },
    cancel: onCancel,
  }, { highWaterMark: 0 });
}

Deno.test("rest: a stream is read piece by piece, and left when there is enough", async () => {
  const piece = Uint8Array.of(1, 2, 3, 4);
  const taken: number[] = [];
  const node = endpoint(() => new Response(pieces([piece, piece, piece], "silence"), { headers: octets }));
  await node.stream(request, {
    endsItself: false,
    take: (bytes) => {
      taken.push(bytes.length);
      return taken.length === 2 ? "enough" : "more";
    },
  }, { signal: never });
  equal(taken, [4, 4]);
});

Deno.test("rest: a stream ends by itself only where it may", async () => {
  const streamOf = (end: Error | "end", options = {}, ...list: readonly number[]): RestEndpoint =>
    endpoint(
      () => new Response(pieces([1, ...list].map((byte) => Uint8Array.of(byte)), end), { headers: octets }),
      options,
    );
  await streamOf("end").stream(request, { take: () => "more", endsItself: true }, { signal: never });
  equal(await streamCode(streamOf("end"), false), "malformed");
  equal(await streamCode(streamOf(new TypeError("reset"))), "unreachable");
  equal(await streamCode(endpoint(() => Response.json({}))), "missing_method");
  equal(await streamCode(streamOf("end", { maxStreamBytes: 1 }, 2)), "too_large");
});

Deno.test("rest: a stream that may come in JSON takes it from endpoints that have no bytes", async () => {
  const asked: string[] = [];
  const json = endpoint((_url, init) => {
    asked.push(new Headers(init?.headers).get("accept") ?? "");
    return Response.json({});
  });
  const taken: string[] = [];
  const body = {
    endsItself: true,
    take: (): "more" => fail("it is JSON"),
    takeJson: (bytes: Uint8Array): "more" => {
      taken.push(new TextDecoder().decode(bytes));
      return "more";
    },
  };
  await json.stream(request, body, { signal: never });
  equal(taken, ["{}"]);
  equal(asked, ["application/octet-stream, application/json;q=0.5"]);
  const page = endpoint(() => new Response("<html>", { headers: { "content-type": "text/html" } }));
  equal((await catchFault(page.stream(request, body, { signal: never }))).code, "missing_method");
});

Deno.test("rest: the first byte of a stream may take longer than the ones after it", async () => {
  const clock = new FakeClock();
  const body = { endsItself: true, take: (): "more" => "more" };
  const conditions = { signal: never, timeoutMs: 1_000, firstByteTimeoutMs: 600_000 };
  /** Advances the clock until the stream ends, and tells how long that took. */
  const timeOf = async (answer: () => Response | Promise<Response>): Promise<number> => {
    const begin = clock.now();
    let isOver = false;
    const ended = endpoint(answer, {}, clock).stream(request, body, conditions)
      .catch((error: unknown) => error).finally(() => isOver = true);
    while (!isOver) await clock.advance(1_000);
    const fault = await ended;
    ok(fault instanceof RpcFault && fault.code === "timeout");
    return clock.now() - begin;
  };
  const never200 = await timeOf(() => new Promise(() => undefined));
  ok(never200 >= 600_000 && never200 < 610_000, `${never200}`);
  const headersOnly = await timeOf(() => new Response(pieces([], "silence"), { headers: octets }));
  ok(headersOnly >= 600_000 && headersOnly < 610_000, `${headersOnly}`);
  const begun = await timeOf(() => new Response(pieces([Uint8Array.of(1)], "silence"), { headers: octets }));
  ok(begun < 10_000, `${begun}`);
});

Deno.test("rest: what `take` throws ends the stream and is rethrown", async () => {
  const node = endpoint(() => new Response(pieces([Uint8Array.of(1)], "silence"), { headers: octets }));
  const problem = new RangeError("no");
  const take = (): never => {
    throw problem;
  };
  await rejects(node.stream(request, { take, endsItself: true }, { signal: never }), problem);
});

Deno.test("rest: over a real connection, bodies that are left cost no more than what was under way", async () => {
  const whole = 64 * 1024 * 1024;
  let sent = 0;
  let isCancelled = false;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller): void {
        if (sent >= whole) controller.close();
        else controller.enqueue(new Uint8Array(65_536));
        sent += 65_536;
      },
      cancel: () => void (isCancelled = true),
    });
    return new Response(body, { headers: octets });
  });
  const node = new RestEndpoint({ fetch: platformFetch, clock: systemClock }, {
    url: `http://127.0.0.1:${server.addr.port}`,
    chain: "EVM-1",
  });
  let read = 0;
  await node.stream(request, {
    endsItself: false,
    take: (bytes) => (read += bytes.length) >= 1_000_000 ? "enough" : "more",
  }, { signal: never });
  await waitUntil("the server is told", () => isCancelled, { everyMs: 10 });
  ok(sent < whole / 2, `${sent} bytes were sent`);
});
