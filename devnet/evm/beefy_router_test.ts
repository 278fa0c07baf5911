import assert from "node:assert/strict";
import { toFunctionSelector } from "viem";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { readVector } from "../../tests/consensus/vector_node.ts";
import { decodeVerified, startBeefyRouter } from "./beefy_router.ts";

const accepted = readVector("beefy-ecdsa-accepted").list("cases");
const rejected = readVector("beefy-ecdsa-rejected").list("cases");

Deno.test("the devnet's BEEFY contract answers every vector as the live one does", async (t) => {
  await using router = await startBeefyRouter();
  const { verify } = router;
  for (const vector of accepted) {
    await t.step(`accepts ${vector.text("name")}`, async () => {
      const outcome = await verify(toHex(vector.bytes("trusted_state.abi")), toHex(vector.bytes("proof")));
      assert.equal(outcome.kind, "returned", outcome.data);
      const [state, heights, setId] = decodeVerified(outcome.data);
      assert.equal(state, vector.text("expected.new_state_abi"));
      assert.equal(setId, vector.integer("expected.returned_authority_set_id"));
      const expected = vector.list("expected.intermediates").map((each) => ({
        stateMachineId: each.integer("stateMachineId"),
        height: each.integer("height"),
        commitment: {
          timestamp: each.integer("commitment.timestamp"),
          overlayRoot: each.text("commitment.overlayRoot"),
          stateRoot: each.text("commitment.stateRoot"),
        },
      }));
      assert.deepEqual(heights, expected);
    });
  }
  for (const vector of rejected) {
    await t.step(`refuses ${vector.text("name")} with ${vector.text("revert_name")}`, async () => {
      const outcome = await verify(toHex(vector.bytes("trusted_state_abi")), toHex(vector.bytes("proof")));
      assert.deepEqual(outcome, { kind: "reverted", data: vector.text("revert") });
    });
  }
});

Deno.test("names of the client's reverts have the selectors of the vectors", () => {
  for (const vector of rejected) {
    const name = vector.text("revert_name");
    if (!/^\w+\(\)$/.test(name)) continue;
    assert.equal(toFunctionSelector(name), vector.text("revert"), name);
  }
});
