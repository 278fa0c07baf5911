import { deepStrictEqual as equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { encodeAbiParameters, encodeEventTopics } from "viem";
import calls from "../../vectors/evm-handler-calls.json" with { type: "json" };
import vectors from "../../vectors/evm-events.json" with { type: "json" };
import { fromHex, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import { evmHostAbi, hostEventTopics } from "../../../src/core/evm/host_abi.ts";
import { decodeHostLog, type HostLog, type RawLog } from "../../../src/core/evm/host_events.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { abiEncodeGet, abiEncodePost } from "../../../src/core/ismp/message.ts";
import { ismpToJson } from "../../../devnet/hub/rpc/ismp_json.ts";

const host = toAddress(calls.host);

function logOf(vector: { readonly topics: readonly string[]; readonly data: string }): RawLog {
  return {
    address: host,
    topics: vector.topics.map((topic) => toHex(fromHex(topic))),
    data: toHex(fromHex(vector.data)),
  };
}

function eventOf(log: HostLog): Extract<HostLog, { kind: "event" }>["event"] {
  ok(log.kind === "event", log.kind === "undecodable" ? log.error.message : log.kind);
  return log.event;
}

function strings(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      value,
      (_, item) => typeof item === "number" || typeof item === "bigint" ? String(item) : item,
    ),
  );
}

for (const vector of vectors.dispatched) {
  Deno.test(`host event vector: ${vector.name}`, () => {
    const event = eventOf(decodeHostLog(logOf(vector), host));
    ok(event.kind === "message");
    const { message } = event;
    equal(message.kind === "post" ? "PostRequestEvent" : "GetRequestEvent", vector.event);
    equal(message.commitment, vector.commitment);
    if (message.kind === "post") {
      const { request } = message;
      equal(toHex(abiEncodePost(request)), vector.abi_encoded);
      equal(strings(ismpToJson(request)), vector.request);
    } else {
      const { request } = message;
      equal(toHex(abiEncodeGet(request)), vector.abi_encoded);
      equal(strings(ismpToJson(request)), vector.request);
    }
  });
}

Deno.test("host event vector: a raised fee", () => {
  const event = eventOf(decodeHostLog(logOf(vectors.funded), host));
  equal(event, { kind: "funded", commitment: vectors.funded.of, fee: 5n });
});

const kindOf: Readonly<Record<string, string>> = {
  PostRequestHandled: "handled",
  GetRequestHandled: "handled",
  PostRequestTimeoutHandled: "timeoutHandled",
  GetRequestTimeoutHandled: "timeoutHandled",
  StateMachineUpdated: "updated",
  StateCommitmentVetoed: "vetoed",
  NewEpoch: "newEpoch",
};
const nameOf: Readonly<Record<string, string>> = { stateMachine: "stateMachineId", setId: "authoritySetId" };

for (const call of calls.calls) {
  for (const log of call.host_logs) {
    Deno.test(`host event vector: ${log.decoded.event} of ${call.name}`, () => {
      const decoded = decodeHostLog(logOf(log), host);
      // What only governance does is no event of relayers.
      if (log.decoded.event === "HostWithdrawal") return equal(decoded, { kind: "other" });
      const event = eventOf(decoded);
      const { kind, ...fields } = event;
      equal(kindOf[log.decoded.event], kind);
      const args: Record<string, unknown> = log.decoded.args;
      for (const [name, value] of Object.entries(fields)) {
        const expected = args[nameOf[name] ?? name];
        if (expected === undefined) continue;
        const shown = value instanceof Uint8Array ? toHex(value) : String(value);
        equal(shown.toLowerCase(), String(expected).toLowerCase(), name);
      }
    });
  }
}

Deno.test("host event: a log of another contract is none, whatever it says", () => {
  const [first] = vectors.dispatched;
  ok(first !== undefined);
  const log = { ...logOf(first), address: toAddress("11".repeat(20)) };
  equal(decodeHostLog(log, host), { kind: "other" });
});

Deno.test("host event: the letter case of the address does not matter", () => {
  const log = { ...logOf(vectors.funded), address: `0x${host.slice(2).toUpperCase()}` as const };
  equal(decodeHostLog(log, host).kind, "event");
});

Deno.test("host event: a topic that no event has is none", () => {
  equal(decodeHostLog({ address: host, topics: [], data: "0x" }, host), { kind: "other" });
  equal(decodeHostLog({ address: host, topics: [toHex(new Uint8Array(32))], data: "0x" }, host), {
    kind: "other",
  });
});

Deno.test("host event: every truncated log is undecodable", () => {
  const whole = vectors.dispatched.map(logOf);
  for (const log of whole) {
    const size = (log.data.length - 2) / 2;
    for (const length of [0, 31, 32, 64, size - 64]) {
      const cut: Hex = `0x${log.data.slice(2, 2 + 2 * length)}`;
      equal(decodeHostLog({ ...log, data: cut }, host).kind, "undecodable", `${length} of ${size} bytes`);
    }
  }
});

function postLog(fields: { source: string; nonce: bigint; timeout: bigint }): RawLog {
  const topics = encodeEventTopics({
    abi: evmHostAbi,
    eventName: "PostRequestEvent",
    args: { from: host },
  }).map((topic) => toHex(fromHex(String(topic))));
  const data = encodeAbiParameters(
    [
      { type: "string" },
      { type: "string" },
      { type: "bytes" },
      { type: "uint256" },
      { type: "uint256" },
      { type: "bytes" },
      { type: "uint256" },
    ],
    [fields.source, "EVM-1", "0x", fields.nonce, fields.timeout, "0x", 0n],
  );
  return { address: host, topics, data };
}

Deno.test("host event: the field that does not fit is named", () => {
  const cases = [
    [{ source: "EVM-1", nonce: 1n << 64n, timeout: 0n }, "nonce"],
    [{ source: "EVM-1", nonce: 0n, timeout: 1n << 64n }, "timeoutTimestamp"],
    [{ source: "evm-1", nonce: 0n, timeout: 0n }, "source"],
    [{ source: "EVM-01", nonce: 0n, timeout: 0n }, "source"],
  ] as const;
  for (const [fields, field] of cases) {
    const decoded = decodeHostLog(postLog(fields), host);
    ok(decoded.kind === "undecodable");
    equal(decoded.error.field, field);
    equal(decoded.error.event, "PostRequestEvent");
  }
});

Deno.test("host event: arbitrary data never throws", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(hostEventTopics)),
      fc.uint8Array({ maxLength: 400 }),
      (topic, data) => {
        const decoded = decodeHostLog({ address: host, topics: [topic], data: toHex(data) }, host);
        ok(decoded.kind !== "undecodable" || decoded.error.event !== undefined);
      },
    ),
  );
});
