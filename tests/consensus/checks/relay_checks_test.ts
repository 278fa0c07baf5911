import assert from "node:assert/strict";
import { type CheckRow, runChecks } from "../../../src/core/checks/check_row.ts";
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { RpcFault, type RpcFaultCode } from "../../../src/core/rpc/call.ts";
import type { RelayBlock } from "../../../src/consensus/relay_chain/relay_chain.ts";
import { checkRelayNode, type RelayCheckOptions } from "../../../src/consensus/relay_chain/relay_checks.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const never = new AbortController().signal;
const hash = toHash256(new Uint8Array(32).fill(7));

function fault(code: RpcFaultCode, method: string): RpcFault {
  return new RpcFault(code, { chain: "relay", endpointHost: "relay.example", method });
}

type Relay = ReturnType<Parameters<typeof checkRelayNode>[1]>;

/** Rows of one round against a node that lacks what `change` says. */
async function check(
  proves: RelayCheckOptions["proves"],
  change: Partial<Relay> = {},
): Promise<readonly CheckRow[]> {
  const clock = new FakeClock();
  const block: RelayBlock = {
    hash,
    header: { parentHash: hash, number: 1_000, stateRoot: hash, extrinsicsRoot: hash, digest: [] },
  };
  let open = 0;
  const relay: Relay = {
    host: "relay.example",
    fetchFinalized: () => Promise.resolve(block),
    fetchBeefyFinalized: () => Promise.resolve(block),
    fetchHash: () => Promise.resolve(hash),
    fetchMmrProof: () => Promise.resolve({ leaves: new Uint8Array(), proof: new Uint8Array() }),
    fetchReadProof: () => Promise.resolve([hash, hash].map((node) => fromHex(node))),
    fetchStorage: () => Promise.resolve([new Uint8Array(1)]),
    proveFinality: () => Promise.resolve(new Uint8Array(500)),
    close: () => {
      open--;
      return Promise.resolve();
    },
    ...change,
  };
  const job = checkRelayNode(clock, () => {
    open++;
    return relay;
  }, { chain: "POLKADOT-3367", proves });
  const rows = await clock.run(runChecks({ clock }, [job], never));
  await clock.settle();
  assert.equal(open, 0, "the connection is closed");
  return rows;
}

function results(rows: readonly CheckRow[]): readonly (readonly [string, string])[] {
  return rows.map(({ check, result }) => [check, result] as const);
}

Deno.test("relay node: one that has everything is in order", async () => {
  assert.deepEqual(results(await check("grandpa")), [["endpoint", "ok"], ["grandpa", "ok"], [
    "node_state",
    "ok",
  ]]);
  assert.deepEqual(results(await check("beefy")), [["endpoint", "ok"], ["beefy", "ok"], [
    "node_state",
    "ok",
  ]]);
});

Deno.test("relay node: what it lacks is named with what helps, each by itself", async () => {
  const pruned = await check("grandpa", {
    fetchStorage: () => Promise.reject(fault("pruned", "state_getStorage")),
  });
  assert.deepEqual(results(pruned).at(-1), ["node_state", "warning"]);
  assert.match(pruned.at(-1)?.advice ?? "", /archive/);
  const denied = await check("grandpa", {
    proveFinality: () => Promise.reject(fault("missing_method", "grandpa_proveFinality")),
  });
  assert.deepEqual(results(denied), [["endpoint", "ok"], ["grandpa", "failed"], ["node_state", "ok"]]);
  const leafless = await check("beefy", {
    fetchMmrProof: () => Promise.reject(fault("refused", "mmr_generateProof")),
  });
  assert.deepEqual(results(leafless)[1], ["beefy", "failed"]);
  assert.match(leafless[1]?.found ?? "", /mmr_generateProof: refused/);
  const none = await check("beefy", {
    fetchBeefyFinalized: () => Promise.reject(fault("missing_method", "beefy_getFinalizedHead")),
  });
  assert.deepEqual(results(none)[1], ["beefy", "failed"]);
});

Deno.test("relay node: for heads it must prove the state of its final block, and know the parachain", async () => {
  const proves = { headOf: 1000 };
  const good = await check(proves);
  assert.deepEqual(results(good), [["endpoint", "ok"], ["state_proof", "ok"]]);
  assert.equal(good[1]?.found, "proves the head of parachain 1000 in block 1000 by 2 nodes");
  const other = await check(proves, { fetchStorage: () => Promise.resolve([undefined]) });
  assert.deepEqual(results(other)[1], ["state_proof", "failed"]);
  assert.match(other[1]?.advice ?? "", /hub's relay chain/);
  const denied = await check(proves, {
    fetchReadProof: () => Promise.reject(fault("missing_method", "state_getReadProof")),
  });
  assert.deepEqual(results(denied)[1], ["state_proof", "failed"]);
  assert.match(denied[1]?.found ?? "", /^state_getReadProof: missing_method/);
});

Deno.test("relay node: one that is silent has one row, and one that hangs has one of what it proves", async () => {
  const dead = await check("grandpa", {
    fetchFinalized: () => Promise.reject(fault("unreachable", "chain_getHeader")),
  });
  assert.deepEqual(results(dead), [["endpoint", "failed"]]);
  assert.match(dead[0]?.advice ?? "", /check the URL/);
  const hanging = await check("grandpa", {
    fetchFinalized: (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  assert.deepEqual(results(hanging), [["grandpa", "failed"]]);
});
