/** Blocks of BSC mainnet of October 2026, around a change of its voters. */
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { toHex } from "../../../../../src/core/encoding/bytes.ts";
import { firstBlockOfNewSet } from "../../../../../src/consensus/clients/bsc/spec/bsc_network.ts";
import { BscError } from "../../../../../src/consensus/clients/bsc/spec/bsc_error.ts";
import type { VoteKeys } from "../../../../../src/consensus/clients/bsc/spec/consensus_state.ts";
import {
  parseExtraData,
  type VoteAttestation,
  voteMessage,
} from "../../../../../src/consensus/clients/bsc/spec/extra_data.ts";
import { isVoter, verifyBscUpdate } from "../../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { isSignedByVoters } from "../../../../../src/consensus/clients/bsc/spec/vote_signature.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import { flipByte, flipHash, readVector } from "../../../rollup/spec/vectors.ts";
import { headerOf, hub, mainnet } from "./vectors.ts";

const recorded = readVector("real/bsc-mainnet");
const headers = recorded.list("headers").map(headerOf);
const [epochHeader, firstVoted, source, attested] = headers;
if (epochHeader === undefined || firstVoted === undefined || source === undefined || attested === undefined) {
  throw new Error("Headers are missing");
}

const announcementOf = (extraData: Uint8Array, timestampSec: bigint) => {
  const { announcement } = parseExtraData(mainnet, { extraData, timestampSec });
  if (announcement === undefined) throw new Error("No announcement");
  return announcement;
};
const announced = announcementOf(epochHeader.extraData, epochHeader.timestampSec);
const keysOf = ({ validators }: typeof announced): VoteKeys => validators.map(({ voteKey }) => voteKey);
const after = keysOf(announced);
const before = keysOf(
  announcementOf(recorded.bytes("previous_epoch.extra_data"), epochHeader.timestampSec),
);

function isSigned(by: VoteKeys, { voters, signature, vote }: VoteAttestation): boolean {
  return isSignedByVoters(by.filter((_, index) => isVoter(voters, index)), signature, voteMessage(vote));
}

function votesOf(header: EvmBlockHeader): VoteAttestation {
  const { attestation } = parseExtraData(mainnet, header);
  if (attestation === undefined) throw new Error("No vote");
  return attestation;
}

Deno.test("BSC mainnet, 2026: headers with blobs and requests have their hashes", () => {
  equal(headers.map(hashBlockHeader), recorded.list("headers").map((header) => header.hash("hash")));
});

Deno.test("BSC mainnet, 2026: an epoch announces 21 voters with turns of 8 blocks", () => {
  equal([announced.validators.length, announced.turnLength], [21, 8]);
  equal(epochHeader.number % 1000n, 0n);
  equal(new Set(before.map(toHex)).difference(new Set(after.map(toHex))).size, 4);
});

Deno.test("BSC mainnet, 2026: the old voters sign until the chain's rotation, the new ones from then on", () => {
  const rotated = firstBlockOfNewSet(epochHeader.number, before.length, announced.turnLength ?? 0);
  for (const header of [firstVoted, source, attested]) {
    const votes = votesOf(header);
    const isNew = header.number >= rotated;
    equal(votes.vote.targetHash, header.parentHash);
    equal([isSigned(before, votes), isSigned(after, votes)], [!isNew, isNew], String(header.number));
  }
});

Deno.test("BSC mainnet, 2026: a vote that was changed in any part is not signed", () => {
  const votes = votesOf(attested);
  const { vote, voters, signature } = votes;
  equal(isSigned(after, votes), true);
  const changes: readonly Partial<VoteAttestation>[] = [
    { voters: voters ^ 1n },
    { signature: flipByte(signature, 95) },
    { vote: { ...vote, sourceNumber: vote.sourceNumber - 1n } },
    { vote: { ...vote, targetHash: flipHash(vote.targetHash) } },
  ];
  for (const change of changes) equal(isSigned(after, { ...votes, ...change }), false);
});

Deno.test("BSC mainnet, 2026: the vote finalizes the recorded source, and no update stands without its target", () => {
  const { vote } = votesOf(attested);
  equal([vote.sourceNumber, vote.sourceHash], [source.number, hashBlockHeader(source)]);
  const trusted = {
    currentValidators: after,
    nextValidators: undefined,
    finalizedHeight: epochHeader.number,
    finalizedHash: hashBlockHeader(epochHeader),
    currentEpoch: epochHeader.number / 1000n,
    chainId: 56,
  };
  const update = {
    sourceHeader: source,
    targetHeader: attested,
    attestedHeader: attested,
    epochHeaderAncestry: [],
  };
  const verify = (change: Partial<typeof update>): unknown =>
    verifyBscUpdate(trusted, { ...update, ...change }, { ...hub, network: mainnet });
  const refused = (code: string) => (error: unknown) => error instanceof BscError && error.code === code;
  throws(() => verify({}), refused("target_hash"));
  throws(() => verify({ sourceHeader: firstVoted }), refused("source_hash"));
  equal(recorded.text("previous_epoch.number"), String(epochHeader.number - 1000n));
});
