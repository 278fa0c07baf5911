import assert from "node:assert/strict";
import { CheckBoard, checkWorker } from "../../../src/core/checks/check_board.ts";
import type { CheckJob, CheckRow } from "../../../src/core/checks/check_row.ts";
import { CHECK_TIMEOUT_MS, runChecks, silenceRow } from "../../../src/core/checks/check_row.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const never = new AbortController().signal;

function row(chain: string, result: CheckRow["result"] = "ok", check: CheckRow["check"] = "host"): CheckRow {
  return { chain, check, result, found: `${result} found` };
}

function job(chain: string, run: CheckJob["run"]): CheckJob {
  return { chain, check: "host", run };
}

Deno.test("checks: a chain that hangs holds neither the others nor the report", async () => {
  const clock = new FakeClock();
  const finishedMs: number[] = [];
  const startMs = clock.now();
  const slow = job("EVM-1", (signal) => clock.sleep(3_600_000, signal).then(() => []));
  const quick = job("EVM-2", async (signal) => {
    await clock.sleep(40, signal);
    finishedMs.push(clock.now() - startMs);
    return [row("EVM-2")];
  });
  const rows = await clock.run(runChecks({ clock }, [slow, quick], never));
  assert.deepEqual(finishedMs, [40]);
  assert.deepEqual(rows.map(({ chain, result }) => [chain, result]), [["EVM-1", "failed"], ["EVM-2", "ok"]]);
  assert.match(rows[0]?.found ?? "", /no result within 9 s/);
  assert.equal(clock.now() - startMs, CHECK_TIMEOUT_MS);
  assert.ok(CHECK_TIMEOUT_MS < 10_000);
});

Deno.test("checks: what cannot be asked of an endpoint that does not answer is told by its own row alone", async () => {
  const fault = new RpcFault("unreachable", {
    chain: "EVM-1",
    endpointHost: "a.example",
    method: "eth_call",
  });
  const faulty = ["EVM-1", "EVM-2"].map((chain) => job(chain, () => Promise.reject(fault)));
  // A provider serves many chains at one host.
  const other = new RpcFault("pruned", { ...fault.where, chain: "EVM-3" });
  faulty.push(job("EVM-3", () => Promise.reject(other)));
  const tell = (hasOthers: boolean): CheckJob =>
    job("EVM-1", () => Promise.resolve([silenceRow("EVM-1", fault, hasOthers)]));
  const resultsWith = async (hasOthers: boolean): Promise<readonly string[]> => {
    const rows = await runChecks({ clock: new FakeClock() }, [...faulty, tell(hasOthers)], never);
    return rows.map(({ chain, check, result }) => `${chain} ${check} ${result}`);
  };
  assert.deepEqual(await resultsWith(false), ["EVM-3 host failed", "EVM-1 endpoint failed"]);
  assert.deepEqual(await resultsWith(true), [
    ...["EVM-1", "EVM-2", "EVM-3"].map((chain) => `${chain} host failed`),
    "EVM-1 endpoint warning",
  ]);
});

Deno.test("checks: a silent endpoint hides neither another chain's faults at its host nor what a chain that answers lacks", async () => {
  const at = (chain: string, code: "unreachable" | "missing_method"): RpcFault =>
    new RpcFault(code, { chain, endpointHost: "a.example", method: "eth_call" });
  const silence = job(
    "EVM-1",
    () => Promise.resolve([silenceRow("EVM-1", at("EVM-1", "unreachable"), false)]),
  );
  const hanging = ["EVM-1", "EVM-2"].map((chain) =>
    job(chain, (signal) => clock.sleep(3_600_000, signal).then(() => []))
  );
  const lacking = job("EVM-3", () => Promise.reject(at("EVM-3", "missing_method")));
  const clock = new FakeClock();
  const rows = await clock.run(runChecks({ clock }, [silence, ...hanging, lacking], never));
  assert.deepEqual(rows.map(({ chain, check, found }) => [chain, check, found.split(":")[0]]), [
    ["EVM-1", "endpoint", "does not answer"],
    ["EVM-2", "host", "no result within 9 s"],
    ["EVM-3", "host", "eth_call"],
  ]);
});

Deno.test("checks: a job about endpoints that ends with their fault says that they do not answer, with another chain's what was asked", async () => {
  const where = { chain: "EVM-1", endpointHost: "a.example", method: "eth_chainId" };
  const run = (): Promise<never> => Promise.reject(new RpcFault("unreachable", where));
  for (
    const [chain, found] of [["EVM-1", "does not answer: unreachable"], [
      "EVM-2",
      "eth_chainId: unreachable",
    ]] as const
  ) {
    const jobs = [{ chain, check: "endpoint", run }] as const;
    const rows = await runChecks({ clock: new FakeClock() }, jobs, never);
    assert.deepEqual(rows.map((each) => [each.chain, each.result, each.found]), [[chain, "failed", found]]);
  }
});

