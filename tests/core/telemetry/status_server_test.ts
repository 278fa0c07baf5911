/** The status server over real HTTP on loopback. */
import assert from "node:assert/strict";
import { exitCodes } from "../../../src/core/runtime/exit_codes.ts";
import {
  formatAddress,
  isLoopback,
  type ListenAddress,
  parseListenAddress,
} from "../../../src/core/telemetry/http/listen_address.ts";
import {
  createListener,
  ListenFault,
  MAX_CONNECTIONS,
  type OpenListener,
  platformListener,
} from "../../../src/core/telemetry/http/http_listener.ts";
import { renderPage } from "../../../src/core/telemetry/http/page.ts";
import { type Cell, tableSection } from "../../../src/core/telemetry/status_sections.ts";
import type { StatusSources } from "../../../src/core/telemetry/http/status_server.ts";
import { createStatusHandler, serveStatus } from "../../../src/core/telemetry/http/status_server.ts";
import { ReasonMemory } from "../../../src/core/telemetry/readiness.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const reason = {
  code: "wallet_empty",
  chain: "EVM-1",
  leg: undefined,
  explanation: "Empty.",
  help: "Fill it.",
  sinceMs: 0,
};

const sources: StatusSources = {
  metrics: () => Promise.resolve("causeway_ready 1\n"),
  reasons: () => [],
  page: () => "<p>&lt;b&gt;</p>",
  statusJson: () => "{}\n",
};

async function withListener(
  changed: Partial<StatusSources>,
  work: (base: string, errors: unknown[]) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const handle = createStatusHandler({ ...sources, ...changed }, (error) => errors.push(error));
  const listener = platformListener({ host: "127.0.0.1", port: 0 }, handle, (error) => errors.push(error));
  try {
    await work(`http://127.0.0.1:${listener.port}`, errors);
  } finally {
    await listener.close();
  }
}

Deno.test("status server: every path has its answer, and whatever is sent nothing is allowed to run or to be framed", () =>
  withListener({}, async (base) => {
    const cases: readonly (readonly [string, number, RegExp, RegExp])[] = [
      ["/healthz", 200, /^text\/plain/, /^ok\n$/],
      ["/readyz", 200, /^application\/json$/, /"ready": true/],
      ["/metrics", 200, /^text\/plain; version=0\.0\.4/, /^causeway_ready 1\n$/],
      ["/status.json", 200, /^application\/json$/, /^\{\}\n$/],
      ["/", 200, /^text\/html; charset=utf-8$/, /^<p>&lt;b&gt;<\/p>$/],
      ["/style.css", 200, /^text\/css/, /prefers-color-scheme: dark/],
      ["/?x=<script>", 200, /^text\/html/, /^<p>/],
      ["/../etc/passwd", 404, /^text\/plain/, /There are/],
      ["/<script>", 404, /^text\/plain/, /^(?!.*script)/],
    ];
    for (const [path, status, type, body] of cases) {
      const answer = await fetch(base + path);
      assert.equal(answer.status, status, path);
      assert.match(answer.headers.get("content-type") ?? "", type, path);
      assert.match(await answer.text(), body, path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; style-src 'self'; .*frame-ancestors 'none'$/);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      assert.equal(answer.headers.get("cache-control"), "no-store");
    }
  }));

Deno.test("status server: it can only be read", () =>
  withListener({}, async (base) => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await fetch(`${base}/healthz`, { method, ...method === "POST" && { body: "x" } });
      assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET, HEAD"]);
      await answer.body?.cancel();
    }
    const head = await fetch(`${base}/healthz`, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
  }));

Deno.test("status server: what stops work makes readiness 503, what only needs attention does not, each with its times", async () => {
  for (const isWarning of [false, true]) {
    await withListener({ reasons: () => [{ ...reason, isWarning, nextMs: 60_000 }] }, async (base) => {
      const answer = await fetch(`${base}/readyz`);
      assert.equal(answer.status, isWarning ? 200 : 503);
      const { sinceMs: _, leg: __, ...shown } = reason;
      const times = { since: "1970-01-01T00:00:00.000Z", next: "1970-01-01T00:01:00.000Z" };
      assert.deepEqual(await answer.json(), {
        ready: isWarning,
        reasons: [{ ...shown, stops: !isWarning, ...times }],
      });
      assert.equal(await (await fetch(`${base}/healthz`)).text(), "ok\n");
    });
  }
});

