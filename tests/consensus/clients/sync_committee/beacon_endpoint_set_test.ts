import { deepStrictEqual as equal, rejects, throws } from "node:assert/strict";
import { RpcFault, type RpcFaultCode } from "../../../../src/core/rpc/call.ts";
import { RestEndpoint } from "../../../../src/consensus/rest/rest_endpoint.ts";
import { BeaconEndpointSet } from "../../../../src/consensus/clients/sync_committee/beacon_endpoint_set.ts";
import { BeaconNode } from "../../../../src/consensus/clients/sync_committee/beacon_node.ts";
import {
  ethereumMainnet,
  sepolia,
} from "../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";

const never = new AbortController().signal;
const route = "things";

/** Nodes by name, which serve nothing. */
function endpointSetOf(names: readonly string[], clock = new FakeClock()): BeaconEndpointSet {
  const fetch = (): Promise<Response> => Promise.resolve(new Response("", { status: 404 }));
  const endpoints = names.map((name) =>
    new RestEndpoint({ fetch, clock }, { url: `http://${name}`, chain: "EVM-1" })
  );
  const deps = { clock, randomness: fixedRandomness(0), log: new RecordedLog(), network: sepolia };
  return new BeaconEndpointSet(deps, evmStateMachine(sepolia.chainId), endpoints);
}

/** Makes a node lack the route. */
async function deny(endpointSet: BeaconEndpointSet, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) {
    const faults = Object.fromEntries(
      endpointSet.endpoints.map((each): [string, RpcFaultCode[]] => [
        each.host,
        [each.host === host ? "missing_method" : "refused"],
      ]),
    );
    await catchFault(endpointSet.ask({ route }, scripted(faults).work, never));
  }
}

/** Work that fails by script and notes whom it was done with. */
function scripted(faults: Readonly<Record<string, RpcFaultCode[]>>): {
  readonly asked: string[];
  readonly work: (node: BeaconNode) => Promise<string>;
} {
  const asked: string[] = [];
  return {
    asked,
    work: ({ endpoint }) => {
      asked.push(endpoint.host);
      const code = faults[endpoint.host]?.shift();
      return code === undefined
        ? Promise.resolve(endpoint.host)
        : Promise.reject(endpoint.fault(code, route, { detail: "by script" }));
    },
  };
}

Deno.test("beacon endpoint set: the first endpoint is asked, the others where it fails, cannot or lies", async () => {
  for (const code of ["server_error", "not_found", "missing_method", "malformed", "refused"] as const) {
    const { asked, work } = scripted({ a: [code] });
    const told: string[] = [];
    const onFault = (fault: RpcFault): void => void told.push(fault.code);
    equal(await endpointSetOf(["a", "b"]).ask({ route, onFault }, work, never), "b");
    equal([asked, told], [["a", "b"], [code]]);
  }
});

Deno.test("beacon endpoint set: each is asked once, and the fault names every host with its code", async () => {
  const clock = new FakeClock();
  const many = (code: RpcFaultCode): RpcFaultCode[] => Array<RpcFaultCode>(9).fill(code);
  const { asked, work } = scripted({ a: many("not_found"), b: many("server_error") });
  const fault = await clock.run(catchFault(endpointSetOf(["a", "b"], clock).ask({ route }, work, never)));
  equal([fault.code, fault.where.endpointHost], ["server_error", "a, b"]);
  equal(fault.detail, "a: not_found; b: server_error");
  equal(asked, ["a", "b"]);
  const absent = scripted({ a: many("missing_method"), b: many("not_found") });
  equal((await catchFault(endpointSetOf(["a", "b"]).ask({ route }, absent.work, never))).code, "not_found");
  equal(absent.asked, ["a", "b"]);
});

Deno.test("beacon endpoint set: an endpoint that does badly rests, and is tried again later", async () => {
  const clock = new FakeClock();
  const endpointSet = endpointSetOf(["a", "b"], clock);
  const { asked, work } = scripted({ a: ["throttled"] });
  for (let look = 0; look < 2; look++) equal(await endpointSet.ask({ route }, work, never), "b");
  equal(asked, ["a", "b", "b"]);
  await clock.advance(1001);
  equal(await endpointSet.ask({ route }, work, never), "a");
});

