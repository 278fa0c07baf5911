import { deepStrictEqual as equal, notStrictEqual, ok, rejects } from "node:assert/strict";
import { sepolia } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { VectorNode } from "../../tests/consensus/vector_node.ts";
import { waitUntil } from "../waiting.ts";
import { type Beacon, BeaconFault, type BeaconOptions, startBeacon } from "./beacon.ts";
import { type Anvil, startAnvil } from "../evm/anvil.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";

/** A node on a new chain with some blocks; it looks at the chain only when it is told to. */
async function withBeacon(
  work: (beacon: Beacon, anvil: Anvil) => Promise<void>,
  options: Partial<BeaconOptions> = {},
): Promise<void> {
  await using anvil = await startAnvil({ chainId: sepolia.chainId });
  await resultHttp(anvil.rpcUrl, "anvil_mine", ["0x5"]);
  await using beacon = await startBeacon({ executionUrl: anvil.rpcUrl, pollMs: 0, ...options });
  await work(beacon, anvil);
}

Deno.test("beacon: other blocks take the place of the last ones, but not of final ones", () =>
  withBeacon(async (beacon) => {
    await beacon.mine(9);
    const old = beacon.head;
    await beacon.reorg(2);
    equal(beacon.head.blockHash, old.blockHash);
    notStrictEqual(beacon.head.root, old.root);
    const response = await fetch(`${beacon.url}/eth/v1/beacon/headers/${old.root}`);
    await response.body?.cancel();
    equal(response.status, 404);
    await rejects(beacon.reorg(40), (error) => error instanceof BeaconFault && error.code === "finalized");
  }));

Deno.test("beacon: a reorg of the execution chain is one of the beacon chain", () =>
  withBeacon(async (beacon, anvil) => {
    await beacon.mine(8);
    const old = beacon.head;
    await resultHttp(anvil.rpcUrl, "anvil_reorg", [3, []]);
    await beacon.mine(1);
    equal(beacon.head.blockNumber, old.blockNumber + 1);
    let id = "head";
    for (let behind = 0; behind < 4; behind++) {
      const response = await fetch(`${beacon.url}/eth/v2/beacon/blocks/${id}`);
      const message = new VectorNode(await response.json()).at("data.message");
      const carried = message.hash("body.execution_payload.block_hash");
      const tag = `0x${(beacon.head.blockNumber - behind).toString(16)}`;
      const block = new VectorNode(await resultHttp(anvil.rpcUrl, "eth_getBlockByNumber", [tag, false]));
      equal(carried, block.hash("hash"));
      ok(carried !== old.blockHash);
      id = message.text("parent_root");
    }
  }));

Deno.test("beacon: a node that polls follows by itself, and a start before Fulu, or a period that has passed, is refused", () =>
  withBeacon(async (beacon, anvil) => {
    await resultHttp(anvil.rpcUrl, "anvil_mine", ["0x3"]);
    await waitUntil("it has followed", () => beacon.head.blockNumber >= 8, { everyMs: 20 });
    equal(beacon.head.blockNumber, 8);
    await rejects(
      startBeacon({ executionUrl: anvil.rpcUrl, startEpoch: 272_640 }),
      (error) => error instanceof BeaconFault && error.code === "fulu_only",
    );
    await rejects(
      beacon.advanceToPeriod(beacon.period),
      (error) => error instanceof BeaconFault && error.code === "period_passed",
    );
  }, { pollMs: 20 }));
