import { readVector } from "../../../vector_node.ts";
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import fc from "fast-check";
import { fromHex, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  type BscExtraData,
  encodeExtraData,
  type ExtraDataErrorCode,
  firstBlockOfNewSet,
  isSignedByVoters,
  parseExtraData,
  type VoteAttestation,
  voteMessage,
} from "../../../../../src/consensus/clients/bsc/spec/extra_data.ts";
import { allVoted, chapel, headerOf, mainnet, vector } from "./vectors.ts";
import type { VoteKeys } from "../../../../../src/consensus/clients/bsc/spec/update.ts";
import { isVoter } from "../../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { hashBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import { flipByte, flipHash } from "../../../rollup/spec/vectors.ts";

const epochNode = vector("mainnet_epoch_extra_data");
const afterBohr = mainnet.bohrTimestampSec;

function refuses(extraData: Uint8Array, code: ExtraDataErrorCode, timestampSec = afterBohr): void {
  throws(
    () => parseExtraData(mainnet, { extraData, timestampSec }),
    { name: "ExtraDataError", code },
    toHex(extraData),
  );
}

/** Vanity and seal around `body`. */
function around(body: Uint8Array | string): Uint8Array {
  const inner = typeof body === "string" ? fromHex(body) : body;
  return Uint8Array.from([...new Uint8Array(32), ...inner, ...new Uint8Array(65)]);
}

Deno.test("BSC extra data: a mainnet epoch header announces 21 validators and a turn length", () => {
  const extraData = epochNode.bytes("extra_data");
  const parsed = parseExtraData(mainnet, { extraData, timestampSec: afterBohr });
  const expected = epochNode.at("expected");
  equal(parsed.announcement, {
    turnLength: Number(expected.integer("turn_length")),
    validators: expected.list("validators_sorted").map((validator) => ({
      address: validator.address("address"),
      voteKey: validator.bytes("bls"),
    })),
  });
  const vote = {
    sourceNumber: expected.integer("vote.source_number"),
    sourceHash: expected.hash("vote.source_hash"),
    targetNumber: expected.integer("vote.target_number"),
    targetHash: expected.hash("vote.target_hash"),
  };
  equal(parsed.attestation, {
    voters: expected.integer("vote_address_set"),
    signature: expected.bytes("agg_signature"),
    vote,
    extra: new Uint8Array(0),
  });
  equal(voteMessage(vote), expected.hash("vote_message_keccak"));
  equal(toHex(encodeExtraData(parsed)), toHex(extraData));
});

Deno.test("BSC extra data: before Bohr an epoch header has no turn length", () => {
  const extraData = around("01" + "aa".repeat(20) + "bb".repeat(48));
  const parsed = parseExtraData(mainnet, { extraData, timestampSec: afterBohr - 1n });
  equal(parsed.announcement?.turnLength, undefined);
  equal(parsed.announcement?.validators.length, 1);
  equal(toHex(encodeExtraData(parsed)), toHex(extraData));
  refuses(extraData, "validators_truncated");
});

Deno.test("BSC extra data: validators are put in the order of their addresses", () => {
  const entry = (digits: string): string => digits.repeat(68);
  const parsed = parseExtraData(mainnet, {
    extraData: around("03" + entry("cc") + entry("0a") + entry("bb") + "08"),
    timestampSec: afterBohr,
  });
  equal(parsed.announcement?.validators.map(({ address }) => address.slice(2, 4)), ["0a", "bb", "cc"]);
  equal(parsed.announcement?.turnLength, 8);
});

Deno.test("BSC extra data: too few bytes for the parts are refused", () => {
  for (const length of [0, 1, 96]) refuses(new Uint8Array(length), "too_short");
  const body = epochNode.bytes("extra_data").subarray(32, -65);
  const announced = 2 + 21 * 68;
  for (let length = 1; length < announced; length++) {
    refuses(around(body.subarray(0, length)), "validators_truncated");
  }
  for (let length = announced + 1; length < body.length; length++) {
    refuses(around(body.subarray(0, length)), "malformed_attestation");
  }
});

Deno.test("BSC extra data: bytes after the attestation are ignored, as on the hub", () => {
  const body = allVoted.update.attestedHeader.extraData.subarray(32, -65);
  const longer = around(Uint8Array.from([...body, 1, 2, 3]));
  equal(
    parseExtraData(chapel, { extraData: longer, timestampSec: afterBohr }).attestation,
    parseExtraData(chapel, allVoted.update.attestedHeader).attestation,
  );
});

