import { deepStrictEqual as equal, rejects } from "node:assert/strict";
import { concatBytes, fromHex, type Hash256 } from "../../../../src/core/encoding/bytes.ts";
import { RpcFault, type RpcFaultCode } from "../../../../src/core/rpc/fault.ts";
import { RestEndpoint } from "../../../../src/consensus/rest/rest_endpoint.ts";
import { BeaconNode, summariesPaths } from "../../../../src/consensus/clients/sync_committee/beacon_node.ts";
import { ethereumMainnet } from "../../../../src/consensus/clients/sync_committee/spec/known_networks.ts";
import { SummariesMemory } from "../../../../src/consensus/clients/sync_committee/summaries_memory.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

const never = new AbortController().signal;
const hashOf = (digit: string): Hash256 => `0x${digit.repeat(64)}`;

function nodeWith(answer: () => Response): BeaconNode {
  const deps = { fetch: () => Promise.resolve(answer()), clock: new FakeClock() };
  const endpoint = new RestEndpoint(deps, { url: "http://node.test", chain: "EVM-1" });
  return new BeaconNode(endpoint, { network: ethereumMainnet, signal: never });
}

function octets(...parts: readonly Uint8Array[]): Response {
  const headers = { "content-type": "application/octet-stream" };
  return new Response(Uint8Array.from(concatBytes(...parts)), { headers });
}

function word(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

const isFault = (code: RpcFaultCode) => (fault: unknown): boolean =>
  fault instanceof RpcFault && fault.code === code;

Deno.test("beacon node: a state proof is read in bytes and in JSON", async () => {
  const leaves = [hashOf("1"), hashOf("2")];
  const json = { version: "fulu", data: { type: "compactMulti", leaves, descriptor: "0x28f8" } };
  equal(await nodeWith(() => Response.json(json)).fetchStateProof("7", "0x28f8"), leaves);
  const parts = [word(8), word(72), ...leaves.map(fromHex), fromHex("28f8")];
  equal(await nodeWith(() => octets(...parts)).fetchStateProof("7", "0x28f8"), leaves);
  const bad = [
    [word(8)],
    [word(9), word(72), ...leaves.map(fromHex)],
    [word(8), word(71), ...leaves.map(fromHex)],
    [word(8), word(72), fromHex(hashOf("1"))],
  ];
  for (const bytes of bad) {
    await rejects(nodeWith(() => octets(...bytes)).fetchStateProof("7", "0x28f8"), isFault("malformed"));
  }
});

Deno.test("beacon node: historical summaries are read in bytes and in JSON", async () => {
  const branch = ["1", "2", "3", "4", "5", "6"].map(hashOf);
  const entry = { blockSummaryRoot: hashOf("a"), stateSummaryRoot: hashOf("b") };
  const expected = { entries: [entry, entry], branch };
  const item = { block_summary_root: hashOf("a"), state_summary_root: hashOf("b") };
  const json = { data: { slot: "7", historical_summaries: [item, item], proof: branch } };
  const paths = summariesPaths.map((path) => path("7"));
  for (const path of paths) equal(await nodeWith(() => Response.json(json)).fetchSummaries(path), expected);
  const pair = fromHex(hashOf("a") + hashOf("b").slice(2));
  const fixed = [word(204), ...branch.map(fromHex), new Uint8Array(8)];
  const [nimbus = ""] = paths;
  equal(await nodeWith(() => octets(...fixed, pair, pair)).fetchSummaries(nimbus), expected);
  for (const parts of [[word(204)], [word(200), ...fixed.slice(1), pair], [...fixed, pair.subarray(1)]]) {
    await rejects(nodeWith(() => octets(...parts)).fetchSummaries(nimbus), isFault("malformed"));
  }
});

Deno.test("beacon node: a period without an update is absence, not a lie", async () => {
  await rejects(nodeWith(() => Response.json([])).fetchPeriodUpdate(7n), isFault("not_found"));
  await rejects(nodeWith(() => Response.json({})).fetchPeriodUpdate(7n), isFault("malformed"));
});

Deno.test("summaries memory: an entry is added at the start of every period, and older states have fewer", () => {
  const entry = (digit: string): { blockSummaryRoot: Hash256; stateSummaryRoot: Hash256 } => ({
    blockSummaryRoot: hashOf(digit),
    stateSummaryRoot: hashOf(digit),
  });
  const memory = new SummariesMemory();
  equal(memory.missingSlots(81_920n), undefined);
  memory.note(81_920n, [entry("1"), entry("2")]);
  equal(memory.missingSlots(90_111n), []);
  equal(memory.entriesAt(90_111n, []), [entry("1"), entry("2")]);
  equal(memory.missingSlots(98_305n), [90_112n, 98_304n]);
  equal(memory.entriesAt(98_305n, [entry("3"), entry("4")]).length, 4);
  equal(memory.missingSlots(73_728n), []);
  equal(memory.entriesAt(73_728n, []), [entry("1")]);
  equal(memory.missingSlots(81_920n + 5n * 8192n), undefined);
  memory.note(73_728n, [entry("1")]); // an older state says nothing new
  equal(memory.entriesAt(81_920n, []).length, 2);
});