Deno.test("status server: what cannot be answered is a 500 without details, and the log is told", () => {
  const fault = new Error("the secret is 42");
  const page = (): never => {
    throw fault;
  };
  return withListener({ page, metrics: () => Promise.reject(fault) }, async (base, errors) => {
    for (const path of ["/", "/metrics"]) {
      const answer = await fetch(base + path);
      assert.equal(answer.status, 500);
      assert.doesNotMatch(await answer.text(), /42/);
    }
    assert.deepEqual(errors, [fault, fault]);
  });
});

/** A raw connection, what it sends, and what it reads until it is closed. */
async function converse(port: number, text: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text));
  return await new Response(connection.readable).text();
}

Deno.test("status server: only its own names, localhost and addresses are answered; the rest is neither answered nor logged", async () => {
  const errors: unknown[] = [];
  const handle = createStatusHandler(sources, (error) => errors.push(error), ["Causeway.internal"]);
  const listener = platformListener({ host: "127.0.0.1", port: 0 }, handle, (error) => errors.push(error));
  try {
    const rows: readonly (readonly [string, number])[] = [
      ["GET / HTTP/1.1\r\nHost: 127.0.0.1:9180", 200],
      ["GET / HTTP/1.1\r\nHost: localhost", 200],
      ["GET / HTTP/1.1\r\nhost:[::1]:9180", 200],
      ["GET / HTTP/1.1\r\nHost: causeway.Internal:9180", 200],
      ["GET / HTTP/1.0", 200],
      ["GET / HTTP/1.1\r\nHost: rebound.example:9180", 421],
      ["GET /metrics HTTP/1.1\r\nHost: localhost.rebound.example", 421],
      ["GET / HTTP/1.1\r\nHost: 127.0.0.1.rebound.example", 421],
      ["POST / HTTP/1.1\r\nHost: rebound.example\r\nContent-Length: 9\r\n\r\nsomething", 421],
      ["GET / HTTP/1.0\r\nHost: rebound.example", 421],
      ["GET / HTTP/1.1", 400],
      ["GET / HTTP/1.1\r\nHost:", 400],
      ["GET / HTTP/1.1\r\nHost: a b", 400],
      ["GET / HTTP/1.1\r\nHost: 127.0.0.1:x", 400],
      ["GET / HTTP/1.1\r\nHost: 127.0.0.1:99999", 400],
      ["GET / HTTP/1.1\r\nHost: [::1", 400],
      ["GET / HTTP/1.1\r\nHost: 999.1.1.1", 400],
      ["GET / HTTP/1.1\r\nHost: user@127.0.0.1", 400],
      ["GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: rebound.example", 400],
      ["GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1", 400],
      ["CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1", 400],
      ["PRI * HTTP/2.0", 400],
      ["\u0000\u0001", 400],
    ];
    for (const [head, status] of rows) {
      const answer = await converse(listener.port, `${head}\r\n\r\n`);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), head);
    }
    assert.equal(await converse(listener.port, `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`), "");
    assert.deepEqual(errors, []);
  } finally {
    await listener.close();
  }
});

/** Runs `work` with a listener whose time a test moves. */
async function withFakeTime(
  work: (listener: OpenListener, clock: FakeClock) => Promise<void>,
  handle = createStatusHandler(sources, (error) => assert.fail(String(error))),
): Promise<void> {
  const clock = new FakeClock(0);
  const listener = createListener(clock)(
    { host: "127.0.0.1", port: 0 },
    handle,
    (e) => assert.fail(String(e)),
  );
  try {
    await work(listener, clock);
  } finally {
    await listener.close();
  }
}