Deno.test("BSC extra data: an attestation of another shape is refused", () => {
  const signature = "b860" + "11".repeat(96);
  const hash = "a0" + "22".repeat(32);
  const list = (prefix: string, content: string): string =>
    prefix + (content.length / 2).toString(16) + content;
  const attestation = (
    parts: { voters?: string; signature?: string; vote?: string; extra?: string },
  ): string =>
    list(
      "f8",
      (parts.voters ?? "03") + (parts.signature ?? signature) +
        (parts.vote ?? list("f8", "05" + hash + "06" + hash)) + (parts.extra ?? "80"),
    );
  equal(
    parseExtraData(mainnet, { extraData: around(attestation({})), timestampSec: afterBohr }).attestation
      ?.voters,
    3n,
  );
  for (
    const parts of [
      { voters: "00" },
      { voters: "820003" },
      { voters: "89" + "01".repeat(9) },
      { voters: "c103" },
      { signature: "b85f" + "11".repeat(95) },
      { vote: hash },
      { vote: list("f8", "05" + hash + "06" + hash + "80") },
      { vote: list("f8", "05" + hash + "06" + "9f" + "22".repeat(31)) },
      { extra: "" },
      { extra: "8080" },
      { extra: "c0" },
    ]
  ) refuses(around(attestation(parts)), "malformed_attestation");
});

Deno.test("BSC extra data: any parts survive", () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
    fc.record(fields, { noNullPrototype: true });
  const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  const hash = bytes(32).map(toHex);
  const validator = record({ address: bytes(20).map(toHex), voteKey: bytes(48) });
  const parts: fc.Arbitrary<BscExtraData> = record({
    vanity: bytes(32),
    announcement: fc.option(
      record({
        validators: fc.uniqueArray(validator, { maxLength: 30, selector: ({ address }) => address })
          .map((list) => list.sort((a, b) => (a.address < b.address ? -1 : 1))),
        turnLength: fc.integer({ min: 0, max: 255 }),
      }),
      { nil: undefined },
    ),
    attestation: fc.option(
      record({
        voters: u64,
        signature: bytes(96),
        vote: record({ sourceNumber: u64, sourceHash: hash, targetNumber: u64, targetHash: hash }),
        extra: fc.uint8Array({ maxLength: 20 }),
      }),
      { nil: undefined },
    ),
    seal: bytes(65),
  });
  fc.assert(fc.property(parts, (value) => {
    equal(
      parseExtraData(mainnet, { extraData: encodeExtraData(value), timestampSec: afterBohr }),
      value,
    );
  }));
});

const recorded = readVector("real/bsc-mainnet");
const headers = recorded.list("headers").map(headerOf);
const epochBlock = headers[0]?.number ?? 0n;

/** Announcement and votes of extra data of mainnet; both are empty where there are none. */
function partsOf(
  extraData: Uint8Array,
): Pick<BscExtraData, "attestation"> & { readonly keys: VoteKeys; readonly turnLength: number } {
  const { announcement, attestation } = parseExtraData(mainnet, { extraData, timestampSec: afterBohr });
  const keys: VoteKeys = announcement?.validators.map(({ voteKey }) => voteKey) ?? [];
  return { keys, turnLength: announcement?.turnLength ?? 0, attestation };
}
const before = partsOf(recorded.bytes("previous_epoch.extra_data")).keys;
const { keys: after, turnLength } = partsOf(headers[0]?.extraData ?? new Uint8Array(0));

function isSigned(by: VoteKeys, { voters, signature, vote }: VoteAttestation): boolean {
  return isSignedByVoters(by.filter((_, index) => isVoter(voters, index)), signature, voteMessage(vote));
}

Deno.test("BSC mainnet, 2026: an epoch announces 21 voters with turns of 8 blocks, in headers that have their hashes", () => {
  equal(headers.map(hashBlockHeader), recorded.list("headers").map((header) => header.hash("hash")));
  equal(epochBlock, recorded.integer("previous_epoch.number") + 1000n);
  equal([after.length, turnLength], [21, 8]);
  equal(new Set(before.map(toHex)).difference(new Set(after.map(toHex))).size, 4);
});

Deno.test("BSC mainnet, 2026: the old voters sign until the chain's rotation, the new ones from then on", () => {
  const rotated = firstBlockOfNewSet(epochBlock, before.length, turnLength);
  for (const { extraData, number, parentHash } of headers.slice(1)) {
    const { attestation } = partsOf(extraData);
    if (attestation === undefined) throw new Error("No vote");
    equal([attestation.vote.targetNumber, attestation.vote.targetHash], [number - 1n, parentHash]);
    const isNew = number >= rotated;
    equal([isSigned(before, attestation), isSigned(after, attestation)], [!isNew, isNew], String(number));
    const { vote, voters, signature } = attestation;
    const changes: readonly Partial<VoteAttestation>[] = [
      { voters: voters ^ 1n },
      { signature: flipByte(signature, 95) },
      { vote: { ...vote, sourceNumber: vote.sourceNumber - 1n } },
      { vote: { ...vote, targetHash: flipHash(vote.targetHash) } },
    ];
    for (const change of changes) {
      equal(isSigned(isNew ? after : before, { ...attestation, ...change }), false);
    }
  }
});
