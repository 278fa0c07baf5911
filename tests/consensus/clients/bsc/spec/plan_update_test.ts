import { deepStrictEqual as equal } from "node:assert/strict";
import fc from "fast-check";
import type { BscConsensusState } from "../../../../../src/consensus/clients/bsc/spec/update.ts";
import {
  encodeExtraData,
  parseExtraData,
  type VoteAttestation,
} from "../../../../../src/consensus/clients/bsc/spec/extra_data.ts";
import { chooseVote, type VoteChoice } from "../../../../../src/consensus/clients/bsc/find_update.ts";
import {
  type BscPlan,
  type BscPlanInput,
  type BscSearch,
  isChainable,
  isSameSet,
  planBscUpdate,
} from "../../../../../src/consensus/clients/bsc/spec/plan_update.ts";
import type { EvmBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import {
  allVoted,
  chapel,
  distantTarget,
  enactment,
  staging,
  stagingByEpochBlock,
  stateAt,
  twoThirdsVoted,
} from "./vectors.ts";

/** Old set of five, new set of seven; the trusted block is 1999. */
const beforeEpoch = stateAt(0);
/** The same with the new set staged; the trusted block is 2003. */
const staged = stateAt(1);
/** The new set in force; the trusted block is 2010. */
const rotated = stateAt(2);

function facts(head: bigint, turnLength?: number): BscPlanInput {
  return { head, epochLength: 1000n, turnLength };
}

function searchOf(plan: BscPlan): BscSearch {
  if (plan.action !== "search") throw new Error(`Not a search: ${plan.reason}`);
  return plan;
}

/** Purpose, epoch, blocks to search and where to begin; or what is done instead, and why. */
function planned(state: BscConsensusState, head: bigint, turnLength?: number): string {
  const plan = planBscUpdate(state, facts(head, turnLength));
  if (plan.action !== "search") return `${plan.action}: ${plan.reason}`;
  const { purpose, epoch, attested, startAt } = plan;
  return `${purpose} ${epoch}: ${attested.from} to ${attested.to}, ${startAt}`;
}

const at = (state: BscConsensusState, finalizedHeight: bigint): BscConsensusState => ({
  ...state,
  finalizedHeight,
});
const sameSet: BscConsensusState = {
  ...staged,
  nextValidators: { validators: staged.currentValidators, rotationBlock: 2002n },
};

/** State, head of the chain and turn length, and the plan. */
type PlanCase = readonly [BscConsensusState, bigint, number | undefined, string];

const plans: Readonly<Record<string, readonly PlanCase[]>> = {
  "within the epoch the newest block comes first": [
    [rotated, 2500n, undefined, "advance 2: 2013 to 2500, highest"],
    [rotated, 2012n, undefined, "wait: no_new_block"],
    [rotated, 1999n, undefined, "wait: node_behind"],
  ],
  "the first two blocks of an epoch still vote for the epoch before": [
    [rotated, 3001n, undefined, "advance 2: 2013 to 3001, highest"],
    [rotated, 3002n, undefined, "stage 3: 3002 to 3002, lowest"],
  ],
  "a new client waits for the votes of the set that its block announces": [
    [at(rotated, 2000n), 2002n, 8, "wait: no_new_block"],
    [at(rotated, 2000n), 2032n, 8, "wait: rotation_not_reached"],
    [at(rotated, 2000n), 2033n, 8, "advance 2: 2033 to 2033, highest"],
    [at(rotated, 2000n), 2033n, undefined, "advance 2: 2003 to 2033, highest"],
    [at(rotated, 2001n), 2010n, 8, "advance 2: 2004 to 2010, highest"],
    [{ ...at(rotated, 0n), currentEpoch: 0n }, 9n, 8, "advance 0: 3 to 9, highest"],
  ],
  "in the next epoch its validators are staged first, by the shortest ancestry": [
    [beforeEpoch, 2005n, undefined, "stage 2: 2002 to 2005, lowest"],
    [beforeEpoch, 9000n, undefined, "stage 2: 2002 to 2500, lowest"],
    [beforeEpoch, 9000n, 200, "stage 2: 2002 to 2600, lowest"],
    [at(beforeEpoch, 2700n), 9000n, undefined, "stage 2: 2703 to 2998, lowest"],
    [at(beforeEpoch, 2001n), 9000n, undefined, "stage 2: 2004 to 2500, lowest"],
    [at(beforeEpoch, 2001n), 2003n, undefined, "wait: no_new_block"],
  ],
  "a staged set is put into force by its own votes, newest block of the epoch first": [
    [staged, 2600n, undefined, "enact 2: 2006 to 2600, highest"],
    [staged, 7000n, undefined, "enact 2: 2006 to 2999, highest"],
    // A source that is the epoch's first block never puts a set into force.
    [at(staged, 1990n), 2600n, undefined, "enact 2: 2003 to 2600, highest"],
  ],
  "with a known turn length the search begins where the chain itself rotates": [
    // 5 validators before: 8 * (2 + 1) + 1.
    [staged, 2600n, 8, "enact 2: 2025 to 2600, highest"],
    [staged, 2024n, 8, "wait: rotation_not_reached"],
    [staged, 2025n, 8, "enact 2: 2025 to 2025, highest"],
    [staged, 2005n, 8, "wait: no_new_block"],
    [sameSet, 2600n, 8, "enact 2: 2006 to 2600, highest"],
  ],
  "a client that nothing can move any more is named": [
    [at(staged, 2996n), 9000n, undefined, "enact 2: 2999 to 2999, highest"],
    [at(staged, 2997n), 9000n, undefined, "unrecoverable: enactment_missed"],
    [at(beforeEpoch, 2995n), 9000n, undefined, "stage 2: 2998 to 2998, lowest"],
    [at(beforeEpoch, 2996n), 9000n, undefined, "unrecoverable: staging_missed"],
    [at(beforeEpoch, 3000n), 9000n, undefined, "unrecoverable: epochs_skipped"],
  ],
};

for (const [what, cases] of Object.entries(plans)) {
  Deno.test(`BSC plan: ${what}`, () => {
    for (const [state, head, turnLength, expected] of cases) {
      equal(planned(state, head, turnLength), expected);
    }
  });
}

Deno.test("BSC plan: the set in force signs until the staged one is put into force; only steps of rotations are chained", () => {
  const steps = [
    [rotated, 2500n, rotated.currentValidators, false],
    [beforeEpoch, 2005n, beforeEpoch.currentValidators, true],
    [staged, 2600n, staged.nextValidators?.validators, true],
  ] as const;
  for (const [state, head, signers, isChained] of steps) {
    const plan = planBscUpdate(state, facts(head));
    equal([searchOf(plan).signers, isChainable(plan)], [signers, isChained]);
  }
});

const deciding = { network: chapel, epochLength: 1000n };

function choose(trusted: BscConsensusState, head: bigint, attested: EvmBlockHeader): VoteChoice {
  return chooseVote(searchOf(planBscUpdate(trusted, facts(head))), attested, {
    ...deciding,
    finalizedHeight: trusted.finalizedHeight,
  });
}

function voted(
  header: EvmBlockHeader,
  change: (attestation: VoteAttestation) => VoteAttestation | undefined,
): EvmBlockHeader {
  const parts = parseExtraData(chapel, header);
  if (parts.attestation === undefined) throw new Error("No vote");
  return { ...header, extraData: encodeExtraData({ ...parts, attestation: change(parts.attestation) }) };
}

const passed = (reason: string): VoteChoice | object => ({ action: "skip", reason });

function fetched(choice: VoteChoice): readonly unknown[] {
  if (choice.action !== "fetch") throw new Error(choice.reason);
  return [choice.vote.sourceNumber, choice.vote.targetNumber, choice.ancestry];
}

Deno.test("BSC votes: updates of the vectors are chosen with the ancestry that they have", () => {
  equal(fetched(choose(beforeEpoch, 2005n, staging.attestedHeader)), [2003n, 2004n, {
    from: 2000n,
    to: 2002n,
  }]);
  equal(fetched(choose(beforeEpoch, 2005n, stagingByEpochBlock.attestedHeader)), [2000n, 2001n, undefined]);
  equal(fetched(choose(staged, 2012n, enactment.attestedHeader)), [2010n, 2011n, undefined]);
  for (const { trusted, update } of [allVoted, twoThirdsVoted]) {
    const { number } = update.sourceHeader;
    equal(fetched(choose(trusted, number + 9n, update.attestedHeader)), [number, number + 1n, undefined]);
  }
});

Deno.test("BSC votes: blocks whose votes the hub would refuse are skipped", () => {
  const { attestedHeader } = enactment;
  const on = (header: EvmBlockHeader): VoteChoice => choose(staged, 2012n, header);
  equal(
    choose(distantTarget.trusted, 85576009n, distantTarget.update.attestedHeader),
    passed("not_adjacent"),
  );
  equal(on(voted(attestedHeader, () => undefined)), passed("no_vote"));
  equal(on({ ...attestedHeader, extraData: new Uint8Array(3) }), passed("malformed_extra_data"));
  equal(on({ ...attestedHeader, number: 2013n }), passed("outside_range"));
  equal(on({ ...attestedHeader, number: 2005n }), passed("outside_range"));
  equal(on(voted(attestedHeader, (a) => ({ ...a, voters: 128n }))), passed("unknown_voter"));
  // Four of seven are enough, as two thirds are rounded down.
  equal(on(voted(attestedHeader, (a) => ({ ...a, voters: 0b111n }))), passed("too_few_voters"));
  equal(on(voted(attestedHeader, (a) => ({ ...a, voters: 0b1111n }))).action, "fetch");
  const source = (sourceNumber: bigint) => (a: VoteAttestation): VoteAttestation => ({
    ...a,
    vote: { ...a.vote, sourceNumber, targetNumber: sourceNumber + 1n },
  });
  equal(on(voted(attestedHeader, source(2003n))), passed("source_not_newer"));
  equal(choose(at(staged, 1990n), 2012n, voted(attestedHeader, source(2000n))), passed("source_epoch"));
  equal(
    choose(beforeEpoch, 2005n, voted(staging.attestedHeader, source(1999n))),
    passed("source_not_newer"),
  );
  equal(
    choose(at(beforeEpoch, 1900n), 2005n, voted(staging.attestedHeader, source(1999n))),
    passed("source_epoch"),
  );
});

Deno.test("BSC votes: an ancestry of more headers than an update carries is not begun", () => {
  const plan: BscSearch = { ...searchOf(planBscUpdate(beforeEpoch, facts(2005n))), epoch: 1n };
  const choice = chooseVote(plan, staging.attestedHeader, { ...deciding, finalizedHeight: 1999n });
  equal(choice, passed("ancestry_too_long"));
});

Deno.test("BSC plan: sets are the same only with the same keys in the same places", () => {
  const keys = rotated.currentValidators;
  equal(isSameSet(keys, [...keys]), true);
  equal(isSameSet(keys, keys.toReversed()), false);
  equal(isSameSet(keys, keys.slice(1)), false);
});

Deno.test("BSC plan: a range is never empty, never at or below the trusted block and never beyond the head", () => {
  const height = fc.bigInt({ min: 0n, max: 9000n });
  const turns = fc.option(fc.integer({ min: 1, max: 64 }), { nil: undefined });
  fc.assert(
    fc.property(fc.boolean(), height, height, turns, (isStaged, finalizedHeight, head, turnLength) => {
      const state = at(isStaged ? staged : beforeEpoch, finalizedHeight);
      const plan = planBscUpdate(state, facts(head, turnLength));
      if (plan.action !== "search") return;
      const { from, to } = plan.attested;
      equal([from <= to, from > finalizedHeight + 2n, to <= head], [true, true, true]);
    }),
  );
});
