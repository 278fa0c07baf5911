import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { fromHex, keccak256, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  BlockHeaderError,
  type BlockHeaderErrorCode,
  encodeBlockHeader,
  evmBlockHeaderCodec,
  hashBlockHeader,
  parseBlockHeader,
  parseHashedBlock,
  readHeaderCommitment,
} from "../../../src/core/evm/block_header.ts";
import { readAmsterdamBlocks } from "../../consensus/clients/sync_committee/spec/vectors.ts";
import { decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import { readVector, type VectorNode } from "../../consensus/vector_node.ts";

const games = readVector("opstack-dispute-games").list("vectors");
const assertions = readVector("arbitrum-assertions").at("vectors");
const amsterdam = readVector("real/amsterdam-blocks");

/** Real headers with 21 and 16 fields, as JSON of a block. */
const real: { readonly json: VectorNode; readonly hash: string }[] = [
  ...games.map((game) => ({ json: game.at("l2_header"), hash: game.text("expected.l2_block_hash") })),
  {
    json: assertions.at("bold_arbitrum_sepolia.arbitrum_header"),
    hash: assertions.text("bold_arbitrum_sepolia.header_hash"),
  },
  {
    json: assertions.at("orbit_nodes_slot_check.l2_header"),
    hash: assertions.text("orbit_nodes_slot_check.l2_header_hash"),
  },
  { json: amsterdam.at("prague"), hash: amsterdam.text("prague.hash") },
];

Deno.test("block header: real headers of Base, Arbitrum, Orbit and reth have their hash", () => {
  for (const { json, hash } of real) {
    equal(hashBlockHeader(parseBlockHeader(json.json)), hash);
    const block = { ...Object(json.json), hash, transactions: [], uncles: [] };
    equal(parseHashedBlock(block), { header: parseBlockHeader(json.json), hash });
  }
});

Deno.test("block header: SCALE of the real OP stack headers is that of the vectors, both ways", () => {
  for (const game of games) {
    const header = parseBlockHeader(game.at("l2_header").json);
    const encoded = evmBlockHeaderCodec.enc(header);
    equal(toHex(encoded), game.text("codec_header_scale"));
    equal(decodeStrict(evmBlockHeaderCodec, encoded, "header"), header);
    equal(encoded.length, 714 + 1 + header.extraData.length);
  }
});

Deno.test("block header: a header of 16 fields is the same after SCALE, absent fields being undefined", () => {
  const header = parseBlockHeader(assertions.at("orbit_nodes_slot_check.l2_header").json);
  equal(header.requestsHash, undefined);
  equal(decodeStrict(evmBlockHeaderCodec, evmBlockHeaderCodec.enc(header), "header"), header);
  const withNulls = { ...Object(assertions.at("orbit_nodes_slot_check.l2_header").json), requestsHash: null };
  equal(parseBlockHeader(withNulls), header);
});

Deno.test("block header: each truncated SCALE prefix is refused", () => {
  const whole = fromHex(games[0]?.text("codec_header_scale") ?? "");
  for (let length = 0; length < whole.length; length++) {
    throws(() => decodeStrict(evmBlockHeaderCodec, whole.subarray(0, length), "header"), ScaleError);
  }
});

function refuses(json: unknown, code: BlockHeaderErrorCode, field: string): void {
  throws(
    () => parseHashedBlock(json),
    (error) => error instanceof BlockHeaderError && error.code === code && error.field === field,
    `${field} should be refused as ${code}`,
  );
}

Deno.test("block header: a block whose fields do not have its hash is refused, whichever field was changed", () => {
  for (const { json, hash } of real) {
    const block: Record<string, unknown> = { ...Object(json.json), hash };
    for (const [field, value] of Object.entries(block)) {
      const text = String(value);
      const last = text.endsWith("1") ? "2" : "1";
      refuses({ ...block, [field]: text.slice(0, -1) + last }, "hash_mismatch", "hash");
    }
    refuses({ ...block, extraData: "0x" }, "hash_mismatch", "hash");
  }
  refuses(
    { ...Object(real[0]?.json.json), requestsHash: undefined, hash: real[0]?.hash },
    "hash_mismatch",
    "hash",
  );
});

Deno.test("block header: what is no block is refused by the field that does not fit", () => {
  const block: Record<string, unknown> = { ...Object(real[0]?.json.json), hash: real[0]?.hash };
  for (const field of Object.keys(block)) refuses({ ...block, [field]: "0xzz" }, "malformed_json", field);
  for (const field of ["parentHash", "number", "logsBloom", "nonce", "hash"]) {
    const { [field]: _, ...rest } = block;
    refuses(rest, "malformed_json", field);
  }
  refuses({ ...block, gasLimit: "0x10000000000000000" }, "malformed_json", "gasLimit");
  refuses({ ...block, nonce: "0x00" }, "malformed_json", "nonce");
  refuses(null, "malformed_json", "");
});

Deno.test("block header: an absent field before a present one counts as the empty string", () => {
  const header = parseBlockHeader(real[0]?.json.json);
  const absent = hashBlockHeader({ ...header, blobGasUsed: undefined });
  // Zero is the empty string in RLP, and the real block used no blob gas.
  equal(header.blobGasUsed, 0n);
  equal(absent, hashBlockHeader(header));
});

Deno.test("block header: the last block of Prague and the first of Amsterdam have their hashes", () => {
  const { prague, amsterdam } = readAmsterdamBlocks();
  equal(parseHashedBlock(prague).header.slotNumber, undefined);
  const { header, hash } = parseHashedBlock(amsterdam);
  equal(header.slotNumber, 192n);
  const encoded = encodeBlockHeader(header);
  equal(hash, toHash256(keccak256(encoded)));
  const { stateRoot, number: blockNumber, timestampSec } = header;
  equal(readHeaderCommitment(encoded), { stateRoot, blockNumber, timestampSec });
  for (const bytes of [new Uint8Array(), encoded.subarray(1), Uint8Array.of(0xc1, 0x80)]) {
    equal(readHeaderCommitment(bytes), undefined);
  }
  for (const field of ["blockAccessListHash", "slotNumber"]) {
    refuses({ ...Object(amsterdam), [field]: undefined }, "hash_mismatch", "hash");
  }
});

Deno.test("block header: a header that the hub has no place for is not encoded for it", () => {
  const { header } = parseHashedBlock(readAmsterdamBlocks().amsterdam);
  throws(
    () => evmBlockHeaderCodec.enc(header),
    (error) =>
      error instanceof BlockHeaderError && error.code === "not_carried" &&
      error.field === "blockAccessListHash",
  );
});

Deno.test("block header: a mismatch in a block with an unknown field is of an unknown fork, a node's own field is none", () => {
  const { amsterdam } = readAmsterdamBlocks();
  const later = { ...Object(amsterdam), stateRoot: `0x${"12".repeat(32)}` };
  refuses(later, "hash_mismatch", "hash");
  refuses({ ...later, size: "0x1", milliTimestamp: "0x1", l1BlockNumber: "0x1" }, "hash_mismatch", "hash");
  refuses({ ...later, inclusionListRoot: "0x1" }, "unknown_fork", "inclusionListRoot");
  equal(parseHashedBlock({ ...Object(amsterdam), inclusionListRoot: "0x1" }).header.number, 192n);
});
