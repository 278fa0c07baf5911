import assert from "node:assert/strict";
import type { HubConsensus } from "../../src/consensus/client.ts";
import { printConsensusState } from "../../src/consensus/initial_state.ts";
import { type InitialStateMaker, ProverFault } from "../../src/consensus/prover.ts";
import { type Connections, type RunDeps } from "../../src/consensus/session.ts";
import { runConsensus } from "../../src/consensus/run.ts";
import type { ConsensusConfig } from "../../src/consensus/config/schema.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { toHash256 } from "../../src/core/encoding/bytes.ts";
import { parseStateMachine, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { ShutdownRequested } from "../../src/core/runtime/app.ts";
import { CheckBoard } from "../../src/core/checks/check_board.ts";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { idOf, MemoryTarget } from "../support/memory_target.ts";
import { faultOf } from "../support/rpc_faults.ts";
import { ScriptedProver, updateTo } from "../support/scripted_prover.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";
import { GOOD_CONSENSUS_TOML, goodFiles } from "./config/wrong_configs.ts";

function configOf(toml: string): ConsensusConfig {
  const { config, problems } = parseConsensusConfig(goodFiles, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return config;
}

class Scene {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();
  readonly stop = new AbortController();
  readonly eth = new ScriptedProver(this.clock, { id: "EVM-11155111/ETH0" });
  readonly rollup = new ScriptedProver(this.clock, {
    id: "EVM-421614/ARB0",
    storedUnder: "ETH0",
    l1: idOf("EVM-11155111/ETH0"),
  });
  readonly bsc = new ScriptedProver(this.clock, { id: "EVM-97/BSC0" });
  receiveOnly = [parseStateMachine("EVM-137")];
  hubConsensus: HubConsensus | undefined;
  hubState: InitialStateMaker | undefined;
  fetchBase: Connections["fetchBase"];
  readonly deps: RunDeps = {
    clock: this.clock,
    random: fixedRandomness(0),
    log: this.log,
    config: configOf(GOOD_CONSENSUS_TOML),
    connect: () => ({
      hub: this.hub,
      proved: [
        this.eth,
        this.rollup,
        this.bsc,
      ],
      receiveOnly: this.receiveOnly,
      hubConsensus: this.hubConsensus,
      hubState: this.hubState,
      fetchBase: this.fetchBase,
    }),
  };

  run(toml = GOOD_CONSENSUS_TOML, base?: string, board?: CheckBoard): Promise<number> {
    const options = { base: base === undefined ? undefined : parseStateMachine(base) };
    return runConsensus({ ...this.deps, board, config: configOf(toml) }, options, this.stop.signal);
  }

  /** Stops a run as an operator does. */
  async end(run: Promise<number>): Promise<void> {
    this.stop.abort(new ShutdownRequested("SIGTERM"));
    assert.equal(await this.clock.run(run), 0);
  }

  errors(): EventCode[] {
    return this.log.events("error");
  }

  assertClosed(): void {
    const all = [this.hub, this.eth, this.rollup, this.bsc];
    assert.deepEqual(all.map(({ isClosed }) => isClosed), [true, true, true, true]);
    assert.equal(this.clock.pending, 0, "timers are left");
  }
}

Deno.test("run: every chain is polled until a signal ends it with 0, and everything is closed", async () => {
  const scene = new Scene();
  const run = scene.run();
  await scene.clock.advance(700_000);
  assert.deepEqual([scene.eth, scene.rollup, scene.bsc].map(({ looks }) => looks.length), [3, 3, 3]);
  const [start] = scene.log.lines.filter(({ event }) => event === "program_started");
  assert.equal(start?.fields.chains, "EVM-11155111 (ETH0), EVM-421614 (ARB0), EVM-97 (BSC0)");
  assert.ok(
    scene.log.lines.some(({ event, fields }) =>
      event === "chain_limited.receive_only" && fields.chain === "EVM-137"
    ),
  );
  await scene.end(run);
  assert.deepEqual(scene.errors(), []);
  scene.assertClosed();
});

Deno.test("run: a signal during the first checks is a clean end, too", async () => {
  const scene = new Scene();
  scene.eth.check = () => new Promise(() => {});
  const run = scene.run();
  await scene.clock.settle();
  scene.stop.abort(new ShutdownRequested("SIGINT"));
  assert.equal(await scene.clock.run(run), 0);
  scene.assertClosed();
});

Deno.test("run: a chain that does not fit is left out with its reason, and joins when it fits; the others work", async () => {
  const scene = new Scene();
  const board = new CheckBoard();
  scene.bsc.findings = [
    { chain: "EVM-97", check: "chain_id", result: "failed", found: "another chain", endpoint: "a.example" },
    { chain: "EVM-97", check: "epoch_length_mismatch", result: "warning", found: "epochs" },
  ];
  const run = scene.run(GOOD_CONSENSUS_TOML, undefined, board);
  await scene.clock.advance(200_000);
  assert.deepEqual([scene.eth.looks.length, scene.bsc.looks.length], [1, 0]);
  const [suspended] = scene.log.linesOf("chain_suspended");
  assert.deepEqual([suspended?.level, suspended?.fields.chain, suspended?.fields.finding], [
    "error",
    "EVM-97",
    "chain_id",
  ]);
  assert.deepEqual(scene.log.linesOf("check_warning").map(({ fields }) => fields.check), [
    "epoch_length_mismatch",
  ]);
  assert.deepEqual(board.rows.map(({ chain, check }) => [chain, check]), [
    ["EVM-97", "chain_id"],
    ["EVM-97", "epoch_length_mismatch"],
  ]);
  scene.bsc.findings = [];
  await scene.clock.advance(60_000);
  assert.equal(scene.bsc.looks.length, 1);
  assert.deepEqual(
    scene.log.linesOf("chain_available").filter(({ level }) => level === "info").map(({ fields }) =>
      fields.chain
    ),
    ["EVM-97"],
  );
  assert.deepEqual(board.rows, []);
  await scene.end(run);
  scene.assertClosed();
});

Deno.test("run: a hub that does not answer for four minutes is waited for, and everything starts then", async () => {
  const scene = new Scene();
  const board = new CheckBoard();
  scene.hub.fault = faultOf("unreachable", "KUSAMA-4009");
  scene.eth.checkFault = faultOf("unreachable", "KUSAMA-4009");
  const run = scene.run(GOOD_CONSENSUS_TOML, undefined, board);
  await scene.clock.advance(240_000);
  assert.deepEqual(new Set(scene.errors()), new Set(["hub_unavailable"]), "the log counts what repeats");
  assert.equal(scene.log.linesOf("hub_unavailable")[0]?.fields.setting, "[hub.substrate].rpc_ws");
  assert.deepEqual(scene.log.linesOf("chain_unavailable"), []);
  assert.deepEqual(scene.log.linesOf("program_started"), [], "nothing is relayed yet");
  scene.hub.fault = undefined;
  scene.eth.checkFault = undefined;
  await scene.clock.advance(15_000);
  assert.equal(scene.log.linesOf("program_started").length, 1);
  assert.deepEqual([scene.eth, scene.rollup, scene.bsc].map(({ looks }) => looks.length), [1, 1, 1]);
  assert.deepEqual(board.rows, []);
  await scene.end(run);
});

Deno.test("run: a chain that does not answer at the start is asked in the background while the others work", async () => {
  const scene = new Scene();
  scene.bsc.checkFault = faultOf("unreachable", "EVM-97");
  const run = scene.run();
  await scene.clock.advance(120_000);
  assert.deepEqual([scene.eth.looks.length, scene.bsc.looks.length], [1, 0]);
  scene.bsc.checkFault = undefined;
  await scene.clock.advance(15_000);
  assert.equal(scene.bsc.looks.length, 1);
  await scene.end(run);
});

Deno.test("run: a false word at the start is a warning, for the next one may be true", async () => {
  const scene = new Scene();
  scene.eth.checkFault = new ProverFault("bad_data", {
    chain: scene.eth.chain,
    endpoint: "beacon.example.org",
    detail: "half a header",
  });
  const run = scene.run();
  await scene.clock.advance(1_000);
  const told = scene.log.linesOf("check_warning").map(({ fields }) => fields.check);
  assert.ok(told.includes("light_client"));
  assert.equal(scene.eth.looks.length, 1);
  await scene.end(run);
});

Deno.test("run: a defect in one chain's worker restarts it alone, with pauses", async () => {
  const scene = new Scene();
  scene.bsc.find = () => {
    throw new TypeError("a defect");
  };
  scene.eth.find = (look) => updateTo(BigInt(look));
  scene.hub.commitmentsOf.set(scene.eth.consensusStateId, scene.eth.commitmentId);
  const run = scene.run();
  await scene.clock.advance(700_000);
  assert.deepEqual(scene.hub.sent, [1n, 2n, 3n]);
  assert.ok(scene.bsc.looks.length > 10 && scene.bsc.looks.length < 25, String(scene.bsc.looks.length));
  assert.deepEqual(new Set(scene.errors()), new Set(["worker_restarting"]));
  await scene.end(run);
});

Deno.test("run: a watched chain without updates ends the program with its own status", async () => {
  const scene = new Scene();
  scene.hub.store(idOf("EVM-97/BSC0"), 5n);
  const watched = GOOD_CONSENSUS_TOML.replace(
    "maximum_update_intervals = []",
    'maximum_update_intervals = [[["EVM-97", "BSC0"], 500]]',
  );
  assert.equal(await scene.clock.run(scene.run(watched)), 3);
  assert.deepEqual(scene.errors(), [
    "update_overdue",
    "worker_failed",
  ]);
  scene.assertClosed();
});

Deno.test("run: with nothing but a receive-only chain it stays until it is stopped", async () => {
  const scene = new Scene();
  const deps: RunDeps = {
    ...scene.deps,
    connect: () => ({ hub: scene.hub, proved: [], receiveOnly: scene.receiveOnly }),
  };
  const run = runConsensus(deps, { base: undefined }, scene.stop.signal);
  let ended = false;
  run.finally(() => ended = true);
  await scene.clock.advance(86_400_000);
  assert.equal(ended, false);
  await scene.end(run);
});

Deno.test("run: chains that proofs of the hub cannot serve are named in one line each", async () => {
  const scene = new Scene();
  const skipped = [parseStateMachine("EVM-97"), parseStateMachine("EVM-137")];
  scene.hubConsensus = { shared: [], followers: [], skipped, skippedText: "" };
  const run = scene.run();
  await scene.clock.advance(600_000);
  const named = scene.log.lines.filter(({ event }) => event === "chain_limited.no_hub_proofs");
  assert.deepEqual(named.map(({ fields }) => fields.chain), skipped);
  await scene.end(run);
});

for (const limit of ["", "maximum_daily_loss = 50\n"]) {
  Deno.test(`run: the start says whether the costs of proofs are limited: ${limit || "no limit"}`, async () => {
    const scene = new Scene();
    const host = {
      check: () => Promise.resolve([]),
      client: {
        route: { chain: "KUSAMA-4009", target: "EVM-97" },
        log: scene.log,
        isFree: false,
        failures: "proofs_failed" as const,
        find: () => Promise.resolve({ kind: "nothing" as const, reason: "nothing is new" }),
      },
      close: () => Promise.resolve(),
    };
    scene.hubConsensus = { shared: [], followers: [host], skipped: [], skippedText: "" };
    const run = scene.run(GOOD_CONSENSUS_TOML.replace("[relayer]\n", `[relayer]\n${limit}`));
    await scene.clock.advance(1_000);
    const named = scene.log.linesOf("configuration_note").map(({ fields }) => fields.chains);
    assert.deepEqual(named, limit === "" ? ["EVM-97"] : []);
    await scene.end(run);
  });
}

const BEEFY_TOML = GOOD_CONSENSUS_TOML.replace('type = "grandpa"', 'type = "beefy"').replace(
  /\[hub\.grandpa\]\n(?:.+\n)+/,
  "",
);

Deno.test("run: with BEEFY it is said whether --base names a host that follows the hub, and nothing else depends on it", async () => {
  const root = toHash256(new Uint8Array(32));
  const state = {
    latestHeight: 7n,
    beefyActivationBlock: 0n,
    current: { id: 3n, length: 4, root },
    next: { id: 4n, length: 4, root },
  };
  const good = new Scene();
  good.fetchBase = (chain) => Promise.resolve(chain === "EVM-97" ? state : undefined);
  const run = good.run(BEEFY_TOML, "EVM-97");
  await good.clock.advance(1_000);
  const [line] = good.log.lines.filter(({ event }) => event === "base_checked.confirmed");
  assert.deepEqual(line?.fields, { base: "EVM-97", relayBlock: 7n, set: 3n });
  await good.end(run);

  for (
    const [answer, errors] of [
      [() => Promise.resolve(undefined), ["base_checked.client_missing"]],
      [() => Promise.reject(faultOf("reverted")), ["base_checked.unreadable"]],
      [() => Promise.reject(faultOf("unreachable")), []],
    ] as const
  ) {
    const other = new Scene();
    other.fetchBase = answer;
    const running = other.run(BEEFY_TOML, "EVM-97");
    await other.clock.advance(60_000);
    assert.deepEqual(other.errors(), errors);
    assert.equal(other.eth.looks.length, 1, "relaying does not depend on it");
    await other.end(running);
  }
});

Deno.test("run: --base has no effect on a hub of another type", async () => {
  const scene = new Scene();
  const run = scene.run(GOOD_CONSENSUS_TOML, "EVM-97");
  await scene.clock.advance(1_000);
  assert.ok(scene.log.events("info").some((event) => event === "base_checked.ignored"));
  await scene.end(run);
});

/** Runs `log-consensus-state` and gives the status and what was printed. */
async function logState(
  scene: Scene,
  chain: string,
  isJson = false,
): Promise<{ readonly code: number; readonly printed: string }> {
  let printed = "";
  const options = {
    chain: parseStateMachine(chain),
    isJson,
    print: (text: string) => void (printed += text),
  };
  const run = printConsensusState(scene.deps, options, scene.stop.signal);
  return { code: await scene.clock.run(run), printed };
}

Deno.test("log-consensus-state: the state in hex, and the other arguments of CreateConsensusState", async () => {
  const scene = new Scene();
  const { code, printed } = await logState(scene, "EVM-11155111");
  assert.equal(code, 0);
  assert.equal(
    printed,
    `ConsensusState for EVM-11155111:
0x0102ff

The other arguments of CreateConsensusState:
consensus_client_id: BEAC (0x42454143)
consensus_state_id: ETH0 (0x45544830)
unbonding_period: 5832000 s
challenge_periods: EVM-11155111 300 s
state_machine_commitments: EVM-11155111/ETH0 height 12, timestamp 1700000000, overlay_root none, state_root 0x${
      "ab".repeat(32)
    }`,
  );
  scene.assertClosed();
  const json: unknown = JSON.parse((await logState(new Scene(), "EVM-421614", true)).printed);
  assert.deepEqual(json, {
    stateMachine: "EVM-421614",
    consensusState: "0x0102ff",
    consensusClientId: "BEAC",
    consensusStateId: "ARB0",
    unbondingPeriodSec: "5832000",
    challengePeriodsSec: { "EVM-421614": "300" },
    stateMachineCommitments: [{
      stateMachine: "EVM-421614",
      consensusStateId: "ETH0",
      height: "12",
      timestampSec: "1700000000",
      overlayRoot: null,
      stateRoot: `0x${"ab".repeat(32)}`,
    }],
    furtherCalls: rollupCalls,
  });
});

/** What governance has to do for a rollup beside creating its client. */
const rollupCalls = [
  {
    call: "Ismp.update_consensus_state",
    arguments: "consensus_state_id ETH0 (0x45544830), challenge_periods EVM-421614 300 s",
    otherwise: "messages are refused (ChallengePeriodNotConfigured): heights are stored under ETH0",
  },
  {
    call: "IsmpSyncCommitteeEth.add_state_machine",
    arguments: "EVM-421614/ETH0",
    otherwise:
      "the hub accepts no messages of the chain: IsmpSyncCommitteeEth.SupportedStatemachines has to list it",
  },
];

Deno.test("run: chains that the hub's beacon client does not list are named at the start, rollups by their L1's", async () => {
  for (const isListed of [false, true]) {
    const scene = new Scene();
    for (const id of ["ETH0", "BSC0"]) scene.hub.setState(toConsensusStateId(id), new Uint8Array());
    if (isListed) scene.hub.fetchStorage = (keys) => Promise.resolve(keys.map(() => Uint8Array.of(1)));
    const running = scene.run();
    await scene.clock.advance(1_000);
    scene.stop.abort(new Error("stop"));
    await running;
    const told = scene.log.linesOf("check_warning").map(({ fields }) => fields).filter(({ check }) =>
      check === "chain_not_accepted"
    );
    assert.deepEqual(
      told.map(({ chain }) => chain),
      isListed ? [] : ["EVM-11155111", "EVM-421614", "EVM-97"],
    );
    for (const { chain, found } of told) {
      assert.ok(String(found).includes(String(chain)), String(found));
      assert.match(String(found), /IsmpSyncCommitteeEth\.add_state_machine/);
    }
  }
});

Deno.test("log-consensus-state: a rollup's text says what governance has to set in the client of its L1", async () => {
  const { printed } = await logState(new Scene(), "EVM-421614");
  const [, after] = printed.split("\n\nGovernance must call as well:\n");
  const lines = rollupCalls.map((each) => `${each.call}: ${each.arguments}; otherwise ${each.otherwise}`);
  assert.equal(after, lines.join("\n"));
});

Deno.test("log-consensus-state: chains without a state are errors with the reason, and nothing is printed", async () => {
  const cases = [
    ["EVM-5", "command_failed.chain_not_configured"],
    ["EVM-137", "command_failed.receive_only"],
  ] as const;
  for (const [chain, reason] of cases) {
    const scene = new Scene();
    assert.deepEqual(await logState(scene, chain), { code: 1, printed: "" });
    assert.deepEqual(scene.errors(), [reason]);
  }
});

Deno.test("log-consensus-state: the state of the hub itself is printed, too", async () => {
  const scene = new Scene();
  const maker = new ScriptedProver(scene.clock, { id: "KUSAMA-4009/BEEF" });
  scene.hubState = maker;
  const { code, printed } = await logState(scene, "KUSAMA-4009");
  assert.equal(code, 0);
  assert.ok(printed.startsWith("ConsensusState for KUSAMA-4009:\n0x0102ff\n"), printed);
  assert.ok(printed.includes("consensus_state_id: BEEF"));
  assert.equal(maker.isClosed, true);
});

Deno.test("log-consensus-state: endpoints that fail are asked again for half a minute, a lie is reported at once", async () => {
  const scene = new Scene();
  const fetchState = scene.eth.fetchInitialState.bind(scene.eth);
  let failures = 3;
  scene.eth.fetchInitialState = () => failures-- > 0 ? Promise.reject(faultOf("timeout")) : fetchState();
  assert.equal((await logState(scene, "EVM-11155111")).code, 0);

  const dead = new Scene();
  dead.eth.fetchInitialState = () => Promise.reject(faultOf("unreachable"));
  const startMs = dead.clock.now();
  assert.deepEqual(await logState(dead, "EVM-11155111"), { code: 1, printed: "" });
  assert.deepEqual(dead.errors(), ["command_failed.initial_state"]);
  assert.ok(dead.clock.now() - startMs <= 30_000);

  const lying = new Scene();
  lying.eth.fetchInitialState = () =>
    Promise.reject(
      new ProverFault("bad_data", {
        chain: lying.eth.chain,
        endpoint: "beacon.example.org",
        detail: "another root",
      }),
    );
  assert.equal((await logState(lying, "EVM-11155111")).code, 1);
  assert.match(String(lying.log.lines.at(-1)?.fields.error), /another root/);
});
