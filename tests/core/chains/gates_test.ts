import assert from "node:assert/strict";
import {
  behindGates,
  type ChainCheck,
  ChainGate,
  joinRows,
  openGates,
} from "../../../src/core/chains/check.ts";
import type { CheckRow } from "../../../src/core/checks/check_row.ts";
import { CheckBoard } from "../../../src/core/checks/check_board.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

const HUB = "POLKADOT-3367";
const row = { chain: "EVM-1", check: "host_invalid" } as const;
const failed = (found: string): CheckRow => ({ ...row, result: "failed", found });

/** A check that never ends. */
function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

function refuse(): Promise<never> {
  const where = { chain: "EVM-56", endpointHost: "bsc.example:8545", method: "eth_chainId" };
  return Promise.reject(new RpcFault("unreachable", where, { detail: "connection refused" }));
}

/** Gates of a hub and chains, which are opened at once. */
class Scene {
  readonly clock = new FakeClock();
  readonly log = new RecordedLog();
  readonly board = new CheckBoard();
  readonly stop = new AbortController();
  readonly hub: ChainGate;
  readonly chains: readonly ChainGate[];
  /** Time from the start until work begins, ms. */
  openedMs: number | undefined;
  readonly #startMs = this.clock.now();
  readonly #opened: Promise<AsyncDisposable>;

  constructor(hub: ChainCheck["check"], chains: Readonly<Record<string, ChainCheck["check"]>> = {}) {
    const { clock, log, board } = this;
    const deps = { clock, log, board, random: fixedRandomness(0) };
    this.hub = new ChainGate(deps, { name: HUB, hubSetting: "[hub].rpc_ws", check: hub });
    this.chains = Object.entries(chains).map(([name, check]) =>
      new ChainGate(deps, { name, behind: this.hub, check })
    );
    this.#opened = openGates(deps, [this.hub, ...this.chains], this.stop.signal);
    this.#opened.then(() => this.openedMs = clock.now() - this.#startMs, () => {});
  }

