/** State proofs of a node that refuses more slots than Geth does. */
import assert from "node:assert/strict";
import { toRlp } from "viem";
import { fromHex, keccak256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { EMPTY_NODE, EMPTY_ROOT } from "../../../../src/core/merkle/patricia.ts";
import { ScriptedError } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { blockHash, chainAt, host, node } from "./scripted_node.ts";

/** A state with the host alone, whose storage is empty. */
const account = toRlp(["0x01", "0x", toHex(EMPTY_ROOT), blockHash]);
const leaf = toRlp([`0x20${toHex(keccak256(fromHex(host))).slice(2)}`, account]);
const stateRoot = toHash256(keccak256(fromHex(leaf)));

for (const [count, asked] of [[1, [1]], [1_024, [1_024]], [2_500, [1_024, 1_024, 452]]] as const) {
  Deno.test(`proofs: ${count} slots of one contract are asked for in parts of at most 1,024 and proved together`, async () => {
    await using rpc = node({
      eth_getProof: ([address, slots]) => {
        if (!Array.isArray(slots) || slots.length > 1_024) {
          return new ScriptedError(-32602, "too many slots (max 1024)");
        }
        const storageProof = slots.map((key) => ({ key, value: "0x0", proof: [toHex(EMPTY_NODE)] }));
        return { address, accountProof: [leaf], storageHash: toHex(EMPTY_ROOT), storageProof };
      },
    });
    const { chain } = chainAt([rpc]);
    const keys = Array.from(
      { length: count },
      (_, index) => fromHex(`0x${index.toString(16).padStart(64, "0")}`),
    );
    assert.ok((await chain.proofs.proveState(keys, { height: 9n, stateRoot }, never)).length > 0);
    const parts = rpc.calls.filter(({ method }) => method === "eth_getProof");
    assert.deepEqual(parts.map(({ params: [, slots] }) => Object(slots).length), asked);
  });
}
