import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  type BscErrorCode,
  encodeExtraData,
  parseExtraData,
  type VoteAttestation,
} from "../../../../../src/consensus/clients/bsc/spec/extra_data.ts";
import {
  type BscConsensusState,
  bscConsensusStateCodec,
  type BscUpdate,
} from "../../../../../src/consensus/clients/bsc/spec/update.ts";
import {
  type BscHubView,
  verifyBscUpdate,
} from "../../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { type EvmBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import { changedHeaders, flipByte, flipHash } from "../../../rollup/spec/vectors.ts";
import {
  allVoted,
  chapel,
  distantTarget,
  enactment,
  hub,
  staging,
  stagingByEpochBlock,
  stateAt,
  states,
  twoThirdsVoted,
} from "./vectors.ts";

/** What differs from a step. */
interface Change {
  readonly change?: Partial<BscUpdate>;
  readonly state?: Partial<BscConsensusState>;
  readonly view?: Partial<BscHubView>;
}

interface Step {
  readonly trusted: BscConsensusState;
  readonly update: BscUpdate;
}

const stage: Step = { trusted: stateAt(0), update: staging };
const enact: Step = { trusted: stateAt(1), update: enactment };

function refuses(
  { trusted, update }: Step,
  code: BscErrorCode,
  what: string,
  { change, state, view }: Change = {},
): void {
  throws(
    () => verifyBscUpdate({ ...trusted, ...state }, { ...update, ...change }, { ...hub, ...view }),
    { name: "BscError", code },
    `${what} should be refused as ${code}`,
  );
}

/** The update's attested header with another attestation; undefined for none. */
function withVote(
  { attestedHeader }: BscUpdate,
  change: (attestation: VoteAttestation) => VoteAttestation | undefined,
): Partial<BscUpdate> {
  const parts = parseExtraData(chapel, attestedHeader);
  if (parts.attestation === undefined) throw new Error("No vote");
  const extraData = encodeExtraData({ ...parts, attestation: change(parts.attestation) });
  return { attestedHeader: { ...attestedHeader, extraData } };
}

Deno.test("BSC: real updates of Chapel have the known results", () => {
  for (const { node, trusted, update } of [allVoted, twoThirdsVoted]) {
    const { consensusState, commitment } = verifyBscUpdate(trusted, update, hub);
    const expected = node.at("expected");
    equal(consensusState.finalizedHash, expected.hash("finalized_hash"));
    equal(
      consensusState.nextValidators?.validators.length,
      Number(expected.integer("next_validators.count")),
    );
    equal(consensusState.nextValidators?.rotationBlock, expected.integer("next_validators.rotation_block"));
    equal(consensusState.currentEpoch, trusted.currentEpoch);
    const { number, timestampSec, stateRoot } = update.sourceHeader;
    equal(commitment, {
      height: { id: { stateMachine: "EVM-97", consensusStateId: "BSC0" }, height: number },
      commitment: { timestampSec, overlayRoot: undefined, stateRoot },
    });
  }
});

Deno.test("BSC: a real vote for a target that is not the child of the source is refused", () => {
  refuses(distantTarget, "not_adjacent", "distant target");
});

Deno.test("BSC: the synthetic rotation leads through the known states", () => {
  for (const [at, { trusted, update }] of [stage, enact].entries()) {
    const { consensusState } = verifyBscUpdate(trusted, update, hub);
    equal(toHex(bscConsensusStateCodec.enc(consensusState)), toHex(states[at + 1] ?? new Uint8Array(0)));
  }
});

Deno.test("BSC: the epoch's first header as source stages the same set without ancestry", () => {
  const { consensusState } = verifyBscUpdate(stateAt(0), stagingByEpochBlock, hub);
  equal(consensusState.nextValidators, stateAt(1).nextValidators);
  equal(consensusState.finalizedHeight, 2000n);
  refuses(
    { trusted: stateAt(0), update: stagingByEpochBlock },
    "ancestry",
    "ancestry for the epoch's first header",
    { change: { epochHeaderAncestry: staging.epochHeaderAncestry } },
  );
});

Deno.test("BSC: of the attested header the vote counts, and its number while a set is staged", () => {
  const { update } = enact;
  const voteless: EvmBlockHeader = { ...staging.targetHeader, number: update.attestedHeader.number };
  const { extraData } = update.attestedHeader;
  equal(
    verifyBscUpdate(enact.trusted, { ...update, attestedHeader: { ...voteless, extraData } }, hub)
      .consensusState,
    stateAt(2),
  );
  const numbered = (number: bigint): Partial<BscUpdate> => ({
    attestedHeader: { ...update.attestedHeader, number },
  });
  refuses(enact, "unknown_voter", "below the rotation", { change: numbered(2001n) });
  refuses(enact, "unknown_voter", "the epoch after", { change: numbered(3000n) });
});

