import assert from "node:assert/strict";
import { getResponseMessage } from "../../../../src/core/ismp/message.ts";
import { confirmUnknown } from "../../../../src/messaging/relay/deliver/profitability.ts";
import { outbound } from "../rounds.ts";
import { getRequest, setUp } from "../fixture.ts";

Deno.test("gone: an answer whose request one node does not know ends only when that is certain, a request never", async () => {
  const { fixture, relayer } = setUp();
  await fixture.blocks(2);
  const get = getRequest({ nonce: 7n, keys: [] });
  const refusal = { code: "unknown_message", detail: "UnknownMessage" } as const;
  const refused = [
    { message: getResponseMessage({ get, values: [] }), ...refusal },
    { message: fixture.message(), ...refusal },
    { message: fixture.message(), code: "module_failed", detail: "UnexpectedCall" } as const,
  ];
  const codes = async (): Promise<readonly string[]> => {
    const confirmed = await confirmUnknown(outbound(relayer), refused);
    return confirmed.map(({ code }) => code);
  };
  relayer.two.areWitnessesUp = false;
  assert.deepEqual(await codes(), ["not_ready", "not_ready", "module_failed"]);
  relayer.two.areWitnessesUp = true;
  assert.deepEqual(await codes(), ["unknown_message", "not_ready", "module_failed"]);
  relayer.two.faults.add("fetchCertainFees", { kind: "throw", code: "timeout" });
  assert.deepEqual(await codes(), ["not_ready", "not_ready", "module_failed"]);
});