Deno.test("beacon endpoint set: when all rest for long that is reported at once", async () => {
  const clock = new FakeClock();
  const endpointSet = endpointSetOf(["a"], clock);
  const { asked, work } = scripted({ a: Array<RpcFaultCode>(20).fill("server_error") });
  for (let look = 0; look < 3; look++) {
    await clock.run(catchFault(endpointSet.ask({ route }, work, never)));
    await clock.advance(60_000);
  }
  await clock.run(catchFault(endpointSet.ask({ route }, work, never)));
  const [count, now] = [asked.length, clock.now()];
  equal((await catchFault(endpointSet.ask({ route }, work, never))).code, "server_error");
  equal([asked.length, clock.now()], [count, now]);
});

Deno.test("beacon endpoint set: a route that an endpoint lacks is asked of it last, or not at all, and later again", async () => {
  const clock = new FakeClock();
  const endpointSet = endpointSetOf(["a", "b"], clock);
  await deny(endpointSet, "a");
  const { asked, work } = scripted({ b: ["not_found", "not_found"] });
  equal(await endpointSet.ask({ route, subject: "7" }, work, never), "a");
  equal(asked, ["b", "a"]);
  const fault = await catchFault(endpointSet.ask({ route, subject: "7", asksAgain: false }, work, never));
  equal([fault.code, asked.slice(2)], ["not_found", ["b"]]);
  equal(endpointSet.mayServe(route), true);
  await deny(endpointSet, "a", "b");
  equal(endpointSet.mayServe(route), false);
  equal((await catchFault(endpointSet.ask({ route, asksAgain: false }, work, never))).code, "missing_method");
  await clock.advance(10 * 60_000);
  equal(await endpointSet.ask({ route, asksAgain: false }, work, never), "a");
});

Deno.test("beacon endpoint set: a route that all lacked is asked of all, and its fault names them", async () => {
  const endpointSet = endpointSetOf(["a", "b"]);
  await deny(endpointSet, "a", "b");
  const without = await catchFault(endpointSet.ask({ route, asksAgain: false }, scripted({}).work, never));
  equal([without.code, without.where.endpointHost], ["missing_method", "a, b"]);
  const { asked, work } = scripted({ a: ["refused"] });
  equal(await endpointSet.ask({ route }, work, never), "b");
  equal(asked, ["a", "b"]);
});

Deno.test("beacon endpoint set: an error that is no endpoint fault is rethrown", async () => {
  const defect = new TypeError("defect");
  await rejects(endpointSetOf(["a", "b"]).ask({ route }, () => Promise.reject(defect), never), defect);
  throws(() => endpointSetOf([]), RangeError);
});

const hashOf = (digit: string): Hash256 => `0x${digit.repeat(64)}`;

function nodeWith(answer: () => Response): BeaconNode {
  const deps = { fetch: () => Promise.resolve(answer()), clock: new FakeClock() };
  const endpoint = new RestEndpoint(deps, { url: "http://node.test", chain: "EVM-1" });
  return new BeaconNode(endpoint, { network: ethereumMainnet, signal: never });
}

Deno.test("beacon node: the leaves of a state proof are read", async () => {
  const leaves = [hashOf("1"), hashOf("2")];
  const json = { version: "fulu", data: { type: "compactMulti", leaves, descriptor: "0x28f8" } };
  equal(await nodeWith(() => Response.json(json)).fetchStateProof("7", "0x28f8"), leaves);
  const bad = { ...json, data: { ...json.data, leaves: ["0x11"] } };
  await rejects(nodeWith(() => Response.json(bad)).fetchStateProof("7", "0x28f8"), { code: "malformed" });
});

Deno.test("beacon node: a period without an update is absence, not a lie", async () => {
  await rejects(nodeWith(() => Response.json([])).fetchPeriodUpdate(7n), { code: "not_found" });
  await rejects(nodeWith(() => Response.json({})).fetchPeriodUpdate(7n), { code: "malformed" });
});
