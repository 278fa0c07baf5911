import { deepStrictEqual as equal, rejects } from "node:assert/strict";
import { concatBytes, fromHex, type Hash256 } from "../../../../src/core/encoding/bytes.ts";
import { RpcFault, type RpcFaultCode } from "../../../../src/core/rpc/call.ts";
import { RestEndpoint } from "../../../../src/consensus/rest/rest_endpoint.ts";
import { BeaconNode } from "../../../../src/consensus/clients/sync_committee/beacon_node.ts";
import { ethereumMainnet } from "../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
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

Deno.test("beacon node: a period without an update is absence, not a lie", async () => {
  await rejects(nodeWith(() => Response.json([])).fetchPeriodUpdate(7n), isFault("not_found"));
  await rejects(nodeWith(() => Response.json({})).fetchPeriodUpdate(7n), isFault("malformed"));
});
