/** Runs that prove the hub to chains, and the states with which clients of it begin. */
import assert from "node:assert/strict";
import { connectChains } from "../../src/consensus/connect.ts";
import { stateOfHub, stateOfRelay } from "../../src/consensus/clients/beefy/hub_state.ts";
import { runConsensus } from "../../src/consensus/run.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { hubBeefyStateCodec } from "../../src/consensus/clients/beefy/spec/relay_storage.ts";
import { decodeBeefyClientState, encodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { toConsensusClientId } from "../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../src/core/rpc/call.ts";
import { ShutdownRequested } from "../../src/core/runtime/app.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { connectRelay } from "../../devnet/relay/relay_reader.ts";
import { type Hub, startHub } from "../../devnet/hub/hub.ts";
import { startRelayChain } from "../../devnet/relay/relay_chain.ts";
import { fastClock } from "../support/fast_clock.ts";
import { idOf } from "../support/memory_target.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";

const never = new AbortController().signal;
const key = `0x${"11".repeat(32)}`;

/** An EVM chain that never answers. */
const polygon = `[polygon]
type = "evm"
state_machine = "EVM-137"
rpc_urls = ["http://127.0.0.1:9"]
consensus_state_id = "POLY"
etherscan_api_key = ""
ismp_host = "0x620128E2B19193d6Bd244a3AC8D3bBa0541B19c3"
signer = "${key}"
`;

function beefyToml(hub: Hub, prover: string): string {
  const { stateMachine, consensusStateId } = hub.identity;
  return `
[hub]
type = "beefy"
[hub.substrate]
rpc_ws = "${hub.wsUrl}"
state_machine = "${stateMachine}"
consensus_state_id = "${consensusStateId}"
signer = "${key}"
[hub.prover]
relay_rpc_ws = "ws://127.0.0.1:9"
para_ids = [${stateMachine.split("-")[1]}]
${prover}
${polygon}`;
}

/** Starts a relayer and, if that succeeds, stops it. */
async function startBriefly(toml: string): Promise<{ readonly code: number; readonly log: RecordedLog }> {
  const { config, problems } = parseConsensusConfig({ readFile: () => assert.fail() }, toml);
  assert.deepEqual(problems, []);
  assert.ok(config);
  const log = new RecordedLog();
  const stop = new AbortController();
  const deps = { clock: fastClock(20), random: fixedRandomness(0), log: log.with({}) };
  const run = runConsensus(
    { ...deps, config, connect: () => connectChains(deps, config) },
    { base: undefined },
    stop.signal,
  );
  let hasEnded = false;
  run.finally(() => hasEnded = true);
  while (!hasEnded && !log.events("info").includes("program_started")) {
    await systemClock.sleep(15, never);
  }
  stop.abort(new ShutdownRequested("SIGTERM"));
  return { code: await run, log };
}

Deno.test("a hub of type beefy: a para_rpc_ws that is no node of the hub is named", async () => {
  await using hub = await startHub({ blockTimeMs: "manual" });
  await using other = await startRelayChain({ blockTimeMs: "manual" });
  hub.produceBlock();
  const wrong = await startBriefly(beefyToml(hub, `para_rpc_ws = "${other.wsUrl}"`));
  assert.equal(wrong.code, 0);
  const [named] = wrong.log.linesOf("chain_suspended");
  assert.equal(named?.fields.finding, "state_machine_unreadable");
  assert.equal(named?.level, "error");
  const places = /\[hub\.prover\]\.para_rpc_ws \(127\.0\.0\.1:\d+\): .*is it an ISMP chain/;
  assert.match(String(named?.fields.explanation), places);
  for (const right of [`para_rpc_ws = "${hub.wsUrl.replace("127.0.0.1", "localhost")}"`, ""]) {
    const { code, log } = await startBriefly(beefyToml(hub, right));
    assert.equal(code, 0);
    assert.deepEqual(log.events("error"), []);
  }
});

Deno.test("the initial BEEFY state is that of the relay chain's newest justified block, as hosts take it", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual" });
  await using relay = connectRelay(node.wsUrl);
  node.rotate();
  node.produceBlocks(4);
  const { clientId, state, unbondingSec, challengePeriods } = await stateOfRelay(
    relay.chain,
    idOf("KUSAMA-4009/PAS0").stateMachine,
    never,
  );
  assert.deepEqual(decodeBeefyClientState(state), node.beefyState());
  assert.deepEqual([clientId, unbondingSec, [...challengePeriods]], [
    "BEEF",
    5_832_000n,
    [["KUSAMA-4009", 300n]],
  ]);
  node.beefyReady = false;
  const { stateMachine } = idOf("KUSAMA-4009/PAS0");
  await assert.rejects(
    stateOfRelay(relay.chain, stateMachine, never),
    (error) => error instanceof RpcFault && error.reaction === "retry",
  );
  node.beefyReady = true;
  node.alter = ({ method }, result) =>
    method === "chain_getBlock" ? { ...Object(result), justifications: null } : result;
  await assert.rejects(stateOfRelay(relay.chain, stateMachine, never), { code: "bad_data" });
});

Deno.test("without a relay chain the initial BEEFY state is that of the hub's own client", async () => {
  const root = (byte: number): ReturnType<typeof toHash256> => toHash256(new Uint8Array(32).fill(byte));
  const current = { id: 5n, length: 600, root: root(5) };
  const next = { id: 6n, length: 601, root: root(6) };
  const stored = hubBeefyStateCodec.enc({
    latestHeight: 90,
    beefyActivationBlock: 3,
    mmrRoot: root(1),
    current,
    next,
  });
  assert.equal(stored.length, 128);
  const view = { state: stored, updatedSec: 1n, unbondingSec: 1n, isFrozen: false } as const;
  const id = idOf("KUSAMA-4009/PAS0");
  const { state } = await stateOfHub(
    { id, reads: { fetchClient: () => Promise.resolve({ ...view, clientId: toConsensusClientId("BEEF") }) } },
    never,
  );
  const expected = encodeBeefyClientState({ latestHeight: 90n, beefyActivationBlock: 3n, current, next });
  assert.equal(toHex(state), toHex(expected));
  const none = { id, reads: { fetchClient: () => Promise.resolve(undefined) } };
  await assert.rejects(stateOfHub(none, never), { code: "hub_state" });
  const broken = {
    id,
    reads: {
      fetchClient: () =>
        Promise.resolve({ ...view, clientId: toConsensusClientId("BEEF"), state: stored.subarray(1) }),
    },
  };
  await assert.rejects(stateOfHub(broken, never), { code: "hub_state" });
});
