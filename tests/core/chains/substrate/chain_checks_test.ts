import assert from "node:assert/strict";
import { type CheckRow, runChecks } from "../../../../src/core/checks/check_row.ts";
import {
  planSubstrateChecks,
  type SubstrateChecks,
} from "../../../../src/core/chains/substrate/chain_checks.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { otherKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { ScriptedError, type ScriptedMethod, SILENCE } from "../../../support/scripted_socket.ts";
import { blockHashes, hashOf, headerJson, scriptContext, scriptHub } from "./scripted_hub.ts";

const never = new AbortController().signal;
const BEST = 1_000;

/** Rows of one round against a node at block 1000 with the runtime of nexus. */
async function check(
  methods: Readonly<Record<string, ScriptedMethod>> = {},
  { refuseWith, ...options }: Partial<SubstrateChecks> & { readonly refuseWith?: string } = {},
): Promise<readonly CheckRow[]> {
  const { chain: context, clock, node } = scriptContext({
    chain_getHeader: (hash) => headerJson(hash === hashOf("final") ? BEST - 2 : BEST),
    chain_getFinalizedHead: () => hashOf("final"),
    chain_getBlockHash: (which) => which === undefined ? hashOf(`b${BEST}`) : blockHashes(BEST)(which),
    state_getStorage: (key) =>
      key === toHex(otherKeys.timestampNow()) ? toHex(u64.enc(BigInt(clock.now() - 6_000))) : null,
    ...methods,
  });
  node.refuseWith = refuseWith;
  const jobs = planSubstrateChecks(context.node, {
    check: () => Promise.resolve([]),
    fetchNeededHeight: () => Promise.resolve(undefined),
    ...options,
  });
  const rows = await clock.run(runChecks({ clock }, jobs, never));
  await context.endpoint.close();
  return rows;
}

function results(rows: readonly CheckRow[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.map(({ check, result }) => [check, result]));
}

Deno.test("substrate checks: a sound node is in order, and says where it is", async () => {
  const rows = await check();
  assert.deepEqual(results(rows), { endpoint: "ok", head: "ok", clock: "ok", node: "ok", node_state: "ok" });
  assert.match(rows.find(({ check }) => check === "head")?.found ?? "", /block 1000, final block 998/);
  assert.match(
    rows.find(({ check }) => check === "node_state")?.found ?? "",
    /block 698, 300 blocks below the final/,
  );
  assert.match(rows.find(({ check }) => check === "clock")?.found ?? "", /6 s old/);
});

Deno.test("substrate checks: one that hangs is one row", async () => {
  const rows = await check({
    chain_getHeader: () => SILENCE,
    chain_getFinalizedHead: () => SILENCE,
    chain_getBlockHash: () => SILENCE,
    state_getRuntimeVersion: () => SILENCE,
    state_getStorage: () => SILENCE,
  });
  assert.deepEqual(results(rows), { endpoint: "failed" });
  assert.match(rows[0]?.advice ?? "", /load of the node/);
});

Deno.test("substrate checks: a connection that is refused is one row, with the host and what to do", async () => {
  assert.deepEqual(await check({}, { refuseWith: "connection refused" }), [{
    chain: "POLKADOT-3367",
    endpoint: "node.example",
    check: "endpoint",
    result: "failed",
    found: "does not answer: unreachable (connection refused)",
    advice: "check the URL and that the node runs",
  }]);
});

Deno.test("substrate checks: state that proofs need and the node has pruned has failed, other old state is a warning", async () => {
  const pruned: Readonly<Record<string, ScriptedMethod>> = {
    state_getStorage: (key, hash) => {
      if (hash !== undefined) {
        throw new ScriptedError(4003, "Client error: UnknownBlock: State already discarded");
      }
      return key === toHex(otherKeys.timestampNow()) ? toHex(u64.enc(BigInt(Date.UTC(2026, 0, 1)))) : null;
    },
  };
  const idle = await check(pruned);
  assert.equal(results(idle).node_state, "warning");
  const needed = await check(pruned, { fetchNeededHeight: () => Promise.resolve(950n) });
  const row = needed.find(({ check }) => check === "node_state");
  assert.equal(row?.result, "failed");
  assert.match(row?.found ?? "", /no state of block 950, the newest known to the hub: pruned/);
  assert.match(row?.advice ?? "", /--state-pruning=archive/);
});

Deno.test("substrate checks: late finality and a chain without blocks need attention", async () => {
  const late = await check({ chain_getHeader: (hash) => headerJson(hash === hashOf("final") ? 800 : BEST) });
  assert.equal(results(late).head, "warning");
  const still = await check({ state_getStorage: () => toHex(u64.enc(BigInt(Date.UTC(2025, 11, 31)))) });
  assert.equal(results(still).clock, "warning");
  const ahead = await check({ state_getStorage: () => toHex(u64.enc(BigInt(Date.UTC(2026, 0, 2)))) });
  assert.match(
    ahead.find(({ check }) => check === "clock")?.found ?? "",
    /this machine's clock is 86400 s behind/,
  );
});

Deno.test("counterparties: a light client of a kind that is not known is named, whatever its bytes", async () => {
  const id = { stateMachine: parseStateMachine("EVM-1"), consensusStateId: toConsensusStateId("ETH0") };
  for (const [stored, named] of [["0x4e455757", "NEWW"], ["0xff455757", "0xff455757"]]) {
    const { chain, run, log } = scriptHub({ state_getStorage: () => stored });
    assert.equal(await run(chain.counterparties.findUnlisted(id, never)), undefined);
    assert.deepEqual(log.linesOf("unknown_met").map(({ fields }) => fields.what), [`light client ${named}`]);
  }
});
