import { deepStrictEqual as equal, rejects } from "node:assert/strict";
import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";
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

const isFault = (code: RpcFaultCode) => (fault: unknown): boolean =>
  fault instanceof RpcFault && fault.code === code;

Deno.test("beacon node: the leaves of a state proof are read", async () => {
  const leaves = [hashOf("1"), hashOf("2")];
  const json = { version: "fulu", data: { type: "compactMulti", leaves, descriptor: "0x28f8" } };
  equal(await nodeWith(() => Response.json(json)).fetchStateProof("7", "0x28f8"), leaves);
  const bad = { ...json, data: { ...json.data, leaves: ["0x11"] } };
  await rejects(nodeWith(() => Response.json(bad)).fetchStateProof("7", "0x28f8"), isFault("malformed"));
});

Deno.test("beacon node: a period without an update is absence, not a lie", async () => {
  await rejects(nodeWith(() => Response.json([])).fetchPeriodUpdate(7n), isFault("not_found"));
  await rejects(nodeWith(() => Response.json({})).fetchPeriodUpdate(7n), isFault("malformed"));
});
