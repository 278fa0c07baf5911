import assert from "node:assert/strict";
import { findEndpointReasons } from "../../../src/core/rpc/endpoint_board.ts";
import type { RpcFaultCode } from "../../../src/core/rpc/call.ts";

const node = (host: string, isUp: boolean, lastFault?: RpcFaultCode) =>
  ({ host, isSigner: false, isUp, sinceMs: 7, lastFault }) as const;
const signer = (isUp: boolean, lastFault?: RpcFaultCode) => ({
  ...node("signer.example", isUp, lastFault),
  isSigner: true,
});

Deno.test("endpoint reasons: a chain is in the way when none of its endpoints answers, whatever its signer does", () => {
  assert.deepEqual(findEndpointReasons("EVM-1", []), []);
  assert.deepEqual(findEndpointReasons("EVM-1", [node("a", false), node("b", true), signer(true)]), []);
  const [reason, ...others] = findEndpointReasons("EVM-1", [
    node("a", false, "timeout"),
    node("b", false),
    signer(true),
  ]);
  assert.deepEqual([reason?.code, reason?.explanation, reason?.sinceMs, others], [
    "no_endpoint",
    "No endpoint of the chain answers: a (timeout), b (no answer).",
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
