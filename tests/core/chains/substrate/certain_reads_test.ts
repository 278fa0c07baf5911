/** What may end a message is read at the node's final block, and its best block must not say otherwise. */
import assert from "node:assert/strict";
import type { ReadSince } from "../../../../src/core/chains/reads.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { requestMetadataCodec, requestReceiptCodec } from "../../../../src/core/ismp/host_state.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { childTrieKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { post } from "../../../../devnet/hub/deliveries.ts";
import type { HubChain } from "../../../../src/core/chains/hub.ts";
import { blockHashes, hashOf, headerJson, type Scripted, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();
const message = postMessage(post(1n));
const FINAL = 10;
const FINAL_SEC = 1_000;
const [ours, theirs] = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)];

/** A hub whose child trie is another at its final block than at its best one. */
function scriptTries(
  final: ReadonlyMap<string, string>,
  best: ReadonlyMap<string, string>,
): Scripted<HubChain> {
  return scriptHub({
    chain_getBlockHash: blockHashes(FINAL + 3),
    chain_getFinalizedHead: () => hashOf(`b${FINAL}`),
    chain_getHeader: (hash) => headerJson(hash === undefined ? FINAL + 3 : FINAL),
    childstate_getStorage: (_trie, key, at) => (at === undefined ? best : final).get(String(key)) ?? null,
    // The clock, and that there is a child trie; the best block is a minute later.
    state_getStorage: (_key, at) => toHex(u64.enc(BigInt(FINAL_SEC + (at === undefined ? 60 : 0)) * 1_000n)),
  });
}

const at = { height: BigInt(FINAL), timeSec: BigInt(FINAL_SEC) };
const unsure = { kind: "unsure" } as const;
const rows: readonly (readonly [string, (Uint8Array | undefined)[], ReadSince, unknown])[] = [
  ["a receipt in the final block", [ours, ours], at, { kind: "certain", value: ours }],
  ["none", [undefined, undefined], at, { kind: "certain", value: undefined }],
  ["one that is not final yet", [undefined, theirs], {}, unsure],
  ["another one at the best block", [ours, theirs], {}, unsure],
  ["a final block below the height", [ours, ours], { height: BigInt(FINAL) + 1n }, unsure],
  ["a final block before the time", [undefined, undefined], { timeSec: BigInt(FINAL_SEC) + 1n }, unsure],
];

for (const [name, [final, best], since, expected] of rows) {
  Deno.test(`certain reads: a receipt: ${name}`, async () => {
    const key = toHex(childTrieKeys.requestReceipt(message.commitment));
    const trie = (value: Uint8Array | undefined): ReadonlyMap<string, string> =>
      new Map(value === undefined ? [] : [[key, toHex(requestReceiptCodec.enc(value))]]);
    const { chain, run } = scriptTries(trie(final), trie(best));
    assert.deepEqual(await run(chain.certain.fetchCertainReceipts([message], since, signal)), [expected]);
  });
}

Deno.test("certain reads: a fee that was raised since the final block is not certain, nor is a request that came since", async () => {
  const key = toHex(childTrieKeys.requestCommitment(message.commitment));
  const trie = (fee: bigint): ReadonlyMap<string, string> => {
    const payer = hashOf("payer");
    const stored = { offchain: { leafIndex: 0n, pos: 0n }, fee: { payer, fee }, claimed: false };
    return new Map([[key, toHex(requestMetadataCodec.enc(stored))]]);
  };
  for (
    const [final, expected] of [[trie(5n), { kind: "certain", value: 5n }], [trie(4n), unsure], [
      new Map(),
      unsure,
    ]]
  ) {
    assert.ok(final instanceof Map);
    const { chain, run } = scriptTries(final, trie(5n));
    assert.deepEqual(await run(chain.certain.fetchCertainFees([message.commitment], at, signal)), [expected]);
  }
});