Deno.test("BSC: no part of the vote can be changed", () => {
  for (const step of [stage, enact, allVoted, twoThirdsVoted]) {
    const { update, trusted } = step;
    const voting =
      (change: (vote: VoteAttestation["vote"]) => Partial<VoteAttestation["vote"]>) =>
      (a: VoteAttestation): VoteAttestation => ({ ...a, vote: { ...a.vote, ...change(a.vote) } });
    const none = `0x${"00".repeat(32)}` as const;
    const beyond = 1n << BigInt(trusted.nextValidators === undefined ? trusted.currentValidators.length : 7);
    const cases: [string, BscErrorCode, (attestation: VoteAttestation) => VoteAttestation | undefined][] = [
      ["no vote", "vote_missing", () => undefined],
      ["no source", "vote_missing", voting(() => ({ sourceHash: none }))],
      ["no target", "vote_missing", voting(() => ({ targetHash: none }))],
      ["another source", "source_hash", voting((vote) => ({ sourceHash: flipHash(vote.sourceHash) }))],
      ["another target", "target_hash", voting((vote) => ({ targetHash: flipHash(vote.targetHash) }))],
      ["another source number", "signature", voting(() => ({ sourceNumber: 1n }))],
      ["another target number", "signature", voting(() => ({ targetNumber: 1n }))],
      ["a voter beyond the set", "unknown_voter", (a) => ({ ...a, voters: a.voters | beyond })],
      ["no voters", "too_few_voters", (a) => ({ ...a, voters: 0n })],
      ["another signature", "signature", (a) => ({ ...a, signature: flipByte(a.signature, 95) })],
      ["no point", "signature", (a) => ({ ...a, signature: new Uint8Array(96) })],
    ];
    for (const [what, code, changed] of cases) {
      refuses(step, code, what, { change: withVote(update, changed) });
    }
  }
});

Deno.test("BSC: two thirds of the votes, rounded down, are enough; one less or another voter is refused", () => {
  const { update } = twoThirdsVoted;
  refuses(twoThirdsVoted, "too_few_voters", "five of nine", {
    change: withVote(update, (a) => ({ ...a, voters: a.voters & (a.voters - 1n) })),
  });
  refuses(twoThirdsVoted, "signature", "a voter exchanged", {
    change: withVote(update, (a) => ({ ...a, voters: 0x7bn })),
  });
  refuses(twoThirdsVoted, "signature", "a voter claimed in addition", {
    change: withVote(update, (a) => ({ ...a, voters: a.voters | 8n })),
  });
});

Deno.test("BSC: malformed extra data is refused", () => {
  const { attestedHeader } = allVoted.update;
  for (
    const extraData of [
      new Uint8Array(0),
      attestedHeader.extraData.with(33, 0x50),
      new Uint8Array(98).fill(9),
    ]
  ) {
    refuses(allVoted, "attested_extra_data", toHex(extraData), {
      change: { attestedHeader: { ...attestedHeader, extraData } },
    });
  }
});

Deno.test("BSC: an ancestry must lead from the epoch's first header to the source", () => {
  const ancestry = staging.epochHeaderAncestry;
  const broken: [string, readonly EvmBlockHeader[]][] = [
    ["first left out", ancestry.slice(1)],
    ["middle left out", ancestry.toSpliced(1, 1)],
    ["last left out", ancestry.slice(0, -1)],
    ["turned round", ancestry.toReversed()],
    ["source added", [...ancestry, staging.sourceHeader]],
    ...ancestry.flatMap((original, at): [string, readonly EvmBlockHeader[]][] =>
      changedHeaders(original).filter((_, field) => field % 7 === at).map((
        { what, header },
      ) => [`${at}: ${what}`, ancestry.with(at, header)])
    ),
  ];
  for (const [what, epochHeaderAncestry] of broken) {
    refuses(stage, "ancestry", what, { change: { epochHeaderAncestry } });
  }
});

Deno.test("BSC: a block of the next epoch is refused without the set that follows", () => {
  refuses(stage, "epoch_ahead", "no ancestry", { change: { epochHeaderAncestry: [] } });
});

Deno.test("BSC: what the hub holds decides", () => {
  refuses(stage, "stale_source", "known height", { state: { finalizedHeight: 2003n } });
  refuses(stage, "epoch_length_missing", "no epoch length", { view: { epochLength: undefined } });
  refuses(stage, "epoch_length_missing", "an epoch length of zero", { view: { epochLength: 0n } });
  refuses(stage, "ancestry", "another epoch length", { view: { epochLength: 999n } });
  const keys = stage.trusted.currentValidators;
  refuses(stage, "signature", "the set reversed", { state: { currentValidators: keys.toReversed() } });
  refuses(stage, "public_key", "keys that are no points", {
    state: { currentValidators: keys.map((key) => flipByte(key, 0).fill(0xff)) },
  });
  refuses(stage, "unknown_voter", "a set of one", { state: { currentValidators: keys.slice(0, 1) } });
  refuses(enact, "source_epoch", "a source before the epoch in which the set takes over", {
    change: { sourceHeader: { ...enactment.sourceHeader, number: 1999n } },
    state: { finalizedHeight: 1990n },
  });
});

Deno.test("BSC: two votes of opposite keys make no signature of nothing valid", () => {
  const key = stage.trusted.currentValidators[0] ?? new Uint8Array(0);
  const opposite = key.with(0, (key[0] ?? 0) ^ 0x20);
  const infinity = new Uint8Array(96).with(0, 0xc0);
  refuses(stage, "signature", "keys that cancel each other out", {
    state: { currentValidators: [key, opposite] },
    change: withVote(staging, (a) => ({ ...a, voters: 3n, signature: infinity })),
  });
});
