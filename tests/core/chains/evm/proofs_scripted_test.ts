/** State proofs of a node that refuses more slots than Geth does. */
import assert from "node:assert/strict";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import { ScriptedError } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { chainAt, hostStateRoot as stateRoot, node, proveEmpty } from "./scripted_node.ts";

for (const [count, asked] of [[1, [1]], [1_024, [1_024]], [2_500, [1_024, 1_024, 452]]] as const) {
  Deno.test(`proofs: ${count} slots of one contract are asked for in parts of at most 1,024 and proved together`, async () => {
    await using rpc = node({
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
