import assert from "node:assert/strict";
import vector from "../../vectors/evm-consensus-hub-storage-keys.json" with { type: "json" };
import { concatBytes, fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  parseStateMachine,
  stateMachineIdCodec,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import { blake2Concat, storagePrefix } from "../../../src/core/ismp/storage_keys.ts";

/** SCALE of the parts of a key as the vector writes them: an id, and perhaps 20 or 32 bytes behind it. */
function keyParts(text: string | null): readonly Uint8Array[] {
  if (text === null) return [];
  const id = /StateMachineId\{(\S+), (\w{4})\}/.exec(text);
  assert.ok(id !== null);
  const [, stateMachine = "", consensusStateId = ""] = id;
  const first = stateMachineIdCodec.enc({
    stateMachine: parseStateMachine(stateMachine),
    consensusStateId: toConsensusStateId(consensusStateId),
  });
  const address = /0x[0-9a-f]{40}\b/.exec(text);
  if (address !== null) return [first, fromHex(address[0])];
  return text.includes("32 bytes") ? [first, new Uint8Array(32).fill(0x22)] : [first];
}

for (const { pallet, item, key, storage_key } of vector.keys) {
  Deno.test(`consensus storage keys: ${pallet}.${item} of ${key ?? "the pallet"} is where the vector says`, () => {
    const built = concatBytes(storagePrefix(pallet, item), ...keyParts(key).map(blake2Concat));
    assert.equal(toHex(built), storage_key);
  });
}

Deno.test("consensus storage keys: state machine ids encode and decode as the vector says", () => {
  for (const [text, scale] of Object.entries(vector.state_machine_id_scale)) {
    const [stateMachine = "", consensusStateId = ""] = text.split("/");
    const id = {
      stateMachine: parseStateMachine(stateMachine),
      consensusStateId: toConsensusStateId(consensusStateId),
    };
    assert.equal(toHex(stateMachineIdCodec.enc(id)), scale);
    assert.deepEqual(stateMachineIdCodec.dec(fromHex(scale)), id);
  }
});