  async end(): Promise<void> {
    const opened = await this.#opened;
    // Whatever a chain waited for, it is read from the start on.
    assert.ok([this.hub, ...this.chains].every(({ sinceMs }) => sinceMs === this.#startMs));
    await this.clock.run(Promise.resolve(opened[Symbol.asyncDispose]()));
    assert.deepEqual([this.clock.pending, this.board.rows], [0, []], "timers or rows are left");
  }

  /** What the log tells; it counts what repeats. */
  told(): readonly unknown[][] {
    const told = this.log.lines.filter(({ level }) => level !== "debug").map((
      { level, event, fields },
    ) => [level, event, fields["chain"]]);
    return told.filter((line, at) => told.slice(0, at).every((other) => `${other}` !== `${line}`));
  }
}

const pass = (): Promise<[]> => Promise.resolve([]);

Deno.test("gates: after three seconds one line names the chains that are missing, and what they said", async () => {
  const scene = new Scene(pass, { "EVM-1": hang, "EVM-56": refuse });
  await scene.clock.advance(2_999);
  assert.deepEqual(scene.told(), []);
  await scene.clock.advance(1);
  assert.deepEqual(
    scene.log.linesOf("long_wait.first_answers").map(({ fields }) => fields["waitsFor"]),
    ["EVM-1: no answer yet; EVM-56 via bsc.example:8545: unreachable (connection refused)"],
  );
  await scene.clock.advance(30_000);
  assert.ok(scene.openedMs !== undefined && scene.openedMs <= 32_000, "work begins without them");
  assert.deepEqual(scene.told().slice(1), [
    ["warn", "chain_unavailable", "EVM-56"],
    ["warn", "chain_unavailable", "EVM-1"],
  ]);
  await scene.end();
});

Deno.test("gates: who is answered in time hears nothing", async () => {
  const scene = new Scene(pass, { "EVM-1": pass });
  await scene.clock.advance(10_000);
  assert.deepEqual([scene.told(), scene.openedMs, scene.board.rows], [[], 0, []]);
  assert.deepEqual(
    scene.log.lines.map(({ event, fields }) => [event, fields["chain"]]),
    [HUB, "EVM-1"].flatMap((chain) => [["chain_awaited", chain], ["chain_available", chain]]),
    "it counts as left out until then",
  );
  await scene.end();
});

Deno.test("gates: a chain that answers again is used within 15 seconds, and so is a hub, whose chains are not blamed", async () => {
  for (const isHub of [true, false]) {
    let answer: () => Promise<readonly CheckRow[]> = refuse;
    const scene = new Scene(isHub ? () => answer() : pass, { "EVM-56": isHub ? pass : () => answer() });
    const [chain] = scene.chains;
    assert.ok(chain !== undefined);
    await scene.clock.advance(240_000);
    assert.deepEqual([chain.isOpen, scene.openedMs], [false, 30_000]);
    assert.deepEqual(scene.told().slice(1), [
      isHub ? ["error", "hub_unavailable", HUB] : ["warn", "chain_unavailable", "EVM-56"],
    ]);
    assert.equal(scene.log.lines.at(-1)?.fields["advice"], "check the URL and that the node runs");
    answer = pass;
    await scene.clock.advance(15_000);
    assert.ok(chain.isOpen);
    await scene.end();
  }
});

Deno.test("gates: what does not fit is said at once, checked within a minute, and said again when it changes", async () => {
  let rows = [failed("no contract"), { ...failed("poor"), result: "warning" as const }];
  let checks = 0;
  const scene = new Scene(pass, {
    "EVM-1": () => {
      checks++;
      return Promise.resolve(rows);
    },
  });
  await scene.clock.advance(240_000);
  assert.deepEqual(scene.told(), [
    ["warn", "check_warning", "EVM-1"],
    ["error", "chain_suspended", "EVM-1"],
  ]);
  assert.deepEqual([scene.openedMs, checks], [0, 6]);
  rows = [failed("another hub")];
  await scene.clock.advance(60_000);
  assert.equal(scene.log.lines.at(-1)?.fields["explanation"], "another hub");
  rows = [];
  await scene.clock.advance(60_000);
  assert.deepEqual([scene.told().at(-1), scene.chains[0]?.isOpen], [
    ["info", "chain_available", "EVM-1"],
    true,
  ]);
  await scene.end();
});

Deno.test("gates: work waits for all of its gates, and ends with the signal before that", async () => {
  const open = Promise.withResolvers<void>();
  const other = Promise.withResolvers<void>();
  let runs = 0;
  const worker = { name: "leg", run: () => Promise.resolve(void runs++) };
  const gated = behindGates(worker, [{ passed: open.promise }, undefined, { passed: other.promise }]);
  const stop = new AbortController();
  const stopped = gated.run(stop.signal);
  const run = gated.run(new AbortController().signal);
  open.resolve();
  stop.abort(new Error("stop"));
  await assert.rejects(stopped, /stop/);
  assert.equal(runs, 0);
  other.resolve();
  await run;
  assert.equal(runs, 1);
});

Deno.test("gates: an abort ends the first look with its reason, and nothing is left behind", async () => {
  const scene = new Scene(hang, { "EVM-1": pass });
  const ended = assert.rejects(scene.end(), /stop/);
  await scene.clock.advance(1_000);
  scene.stop.abort(new Error("stop"));
  await scene.clock.run(ended);
  assert.equal(scene.clock.pending, 0);
});

Deno.test("rows: what keeps a chain out counts although another check of it has no answer", async () => {
  assert.deepEqual(await joinRows(pass(), Promise.resolve([failed("a")])), [failed("a")]);
  assert.deepEqual(await joinRows(refuse(), Promise.resolve([failed("unknown")])), [failed("unknown")]);
  await assert.rejects(joinRows(refuse(), pass()), RpcFault);
});
