import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { events, type Log } from "../../../src/core/telemetry/log.ts";
import { type LogObserver, openLog } from "../../../src/core/telemetry/open_log.ts";
import { StandingTroubles } from "../../../src/core/telemetry/troubles.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const START_MS = Date.UTC(2026, 0, 1);

/** What is logged, and which troubles stand then: code and place. */
const CASES: readonly (readonly [string, (log: Log) => void, readonly (readonly [string, string?])[]])[] = [
  ["a leg that pauses", (log) => log.warn("leg_paused", { leg: "A -> B" }), [["leg_paused", "A -> B"]]],
  ["its next tries, at debug", (log) => log.debug("leg_paused", { leg: "A -> B" }), [[
    "leg_paused",
    "A -> B",
  ]]],
  ["a leg that works again", (log) => {
    log.warn("leg_paused", { leg: "A -> B" });
    log.warn("leg_paused", { leg: "C -> B" });
    log.info("leg_resumed", { leg: "A -> B" });
  }, [["leg_paused", "C -> B"]]],
  ["a leg that is blocked and pauses", (log) => {
    log.warn("leg_blocked", { leg: "A -> B", reason: "target_unprovable" });
    log.warn("leg_paused", { leg: "A -> B" });
    log.info("leg_resumed", { leg: "A -> B" });
  }, [["leg_blocked", "A -> B"]]],
  ["a chain that is closed by the loss limit", (log) => {
    log.with({ chain: "A" }).warn("loss_limit_reached", { until: "2026-01-01T01:00:00Z" });
    log.warn("loss_limit_reached", { chain: "B", until: "2026-01-01T01:00:00Z" });
    log.info("loss_limit_cleared", { chain: "B" });
  }, [["loss_limit_reached"]]],
  ["a worker that fails", (log) => log.error("worker_restarting", { worker: "claims", againInMs: 1_000 }), [
    ["worker_restarting", "claims"],
  ]],
  ["the end of a trouble of the whole program", (log) => {
    log.error("worker_restarting", { worker: "claims", againInMs: 1_000 });
    log.error("database_fault", { code: "full" });
    log.info("database_restored");
  }, []],
  ["a chain that is left out, for one cause after the other", (log) => {
    log.debug("chain_awaited", { chain: "A" });
    log.warn("chain_unavailable", { chain: "A", error: new Error("it does not answer") });
    log.error("chain_suspended", { chain: "A", advice: "correct it" });
    log.warn("chain_unavailable", { chain: "B" });
    log.debug("chain_available", { chain: "B" });
  }, [["chain_suspended"]]],
  ["what is no trouble", (log) => log.warn("check_warning", { chain: "A" }), []],
];

for (const [what, tell, expected] of CASES) {
  Deno.test(`troubles: ${what}, at whatever level the log is written`, () => {
    for (const level of ["error", "debug"] as const) {
      const { log, troubles } = open(level);
      tell(log);
      deepEqual(
        troubles.list().map(({ code, leg }) => [code, leg]),
        expected.map(([code, leg]) => [code, leg]),
      );
    }
  });
}

Deno.test("troubles: one keeps its beginning, says why without secrets and when it is tried next, and ends in silence", async () => {
  const { log, clock, troubles } = open("info");
  log.warn("leg_paused", { leg: "A -> B", againInMs: 5_000, error: new Error("old") });
  await clock.advance(5_000);
  log.debug("leg_paused", { leg: "A -> B", againInMs: 8_000, error: new Error("401 for hunter22") });
  const [trouble] = troubles.list();
  deepEqual([trouble?.sinceMs, trouble?.nextMs, trouble?.chain], [START_MS, START_MS + 13_000, "B"]);
  match(trouble?.explanation ?? "", /^Leg paused: endpoint unavailable: 401 for \S+\.$/);
  doesNotMatch(trouble?.explanation ?? "", /hunter22/);
  equal(trouble?.help, events.leg_paused.action);
  await clock.advance(8_000 + 61_000);
  deepEqual(troubles.list(), []);
  log.warn("leg_blocked", { leg: "A -> B" });
  await clock.advance(86_400_000);
  equal(troubles.list().length, 1, "without a next try it stands until it is ended");
  troubles.clear();
  deepEqual(troubles.list(), []);
});

Deno.test("troubles: a chain that is left out is named with its endpoint, the fault once, and what helps against it", () => {
  const { log, troubles } = open("info");
  const where = { chain: "B", endpointHost: "b.example", method: "eth_chainId" };
  const fault = (cause?: unknown): RpcFault => new RpcFault("unreachable", where, { cause });
  log.error("chain_suspended", { chain: "A", endpoint: "a.example", explanation: "another chain" });
  log.warn("chain_unavailable", {
    chain: "B",
    endpoint: "b.example",
    error: fault(fault()),
    advice: "start it",
  });
  deepEqual(troubles.list().map(({ explanation, help }) => [explanation, help]), [
    [`${events.chain_suspended.text}: a.example: another chain.`, events.chain_suspended.action],
    [
      `${events.chain_unavailable.text}: RpcFault: eth_chainId on B via b.example: unreachable.`,
      "Start it.",
    ],
  ]);
});

Deno.test("troubles: all that keeps a chain out at once is named, until another look finds other things", async () => {
  const { log, clock, troubles } = open("info");
  const look = async (...found: readonly string[]): Promise<readonly (string | undefined)[]> => {
    for (const explanation of found) {
      log.error("chain_suspended", { chain: "A", explanation });
      await clock.advance(1); // writing a line takes time
    }
    return troubles.list().map(({ explanation }) => explanation.split(": ")[1]);
  };
  deepEqual(await look("no host", "no hub"), ["no host.", "no hub."]);
  await clock.advance(15_000);
  deepEqual(await look("no hub", "no pallet"), ["no hub.", "no pallet."]);
  log.info("chain_available", { chain: "A" });
  deepEqual(await look(), []);
});

Deno.test("troubles: each names what to do, and ends with events that there are", () => {
  for (const [code, { endedBy = [], action }] of Object.entries(events)) {
    for (const end of endedBy) ok(Object.hasOwn(events, end), `${code}: ${end}`);
    if (endedBy.length > 0) ok(action !== undefined, code);
  }
});

function open(
  level: "error" | "info" | "debug",
): { readonly log: Log; readonly clock: FakeClock; readonly troubles: StandingTroubles } {
  const clock = new FakeClock(START_MS);
  const troubles = new StandingTroubles(clock);
  const observer: LogObserver = { noteEvent: (...event) => troubles.note(...event) === undefined };
  const log = openLog({ format: "human", level, write: () => {}, clock, observer, secrets: ["hunter22"] });
  return { log, clock, troubles };
}
