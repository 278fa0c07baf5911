import assert from "node:assert/strict";
import { findEndpointReasons } from "../../../src/core/rpc/endpoint_board.ts";
import type { RpcFaultCode } from "../../../src/core/rpc/call.ts";
import type { EndpointState } from "../../../src/core/rpc/observed_endpoint.ts";

const common = { sinceMs: 7, lacking: [] };
const at = (host: string, state: EndpointState) => {
  const isUp = state.kind === "ready" || state.kind === "behind";
  return { host, isSigner: false, isUp, sinceMs: 7, lastFault: undefined, state } as const;
};
const node = (host: string, isUp: boolean, lastFault: RpcFaultCode = "timeout") => ({
  ...at(host, isUp ? { ...common, kind: "ready" } : { ...common, kind: "down", code: lastFault }),
  lastFault,
});
const signer = (isUp: boolean, lastFault?: RpcFaultCode) => ({
  ...node("signer.example", isUp, lastFault),
  isSigner: true,
});

Deno.test("endpoint reasons: a chain is in the way when none of its endpoints answers, whatever its signer does", () => {
  assert.deepEqual(findEndpointReasons("EVM-1", []), []);
  assert.deepEqual(findEndpointReasons("EVM-1", [node("a", false), node("b", true), signer(true)]), []);
  const [reason, ...others] = findEndpointReasons("EVM-1", [
    node("a", false, "timeout"),
    at("b", { ...common, kind: "unauthorized" }),
    signer(true),
  ]);
  assert.deepEqual([reason?.code, reason?.explanation, reason?.sinceMs, others], [
    "no_endpoint",
    "No endpoint of the chain answers: a (timeout), b (unauthorized).",
    7,
    [],
  ]);
});

Deno.test("endpoint reasons: a signer that does not sign is a reason of its own, with what it did instead", () => {
  const explain = (lastFault: RpcFaultCode): readonly (string | undefined)[] =>
    findEndpointReasons("EVM-1", [node("a", true), signer(false, lastFault)])
      .flatMap(({ code, chain, explanation }) => [code, chain, explanation]);
  assert.deepEqual(explain("unreachable"), [
    "signer_unavailable",
    "EVM-1",
    "The remote signer signer.example gives no signatures (unreachable): nothing is sent.",
  ]);
  assert.deepEqual(explain("wrong_signature"), [
    "signer_unavailable",
    "EVM-1",
    "The remote signer signer.example signs something else than it is asked to: nothing is sent.",
  ]);
});

Deno.test("endpoint reasons: an endpoint that is behind or refused is a warning while others work", () => {
  const readings = [
    at("b", { ...common, kind: "behind", blocks: 30, seconds: 60.4 }),
    at("c", { ...common, kind: "unauthorized" }),
    at("d", { ...common, kind: "wrong_chain" }),
    at("e", { ...common, kind: "throttled", untilMs: 9 }),
  ];
  const found = findEndpointReasons("EVM-1", readings);
  assert.deepEqual(found.map(({ code, explanation, isWarning }) => [code, explanation, isWarning]), [
    ["endpoint_behind", "The endpoint b is 30 blocks and 60 s behind another one: it is used last.", true],
    ["endpoint_unauthorized", "The endpoint c refuses everything: it is not used.", true],
    ["endpoint_wrong_chain", "The endpoint d serves another chain: it is not used.", true],
  ]);
});