/** Waits until something waits for the clock. */
async function untilWaiting(clock: FakeClock): Promise<void> {
  while (clock.pending === 0) await clock.settle();
}

const HEAD = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

Deno.test("status server: clients that send or read slowly are cut after ten seconds, whatever they have sent", async () => {
  let isAsked = Promise.withResolvers<void>();
  const long = (): Response => {
    isAsked.resolve();
    return new Response("x".repeat(64 * 2 ** 20)); // more than the buffers of the system hold
  };
  await withFakeTime(async ({ port }, clock) => {
    for (
      const [sent, isRead] of [["", false], ["GET / HT", false], [HEAD.slice(0, -1), false], [
        HEAD,
        true,
      ]] as const
    ) {
      isAsked = Promise.withResolvers();
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(new TextEncoder().encode(sent));
      if (isRead) await isAsked.promise;
      await untilWaiting(clock);
      await clock.advance(9_999);
      const reading = new Response(connection.readable).bytes().then(({ length }) => length, () => -1);
      await clock.advance(1);
      assert.ok(await reading < 64 * 2 ** 20, sent);
    }
  }, long);
});

Deno.test("status server: a finished request leaves no connection that is kept alive", () =>
  withFakeTime(async ({ port }) => {
    const answer = await converse(port, HEAD.repeat(3));
    assert.equal(answer.match(/HTTP\/1\.1 200/g)?.length, 1);
    assert.match(answer, /\r\nconnection: close\r\n/);
  }));

Deno.test("status server: with all places taken by silent clients, the next one that asks is answered", () =>
  withFakeTime(async ({ port }) => {
    assert.equal(MAX_CONNECTIONS, 64, "as SECURITY.md says: each takes a descriptor");
    const silent: Deno.TcpConn[] = [];
    try {
      for (let count = 0; count < 3 * MAX_CONNECTIONS; count++) {
        silent.push(await Deno.connect({ hostname: "127.0.0.1", port }));
      }
      assert.match(await converse(port, HEAD), /^HTTP\/1\.1 200 /);
      const first = silent[0];
      assert.equal(await first?.read(new Uint8Array(1)).catch(() => null), null, "the oldest is closed");
    } finally {
      silent.forEach((connection) => connection.close());
    }
  }));

Deno.test("status server: what ends its listener has it opened again at the same place, and the work continues", async () => {
  const clock = new FakeClock(0);
  const opened: Deno.TcpListener[] = [];
  const listen = ({ host, port }: ListenAddress): Deno.TcpListener => {
    const listener = Deno.listen({ hostname: host, port });
    opened.push(listener);
    return listener;
  };
  const faults: unknown[] = [];
  const handle = createStatusHandler(sources, (error) => assert.fail(String(error)));
  const open = createListener(clock, listen);
  const listener = open({ host: "127.0.0.1", port: 0 }, handle, (error) => faults.push(error));
  try {
    opened[0]?.close();
    await untilWaiting(clock);
    assert.equal(faults.length, 1);
    await assert.rejects(converse(listener.port, HEAD), Deno.errors.ConnectionRefused);
    await clock.advance(1_000);
    assert.match(await converse(listener.port, HEAD), /^HTTP\/1\.1 200 /);
  } finally {
    await listener.close();
  }
});

Deno.test("status server: with its port in use nothing is started, and the log says what to do", () =>
  withListener({}, async (base) => {
    const log = new RecordedLog();
    const address = { host: "127.0.0.1", port: Number(new URL(base).port) };
    let isStarted = false;
    const code = await serveStatus({ log, address, sources }, () => {
      isStarted = true;
      return Promise.resolve(exitCodes.ok);
    });
    assert.deepEqual([code, isStarted], [exitCodes.failed, false]);
    const [line] = log.linesOf("status_server_failed.address_unusable");
    assert.equal(line?.fields.address, formatAddress(address));
    assert.match(String(line?.fields.explanation), /another process listens there already/);
  }));

Deno.test("status server: an address of another machine is refused by the system as a fault of its own", () => {
  assert.throws(
    () => platformListener({ host: "192.0.2.1", port: 0 }, () => new Response(), () => {}),
    (fault) => fault instanceof ListenFault && fault.message === "this machine has no such address",
  );
});

