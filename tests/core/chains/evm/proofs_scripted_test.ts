/** State proofs of nodes that refuse more slots than Geth does, or now and then. */
import assert from "node:assert/strict";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import { faultWith } from "../../../support/rpc_faults.ts";
import { ScriptedError } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { chainAt, hostStateRoot as stateRoot, node, proveEmpty } from "./scripted_node.ts";

for (const [count, asked] of [[1, [1]], [1_024, [1_024]], [2_500, [1_024, 1_024, 452]]] as const) {
  Deno.test(`proofs: ${count} slots of one contract are asked for in parts of at most 1,024 and proved together`, async () => {
    const rpc = node({
      eth_getProof: (params, self) =>
        Object(params[1]).length > 1_024
          ? new ScriptedError(-32602, "too many slots (max 1024)")
          : proveEmpty(params, self),
    });
    const keys = Array.from(
      { length: count },
      (_, index) => fromHex(`0x${index.toString(16).padStart(64, "0")}`),
    );
    const proof = await chainAt([rpc]).chain.proofs.proveState(keys, { height: 9n, stateRoot }, never);
    assert.ok(proof.length > 0);
    const parts = rpc.calls.filter(({ method }) => method === "eth_getProof");
    assert.deepEqual(parts.map(({ params: [, slots] }) => Object(slots).length), asked);
  });
}

Deno.test("proofs: a single refusal is of one node behind a URL; that none is given counts when it is refused again", async () => {
  let asked = 0;
  const rare = node({
    eth_getBlockByNumber: () => ({ number: "0x9", hash: stateRoot, timestamp: "0x10", stateRoot }),
    eth_getProof: (params, self) =>
      asked++ % 2 === 0 ? new ScriptedError(-32019, "block is out of range") : proveEmpty(params, self),
  });
  const { proofChecks } = chainAt([rare]).chain;
  await proofChecks.requireProofs(9n, never);
  rare.on("eth_getProof", () => new ScriptedError(-32000, "this is not for you"));
  await assert.rejects(proofChecks.requireProofs(9n, never), faultWith("refused"));
});
