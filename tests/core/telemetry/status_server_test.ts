/** The status server over real HTTP on loopback. */
import assert from "node:assert/strict";
import { exitCodes } from "../../../src/core/runtime/exit_codes.ts";
import {
  formatAddress,
  isLoopback,
  parseListenAddress,
} from "../../../src/core/telemetry/http/listen_address.ts";
import { ListenFault, platformListener } from "../../../src/core/telemetry/http/http_listener.ts";
import { markup } from "../../../src/core/telemetry/http/html.ts";
import { serveStatus } from "../../../src/core/telemetry/http/serve_status.ts";
import { createStatusHandler, type StatusSources } from "../../../src/core/telemetry/http/status_server.ts";
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
  page: () => markup`<p>${"<b>"}</p>`.text,
  statusJson: () => "{}\n",
};

async function withListener(
  changed: Partial<StatusSources>,
  work: (base: string, errors: unknown[]) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const handle = createStatusHandler({ ...sources, ...changed }, (error) => errors.push(error));
  const listener = platformListener({ host: "127.0.0.1", port: 0 }, handle);
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

Deno.test("status server: reasons make readiness 503, each with its time and what helps", () =>
  withListener({ reasons: () => [reason] }, async (base) => {
    const answer = await fetch(`${base}/readyz`);
    assert.equal(answer.status, 503);
    const { sinceMs: _, ...rest } = reason;
    const { leg: __, ...shown } = rest;
    assert.deepEqual(await answer.json(), {
      ready: false,
      reasons: [{ ...shown, since: "1970-01-01T00:00:00.000Z" }],
    });
    const health = await fetch(`${base}/healthz`);
    assert.deepEqual([health.status, await health.text()], [200, "ok\n"]);
  }));

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

Deno.test("status server: with its port in use nothing is started, and the log says what to do", () =>
  withListener({}, async (base) => {
    const log = new RecordedLog();
    const address = { host: "127.0.0.1", port: Number(new URL(base).port) };
    let isStarted = false;
    const code = await serveStatus({ openListener: platformListener, log, address, sources }, () => {
      isStarted = true;
      return Promise.resolve(exitCodes.ok);
    });
    assert.deepEqual([code, isStarted], [exitCodes.failed, false]);
    const [line] = log.linesOf("status_server_failed");
    assert.equal(line?.fields.address, formatAddress(address));
    assert.equal(line?.fields.code, "in_use");
    assert.match(String(line?.fields.explanation), /another process listens there already/);
  }));

Deno.test("status server: an address of another machine is refused by the system as a fault of its own", () => {
  assert.throws(
    () => platformListener({ host: "192.0.2.1", port: 0 }, () => new Response()),
    (fault) => fault instanceof ListenFault && fault.code === "not_available",
  );
});

Deno.test("status server: it ends with the work, also when that fails; without --listen there is none", async () => {
  const log = new RecordedLog();
  const server = { openListener: platformListener, log, sources };
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

Deno.test("page: values of templates are escaped in text and attributes, and what hides is shown", () => {
  const hostile = `"><script>'&\u202e\u0000`;
  assert.equal(
    markup`<i title="${hostile}">${[hostile, 1n]}</i>`.text,
    `<i title="&quot;&gt;&lt;script&gt;&#39;&amp;\\u{202e}\\u{0}">&quot;&gt;&lt;script&gt;&#39;&amp;\\u{202e}\\u{0}1</i>`,
  );
  assert.equal(markup`${undefined}${markup`<b>`}`.text, "<b>");
});
