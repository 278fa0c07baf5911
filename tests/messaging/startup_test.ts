import assert from "node:assert/strict";
import type { CheckFinding } from "../../src/core/chains/check_finding.ts";
import type { Chain } from "../../src/core/chains/port.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { RpcFault } from "../../src/core/rpc/call.ts";
import { type ChainToCheck, checkAll } from "../../src/messaging/session.ts";
import { type CheckResult } from "../../src/core/chains/check.ts";
import { GOOD_TOML } from "./config/wrong_configs.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { MemoryChain } from "../support/memory_chain.ts";
import { MemoryHub } from "../support/memory_hub.ts";
import { MemoryNode } from "../support/memory_node.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";

const never = new AbortController().signal;
const fatal = (text: string): CheckFinding => ({ severity: "fatal", event: "host_invalid", text });

/** Lets a chain answer none of the start-up checks. */
function silence(chain: MemoryChain): void {
  for (const method of ["check", "checkCounterparty"]) {
    chain.faults.add(method, { kind: "throw", code: "unreachable" }, { times: Infinity });
  }
}

/** The good configuration's hub and chains. */
function scene(): {
  readonly clock: FakeClock;
  readonly hub: MemoryHub;
  readonly evm: MemoryChain;
  readonly para: MemoryChain;
  readonly run: (signal?: AbortSignal) => ReturnType<typeof checkAll>;
} {
  const clock = new FakeClock();
  const { config } = parseMessagingConfig({ readFile: () => new Uint8Array() }, GOOD_TOML);
  assert.ok(config !== undefined);
  const relayer = fromHex("11".repeat(20));
  const nodeOf = (
    { stateMachine, consensusStateId }: Chain["id"],
    family: "evm" | "substrate",
  ): MemoryNode => new MemoryNode(clock, { id: { stateMachine, consensusStateId }, family });
  const entries = config.chains.map((chain) => ({
    config: chain,
    chain: new MemoryChain(nodeOf(chain, chain.type === "substrate" ? "substrate" : "evm"), clock, {
      relayer,
    }),
  }));
  const of = (stateMachine: string): MemoryChain => {
    const found = entries.find(({ chain }) => chain.id.stateMachine === stateMachine);
    assert.ok(found !== undefined);
    return found.chain;
  };
  const hub = new MemoryHub(nodeOf(config.hub, "substrate"), clock, { relayer });
  const deps = { clock, random: seededRandomness(1), log: new RecordedLog() };
  const chains: readonly ChainToCheck[] = entries;
  return {
    clock,
    hub,
    evm: of("EVM-31337"),
    para: of("KUSAMA-2000"),
    run: (signal = never) => checkAll(deps, { hub, chains }, signal),
  };
}

/** Lets the clock run until the promise is settled. */
async function finish<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isDone = false;
  const done = promise.finally(() => isDone = true);
  done.catch(() => undefined); // given to the caller below
  for (let i = 0; i < 200 && !isDone; i++) await clock.advance(500);
  return await done;
}

function textsOf(result: CheckResult | undefined): readonly string[] {
  return (result?.findings ?? []).map(({ text }) => text);
}

Deno.test("startup: findings of the chains and of the hub about them come together", async () => {
  const { clock, hub, evm, para, run } = scene();
  hub.findings = [fatal("hub")];
  hub.counterpartyFindings = [fatal("unknown to the hub")];
  evm.findings = [fatal("evm")];
  para.findings = [fatal("para")];
  const { hub: ofHub, chains } = await finish(clock, run());
  assert.deepEqual(textsOf(ofHub), ["hub"]);
  assert.deepEqual(textsOf(chains.get(evm)), ["evm", "unknown to the hub"]);
  assert.deepEqual(textsOf(chains.get(para)), ["para", "unknown to the hub"]);
});

Deno.test("startup: an EVM chain's endpoints are asked for proofs at the height that the hub knows", async () => {
  const { clock, hub, evm, para, run } = scene();
  const asked: bigint[] = [];
  const note: CheckFinding = {
    severity: "warning",
    event: "state_proofs_unavailable",
    text: "no eth_getProof",
  };
  evm.proofChecks = {
    checkProofs: (height) => {
      asked.push(height);
      return Promise.resolve([note]);
    },
    requireProofs: () => Promise.resolve(),
  };
  const view = { height: 77n, nowSec: 0n, challengePeriodSec: 0n, isFrozen: false };
  hub.fetchView = () => Promise.resolve(view);
  const { chains } = await finish(clock, run());
  assert.deepEqual(textsOf(chains.get(evm)), ["no eth_getProof"]);
  assert.deepEqual(textsOf(chains.get(para)), []);
  assert.deepEqual(asked, [77n]);
  hub.fetchView = () => Promise.resolve({ ...view, height: 0n });
  await finish(clock, run());
  evm.findings = [fatal("evm")];
  await finish(clock, run());
  assert.deepEqual(asked, [77n], "neither without a height nor where something is wrong already");
});

Deno.test("startup: what the hub says of a chain that does not answer is reported at once", async () => {
  const { clock, hub, evm, para, run } = scene();
  hub.counterpartyFindings = [fatal("unknown to the hub")];
  silence(evm);
  const { chains } = await finish(clock, run());
  assert.deepEqual([chains.get(evm)?.kind, textsOf(chains.get(evm))], ["unreachable", [
    "unknown to the hub",
  ]]);
  assert.equal(chains.get(para)?.kind, "checked");
});

Deno.test("startup: a hub that does not answer within 30 seconds is the only one to blame", async () => {
  const { clock, hub, evm, para, run } = scene();
  silence(hub);
  evm.findings = [fatal("evm")];
  const startMs = clock.now();
  const { hub: ofHub, chains } = await finish(clock, run());
  assert.ok(clock.now() - startMs <= 31_000);
  assert.equal(ofHub.kind, "unreachable");
  assert.deepEqual([chains.get(evm)?.kind, textsOf(chains.get(evm))], ["checked", ["evm"]]);
  assert.equal(chains.get(para)?.kind, "checked");
  assert.ok(!hub.calls.includes("checkCounterparty"));
});

Deno.test("startup: when time is up the last answer of the endpoint is reported", async () => {
  const { clock, evm, run } = scene();
  silence(evm);
  let attempts = 0;
  const answer = evm.check.bind(evm);
  evm.check = (...args) => ++attempts === 1 ? answer(...args) : new Promise(() => undefined);
  const error = (await finish(clock, run())).chains.get(evm);
  assert.ok(error?.kind === "unreachable" && error.error instanceof RpcFault);
  assert.deepEqual([error.error.code, error.error.where.endpointHost, attempts], [
    "unreachable",
    "memory",
    2,
  ]);
});

Deno.test("startup: an abort ends all checks with its reason, and none is left behind", async () => {
  const { clock, hub, evm, run } = scene();
  silence(hub);
  silence(evm);
  const abort = new AbortController();
  const running = assert.rejects(run(abort.signal), /stop/);
  await clock.advance(1000);
  abort.abort(new Error("stop"));
  await finish(clock, running);
});