Deno.test("checks: a fault of several endpoints at once is told by their rows where all of them are silent", async () => {
  const at = (endpointHost: string): RpcFault =>
    new RpcFault("unreachable", { chain: "EVM-1", endpointHost, method: "eth_call" });
  const checksWith = async (result: CheckRow["result"]): Promise<readonly string[]> => {
    const other = { ...row("EVM-1", result, "endpoint"), endpoint: "b.example" };
    const jobs = [
      job("EVM-1", () => Promise.resolve([silenceRow("EVM-1", at("a.example"), false), other])),
      job("EVM-1", () => Promise.reject(at("a.example, b.example"))),
    ];
    return (await runChecks({ clock: new FakeClock() }, jobs, never)).map(({ check }) => check);
  };
  assert.deepEqual(await checksWith("failed"), ["endpoint", "endpoint"]);
  assert.deepEqual(await checksWith("ok"), ["endpoint", "endpoint", "host"]);
});

Deno.test("checks: what two jobs find of one endpoint is one row, the worse one; other rows all stay", async () => {
  const at = (result: CheckRow["result"]): CheckRow => ({
    ...row("EVM-1", result, "endpoint"),
    endpoint: "a.example.org",
  });
  const jobs = [[at("ok"), row("EVM-1")], [at("failed"), row("EVM-1")], [at("ok")]].map((rows) =>
    job("EVM-1", () => Promise.resolve(rows))
  );
  const rows = await runChecks({ clock: new FakeClock() }, jobs, never);
  assert.deepEqual(rows.map(({ check, result }) => [check, result]), [
    ["endpoint", "failed"],
    ["host", "ok"],
    ["host", "ok"],
  ]);
});

Deno.test("checks: a program that has other work makes some at a time, and rows stay in order", async () => {
  const clock = new FakeClock();
  let [running, most] = [0, 0];
  const jobs = Array.from({ length: 10 }, (_, at) =>
    job(`EVM-${at}`, async (signal) => {
      most = Math.max(most, ++running);
      await clock.sleep(100 - at, signal);
      running -= 1;
      return [row(`EVM-${at}`)];
    }));
  const rows = await clock.run(runChecks({ clock, atOnce: 3 }, jobs, never));
  assert.equal(most, 3);
  assert.deepEqual(rows.map(({ chain }) => chain), jobs.map(({ chain }) => chain));
  assert.deepEqual(await runChecks({ clock, atOnce: 3 }, [], never), []);
});

Deno.test("checks: a fault of an endpoint is a result with its host and a cure, a defect is not", async () => {
  const clock = new FakeClock();
  const where = { chain: "EVM-1", endpointHost: "rpc.example.org", method: "eth_call" };
  const faulty = job("EVM-1", () => Promise.reject(new RpcFault("throttled", where)));
  const [found] = await runChecks({ clock }, [faulty], never);
  assert.deepEqual([found?.endpoint, found?.result], ["rpc.example.org", "failed"]);
  assert.match(found?.found ?? "", /eth_call: throttled/);
  assert.match(found?.advice ?? "", /plan with more requests/);
  const defect = job("EVM-1", () => Promise.reject(new TypeError("a defect")));
  await assert.rejects(runChecks({ clock }, [defect], never), TypeError);
});

Deno.test("checks: the running program logs changes only, and its board says since when", async () => {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const board = new CheckBoard();
  const stop = new AbortController();
  let result: CheckRow["result"] = "ok";
  const plan = (): readonly CheckJob[] => [
    job("EVM-1", () => Promise.resolve([row("EVM-1", result), row("EVM-1", "warning", "endpoint")])),
  ];
  const startMs = clock.now();
  const running = checkWorker({ clock, log, board }, plan).run(stop.signal);
  await clock.advance(0);
  assert.deepEqual(log.events("warn"), ["check_warning"]);
  assert.deepEqual(board.rows.map(({ check, sinceMs }) => [check, sinceMs]), [["host", startMs], [
    "endpoint",
    startMs,
  ]]);
  result = "failed";
  await clock.advance(600_000);
  assert.deepEqual(log.events("warn"), ["check_warning", "check_failed"]);
  await clock.advance(600_000);
  assert.deepEqual(log.events("warn"), ["check_warning", "check_failed"]);
  assert.deepEqual(board.rows.map(({ sinceMs }) => sinceMs - startMs), [600_000, 0]);
  result = "ok";
  await clock.advance(600_000);
  assert.deepEqual(log.events("info"), ["check_passed"]);
  stop.abort(new Error("end"));
  await assert.rejects(running, /end/);
});

Deno.test("checks: what the gate of a chain found is not told again, and replaces its own rows only", () => {
  const board = new CheckBoard();
  const gate = [row("EVM-1", "warning"), row("EVM-1", "failed", "chain_id")];
  assert.equal(board.update(gate, 1, []).length, 2);
  const changed = board.update([row("EVM-1", "warning"), row("EVM-2")], 2);
  assert.deepEqual(changed.map(({ row }) => row.check), ["host", "chain_id"]);
  assert.deepEqual(board.update([], 3, gate).map(({ row }) => row.chain), ["EVM-1"]);
  assert.deepEqual(board.rows.map(({ chain }) => chain), ["EVM-2"]);
});

Deno.test("checks: a failure whose row is gone has passed", () => {
  const board = new CheckBoard();
  assert.equal(board.update([row("EVM-1", "failed")], 1).length, 1);
  const [change] = board.update([], 2);
  assert.deepEqual([change?.before, change?.row.result], ["failed", "ok"]);
  assert.deepEqual(board.update([], 3), []);
});
