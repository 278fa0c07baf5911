import { deepStrictEqual as equal, notStrictEqual, ok, rejects } from "node:assert/strict";
import { ssz } from "@lodestar/types";
import { fromHex, type Hash256 } from "../../src/core/encoding/bytes.ts";
import { sepolia } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { VectorNode } from "../../tests/consensus/vector_node.ts";
import { waitUntil } from "../waiting.ts";
import {
  type Beacon,
  BeaconFault,
  type BeaconOptions,
  type SimulatedBeaconNode,
  startBeacon,
} from "./beacon.ts";
import { leafPaths, lieAbout } from "./lies.ts";
import { type Anvil, startAnvil } from "../evm/anvil.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";

const slotsPerPeriod = 8192;

const inBytes = { accept: "application/octet-stream" };

/** A JSON answer. @throws when the status is not 200. */
async function fetchJson(beacon: SimulatedBeaconNode, path: string): Promise<VectorNode> {
  const response = await fetch(beacon.url + path);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return new VectorNode(JSON.parse(text));
}

/** An answer in bytes. @throws when the status is not 200. */
async function fetchBytes(beacon: SimulatedBeaconNode, path: string): Promise<Uint8Array> {
  const response = await fetch(beacon.url + path, { headers: inBytes });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The first bytes of an answer; the rest is not read. */
async function fetchPrefix(
  beacon: SimulatedBeaconNode,
  path: string,
  length: number,
): Promise<Uint8Array> {
  const response = await fetch(beacon.url + path, { headers: inBytes });
  const prefix = new Uint8Array(length);
  let at = 0;
  for await (const chunk of response.body ?? []) {
    prefix.set(chunk.subarray(0, length - at), at);
    at = Math.min(length, at + chunk.length);
    if (at === length) break;
  }
  return prefix.subarray(0, at);
}

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

async function executionBlock(anvil: Anvil, number: number): Promise<VectorNode> {
  const tag = `0x${number.toString(16)}`;
  return new VectorNode(await resultHttp(anvil.rpcUrl, "eth_getBlockByNumber", [tag, false]));
}

async function statusOf(
  beacon: SimulatedBeaconNode,
  path: string,
  accept = "application/json",
): Promise<number> {
  const response = await fetch(beacon.url + path, { headers: { accept } });
  await response.body?.cancel();
  return response.status;
}

Deno.test("beacon: states and blocks in SSZ have the roots that headers name, also in empty slots", () =>
  withBeacon(async (beacon) => {
    await beacon.mine(3);
    const { head } = beacon;
    const bytes = await fetchBytes(beacon, `/eth/v2/debug/beacon/states/${head.stateRoot}`);
    const state = ssz.fulu.BeaconState.deserializeToViewDU(bytes);
    equal(state.hashTreeRoot(), fromHex(head.stateRoot));
    equal(state.slot, head.slot);
    equal(state.validators.length, 1000);

    const empty = await fetchBytes(beacon, `/eth/v2/debug/beacon/states/${head.slot - 1}`);
    equal(empty.length, bytes.length);
    const between = ssz.fulu.BeaconState.deserializeToViewDU(empty);
    equal(between.slot, head.slot - 1);
    equal(between.latestBlockHeader.hashTreeRoot(), state.blockRoots.get((head.slot - 1) % slotsPerPeriod));

    const signed = ssz.fulu.SignedBeaconBlock.deserialize(
      await fetchBytes(beacon, "/eth/v2/beacon/blocks/head"),
    );
    equal(ssz.fulu.BeaconBlock.hashTreeRoot(signed.message), fromHex(head.root));
    const blinded = await fetchJson(beacon, `/eth/v1/beacon/blinded_blocks/${head.root}`);
    const message = ssz.fulu.BlindedBeaconBlock.fromJson(blinded.at("data.message").json);
    equal(ssz.fulu.BlindedBeaconBlock.hashTreeRoot(message), fromHex(head.root));
  }));

Deno.test("beacon: a payload holds the transactions of its execution block", () =>
  withBeacon(async (beacon, anvil) => {
    const [from] = new VectorNode({ accounts: await resultHttp(anvil.rpcUrl, "eth_accounts") }).list(
      "accounts",
    );
    const transaction = { from: from?.json, to: `0x${"11".repeat(20)}`, value: "0x1" };
    const hash = await resultHttp(anvil.rpcUrl, "eth_sendTransaction", [transaction]);
    // The node answers before it mines.
    while (await resultHttp(anvil.rpcUrl, "eth_getTransactionReceipt", [hash]) === null) continue;
    await beacon.sync();
    const block = await fetchJson(beacon, "/eth/v2/beacon/blocks/head");
    const payload = block.at("data.message.body.execution_payload");
    equal(
      payload.list("transactions").map((item) => item.json),
      [await resultHttp(anvil.rpcUrl, "eth_getRawTransactionByHash", [hash])],
    );
    equal(
      payload.hash("state_root"),
      (await executionBlock(anvil, beacon.head.blockNumber)).hash("stateRoot"),
    );
  }));

Deno.test("beacon: the chain goes from Electra to Fulu", () =>
  withBeacon(async (beacon) => {
    const before = await fetchBytes(beacon, "/eth/v2/debug/beacon/states/head");
    const electra = ssz.electra.BeaconState.deserializeToViewDU(before);
    equal(electra.hashTreeRoot(), fromHex(beacon.head.stateRoot));
    await beacon.mine(4);
    equal(beacon.head.slot, 272_640 * 32);
    const headState = await fetchBytes(beacon, "/eth/v2/debug/beacon/states/head");
    const fulu = ssz.fulu.BeaconState.deserializeToViewDU(headState);
    equal(fulu.hashTreeRoot(), fromHex(beacon.head.stateRoot));
    equal([fulu.fork.previousVersion, fulu.fork.currentVersion], [
      fromHex("0x90000074"),
      fromHex("0x90000075"),
    ]);
  }, { startEpoch: 272_639 }));

Deno.test("beacon: other blocks take the place of the last ones, but not of final ones", () =>
  withBeacon(async (beacon) => {
    await beacon.mine(9);
    const old = beacon.head;
    await beacon.reorg(2);
    equal(beacon.head.blockHash, old.blockHash);
    notStrictEqual(beacon.head.root, old.root);
    equal(await statusOf(beacon, `/eth/v1/beacon/headers/${old.root}`), 404);
    await rejects(beacon.reorg(40), (error) => error instanceof BeaconFault && error.code === "finalized");
  }));

Deno.test("beacon: a reorg of the execution chain is one of the beacon chain", () =>
  withBeacon(async (beacon, anvil) => {
    await beacon.mine(8);
    const old = beacon.head;
    await resultHttp(anvil.rpcUrl, "anvil_reorg", [3, []]);
    await beacon.mine(1);
    equal(beacon.head.blockNumber, old.blockNumber + 1);
    const numbers = [0, 1, 2, 3].map((behind) => beacon.head.blockNumber - behind);
    const hashes = await Promise.all(
      numbers.map(async (number) => (await executionBlock(anvil, number)).hash("hash")),
    );
    equal(await carriedBlocks(beacon), hashes);
    ok(!hashes.includes(old.blockHash));
  }));

/** Hashes of the execution blocks in the last beacon blocks. */
async function carriedBlocks(beacon: Beacon): Promise<Hash256[]> {
  const hashes: Hash256[] = [];
  let id = "head";
  for (let at = 0; at < 4; at++) {
    const message = (await fetchJson(beacon, `/eth/v2/beacon/blocks/${id}`)).at("data.message");
    hashes.push(message.hash("body.execution_payload.block_hash"));
    id = message.text("parent_root");
  }
  return hashes;
}

Deno.test("beacon: routes can be missing, and refuse", () =>
  withBeacon(async (beacon) => {
    const state = `/eth/v2/debug/beacon/states/${beacon.finalized.slot}`;
    const finality = "/eth/v1/beacon/light_client/finality_update";
    equal(await statusOf(beacon, state), 406);
    equal(await statusOf(beacon, "/eth/v0/beacon/proof/state/head?format=0x0000"), 400);
    equal(await statusOf(beacon, "/eth/v1/beacon/headers/7"), 404);
    equal(await statusOf(beacon, "/eth/v1/beacon/nothing"), 404);
    beacon.change({ without: ["lightClient", "debugStates"] });
    equal(await statusOf(beacon, finality), 404);
    equal(await statusOf(beacon, state, "application/octet-stream"), 404);
    beacon.change({ without: [], isSyncing: true });
    equal(await statusOf(beacon, finality), 503);
    equal((await fetchJson(beacon, "/eth/v1/node/syncing")).at("data.is_syncing").json, true);
    beacon.change({ isSyncing: false });

    beacon.change({ lie: { status: ({ route }) => route === "genesis" ? 500 : undefined } });
    equal(await statusOf(beacon, "/eth/v1/beacon/genesis"), 500);
    equal(await statusOf(beacon, finality), 200);
  }));

Deno.test("beacon: a lie is about one field, and every field can be lied about", () =>
  withBeacon(async (beacon) => {
    const path = "/eth/v1/beacon/light_client/finality_update";
    const truth = await fetchJson(beacon, path);
    const paths = leafPaths(truth.json, 2);
    ok(paths.includes("data.finality_branch.1") && paths.includes("data.signature_slot"));
    for (const field of paths) {
      beacon.change({ lie: lieAbout("finalityUpdate", field) });
      const answer = await fetchJson(beacon, path);
      equal(leafPaths(answer.json, 2).filter((each) => answer.text(each) !== truth.text(each)), [field]);
    }
    beacon.change({ lie: undefined });
    equal((await fetchJson(beacon, path)).json, truth.json);

    const bytes = await fetchBytes(beacon, path);
    const both = "application/octet-stream,application/json;q=0.5";
    beacon.change({ lie: { json: (_, body) => body } });
    const response = await fetch(beacon.url + path, { headers: { accept: both } });
    equal(await response.json(), truth.json);
    beacon.change({ lie: { bytes: (_, answer) => answer.fill(7, 0, 1) } });
    equal(await fetchBytes(beacon, path), Uint8Array.from(bytes, (byte, at) => at === 0 ? 7 : byte));
  }));

Deno.test("beacon: several nodes serve one chain, each in its own way", () =>
  withBeacon(async (beacon) => {
    await using liar = beacon.openNode({ lie: lieAbout("header", "data.root") });
    await using bare = beacon.openNode({ without: ["lightClient"] });
    await beacon.mine(1);
    beacon.forgetRequests();
    const path = "/eth/v1/beacon/headers/head";
    const rootBy = async (node: SimulatedBeaconNode): Promise<Hash256> =>
      (await fetchJson(node, path)).hash("data.root");
    equal(await rootBy(beacon), beacon.head.root);
    equal(await rootBy(bare), beacon.head.root);
    notStrictEqual(await rootBy(liar), beacon.head.root);
    liar.change({ lie: undefined });
    equal(await rootBy(liar), beacon.head.root);
    equal(await statusOf(bare, "/eth/v1/beacon/light_client/finality_update"), 404);
    equal([beacon, liar, bare].map((node) => node.requests.length), [1, 2, 2]);
  }));

Deno.test("beacon: light client objects are the same in SSZ and in JSON", () =>
  withBeacon(async (beacon) => {
    const path = "/eth/v1/beacon/light_client/finality_update";
    const update = ssz.electra.LightClientFinalityUpdate.deserialize(await fetchBytes(beacon, path));
    equal(
      ssz.electra.LightClientFinalityUpdate.toJson(update),
      (await fetchJson(beacon, path)).at("data").json,
    );
    const updates = `/eth/v1/beacon/light_client/updates?start_period=${beacon.period}&count=1`;
    const chunk = await fetchBytes(beacon, updates);
    equal(new DataView(chunk.buffer).getBigUint64(0, true), BigInt(chunk.length - 8));
    equal(
      ssz.electra.LightClientUpdate.toJson(ssz.electra.LightClientUpdate.deserialize(chunk.subarray(12))),
      (await fetchJson(beacon, updates)).at("0.data").json,
    );
  }));

Deno.test("beacon: requests are counted with the bytes that were read", () =>
  withBeacon(async (beacon) => {
    beacon.forgetRequests();
    const path = "/eth/v2/debug/beacon/states/finalized";
    const whole = await fetchBytes(beacon, path);
    await fetchPrefix(beacon, path, 100_000);
    equal(beacon.requests.map(({ route, status }) => [route, status]), [["debugState", 200], [
      "debugState",
      200,
    ]]);
    const [first, second] = beacon.requests;
    equal(first?.bytes, whole.length);
    ok((second?.bytes ?? 0) >= 100_000 && (second?.bytes ?? 0) < whole.length);
  }));

Deno.test("beacon: a node that polls follows by itself, and a start before Electra, or a period that has passed, is refused", () =>
  withBeacon(async (beacon, anvil) => {
    await resultHttp(anvil.rpcUrl, "anvil_mine", ["0x3"]);
    await waitUntil("it has followed", () => beacon.head.blockNumber >= 8, { everyMs: 20 });
    equal(beacon.head.blockNumber, 8);
    await rejects(
      startBeacon({ executionUrl: anvil.rpcUrl, startEpoch: 222_465 }),
      (error) => error instanceof BeaconFault && error.code === "electra_only",
    );
    await rejects(
      beacon.advanceToPeriod(beacon.period),
      (error) => error instanceof BeaconFault && error.code === "period_passed",
    );
  }, { pollMs: 20 }));