Deno.test("status server: it ends with the work, also when that fails; without --listen there is none", async () => {
  const log = new RecordedLog();
  const server = { log, sources };
  const address = { host: "127.0.0.1", port: 0 };
  let base = "";
  const failing = serveStatus({ ...server, address }, async () => {
    base = `http://${log.linesOf("status_server_started")[0]?.fields.address}`;
    assert.equal(await (await fetch(`${base}/healthz`)).text(), "ok\n");
    throw new Error("the work failed");
  });
  await assert.rejects(failing, /the work failed/);
  await assert.rejects(fetch(`${base}/healthz`), TypeError);
  const silent = new RecordedLog();
  const work = (): Promise<typeof exitCodes.ok> => Promise.resolve(exitCodes.ok);
  assert.equal(await serveStatus({ ...server, log: silent, address: undefined }, work), exitCodes.ok);
  assert.deepEqual(silent.lines, []);
});

Deno.test("listen address: IP addresses and localhost with a port, and which of them only this machine reaches", () => {
  const parsed = (text: string): string | undefined => {
    const address = parseListenAddress(text);
    return address && `${formatAddress(address)} ${isLoopback(address.host)}`;
  };
  assert.equal(parsed("127.0.0.1:9180"), "127.0.0.1:9180 true");
  assert.equal(parsed("127.8.9.1:0"), "127.8.9.1:0 true");
  assert.equal(parsed("localhost:80"), "localhost:80 true");
  assert.equal(parsed("[::1]:9180"), "[::1]:9180 true");
  assert.equal(parsed("0.0.0.0:9180"), "0.0.0.0:9180 false");
  assert.equal(parsed("[::]:9180"), "[::]:9180 false");
  assert.equal(parsed("10.0.0.1:9180"), "10.0.0.1:9180 false");
  for (
    const bad of ["9180", ":9180", "127.0.0.1", "127.0.0.1:70000", "127.0.0.256:1", "host.example:1", "::1:9"]
  ) {
    assert.equal(parsed(bad), undefined, bad);
  }
});

Deno.test("readiness: a reason keeps its time while it is found, and waits for its grace", async () => {
  const clock = new FakeClock(1_000);
  const memory = new ReasonMemory(clock);
  const { sinceMs: _, ...found } = reason;
  assert.deepEqual(memory.date([found]).map(({ sinceMs }) => sinceMs), [1_000]);
  await clock.advance(500);
  assert.deepEqual(memory.date([found]).map(({ sinceMs }) => sinceMs), [1_000]);
  assert.deepEqual(memory.date([]), []);
  await clock.advance(500);
  assert.deepEqual(memory.date([found]).map(({ sinceMs }) => sinceMs), [2_000]);
  const late = { ...found, code: "message_too_old", graceMs: 1_000 };
  assert.deepEqual(memory.date([late]), []);
  await clock.advance(1_000);
  assert.deepEqual(memory.date([late]).map(({ sinceMs }) => sinceMs), [2_000]);
});

Deno.test("page: what stands in cells is escaped in text and attributes, and what hides is shown", () => {
  const hostile = `<b onclick="x">'&\u202e`;
  const shown = "&lt;b onclick=&quot;x&quot;&gt;&#39;&amp;\\u202e";
  const cells = [
    hostile,
    { text: hostile, colour: "bad" as const, note: hostile },
    [hostile, 1n],
    undefined,
    0,
  ];
  const same = (cell: Cell): Cell => cell;
  const columns = { [hostile]: same, [`again ${hostile}`]: same, empty: () => undefined };
  const section = tableSection<Cell>("All", cells, columns);
  const page = renderPage("causeway", "", { nowMs: 0, sections: [section] });
  assert.equal(page.split(shown).length - 1, 2 * (1 + 4) + cells.length);
  assert.match(page, /<div>1<\/div>/);
  assert.doesNotMatch(page, /<b onclick|\u202e|empty<\/th>/);
});
