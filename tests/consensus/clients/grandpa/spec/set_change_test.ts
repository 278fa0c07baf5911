import assert from "node:assert/strict";
import { concatBytes, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  forcesChange,
  grandpaAuthoritiesCodec,
  scheduledAuthorities,
} from "../../../../../src/consensus/clients/grandpa/spec/message.ts";
import type { DigestItem } from "../../../../../src/core/substrate/header.ts";
import { u32, u64 } from "../../../../../src/core/encoding/scale.ts";

const authorities = [{ id: toHash256(new Uint8Array(32).fill(7)), weight: 1n }];
const change = concatBytes(grandpaAuthoritiesCodec.enc(authorities), u32.enc(0));

function item(index: number, data: Uint8Array, engine = "FRNK"): DigestItem {
  return { kind: "consensus", engine, data: concatBytes(Uint8Array.of(index), data) };
}

/** `ConsensusLog` of paritytech/polkadot-sdk: substrate/primitives/consensus/grandpa/src/lib.rs. */
const scheduled = item(1, change);
const forced = item(2, concatBytes(u32.enc(9), change));
const disabled = item(3, u64.enc(4n));

Deno.test("a scheduled change of the set is found behind what else GRANDPA announces in the same block", () => {
  assert.deepEqual(scheduledAuthorities({ digest: [scheduled] }), authorities);
  assert.deepEqual(scheduledAuthorities({ digest: [disabled, scheduled] }), authorities);
  assert.deepEqual(
    scheduledAuthorities({ digest: [item(1, change, "BABE"), forced, scheduled] }),
    authorities,
  );
});

Deno.test("forced changes, disabled voters and other engines change no set that clients follow", () => {
  const seal: DigestItem = { kind: "seal", engine: "FRNK", data: concatBytes(Uint8Array.of(1), change) };
  assert.equal(scheduledAuthorities({ digest: [] }), undefined);
  assert.equal(
    scheduledAuthorities({ digest: [disabled, forced, seal, item(1, change, "BEEF")] }),
    undefined,
  );
});

Deno.test("of changes that stand twice in a block the first counts; what GRANDPA does not write is skipped", () => {
  const others = [{ id: toHash256(new Uint8Array(32).fill(9)), weight: 4n }];
  const later = item(1, concatBytes(grandpaAuthoritiesCodec.enc(others), u32.enc(0)));
  const broken = item(1, Uint8Array.of(4));
  assert.deepEqual(scheduledAuthorities({ digest: [scheduled, later] }), authorities);
  assert.deepEqual(scheduledAuthorities({ digest: [broken, later, scheduled] }), others);
  assert.equal(scheduledAuthorities({ digest: [broken, item(1, new Uint8Array())] }), undefined);
  const longer = item(1, concatBytes(change, Uint8Array.of(1, 2, 3)));
  assert.deepEqual(scheduledAuthorities({ digest: [longer, later] }), authorities);
});

Deno.test("a forced change is found among what else stands in the digest, and nothing else is taken for one", () => {
  assert.equal(forcesChange({ digest: [disabled, forced] }), true);
  assert.equal(
    forcesChange({ digest: [scheduled, disabled, item(2, change, "BEEF"), item(2, change, "BABE")] }),
    false,
  );
  assert.equal(forcesChange({ digest: [item(2, Uint8Array.of(1, 2))] }), false);
  assert.equal(forcesChange({ digest: [{ kind: "seal", engine: "FRNK", data: Uint8Array.of(2) }] }), false);
});
