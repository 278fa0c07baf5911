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

function range(plan: BscPlan): readonly unknown[] {
  const { purpose, epoch, attested, startAt } = searchOf(plan);
  return [purpose, epoch, attested.from, attested.to, startAt];
}

const wait = (reason: string): object => ({ action: "wait", reason });
const unrecoverable = (reason: string): object => ({ action: "unrecoverable", reason });

Deno.test("BSC plan: within the epoch the newest block comes first", () => {
  const plan = planBscUpdate(rotated, facts(2500n));
  equal(range(plan), ["advance", 2n, 2013n, 2500n, "highest"]);
  equal(searchOf(plan).signers, rotated.currentValidators);
  equal(isChainable(plan), false);
  equal(planBscUpdate(rotated, facts(2012n)), wait("no_new_block"));
  equal(planBscUpdate(rotated, facts(1999n)), wait("node_behind"));
});

Deno.test("BSC plan: the first two blocks of an epoch still vote for the epoch before", () => {
  equal(range(planBscUpdate(rotated, facts(3001n))), ["advance", 2n, 2013n, 3001n, "highest"]);
});

Deno.test("BSC plan: a new client waits for the votes of the set that its block announces", () => {
  const initial = { ...rotated, finalizedHeight: 2000n };
  equal(planBscUpdate(initial, facts(2002n, 8)), wait("no_new_block"));
  equal(planBscUpdate(initial, facts(2032n, 8)), wait("rotation_not_reached"));
  equal(range(planBscUpdate(initial, facts(2033n, 8))), ["advance", 2n, 2033n, 2033n, "highest"]);
  equal(range(planBscUpdate(initial, facts(2033n))), ["advance", 2n, 2003n, 2033n, "highest"]);
  const moved = { ...rotated, finalizedHeight: 2001n };
  equal(range(planBscUpdate(moved, facts(2010n, 8))), ["advance", 2n, 2004n, 2010n, "highest"]);
  const genesis = { ...rotated, currentEpoch: 0n, finalizedHeight: 0n };
  equal(range(planBscUpdate(genesis, facts(9n, 8))), ["advance", 0n, 3n, 9n, "highest"]);
});

Deno.test("BSC plan: in the next epoch its validators are staged first, by the shortest ancestry", () => {
  const plan = planBscUpdate(beforeEpoch, facts(2005n));
  equal(range(plan), ["stage", 2n, 2002n, 2005n, "lowest"]);
  equal(searchOf(plan).signers, beforeEpoch.currentValidators);
  equal(isChainable(plan), true);
  equal(range(planBscUpdate(beforeEpoch, facts(9000n))), ["stage", 2n, 2002n, 2500n, "lowest"]);
  const long = facts(9000n, 200);
  equal(range(planBscUpdate(beforeEpoch, long)), ["stage", 2n, 2002n, 2600n, "lowest"]);
  const late = { ...beforeEpoch, finalizedHeight: 2700n };
  equal(range(planBscUpdate(late, facts(9000n))), ["stage", 2n, 2703n, 2998n, "lowest"]);
  const later = { ...beforeEpoch, finalizedHeight: 2001n };
  equal(range(planBscUpdate(later, facts(9000n))), ["stage", 2n, 2004n, 2500n, "lowest"]);
  equal(planBscUpdate(later, facts(2003n)), wait("no_new_block"));
});

Deno.test("BSC plan: a staged set is put into force by its own votes, newest block of the epoch first", () => {
  const plan = planBscUpdate(staged, facts(2600n));
  equal(range(plan), ["enact", 2n, 2006n, 2600n, "highest"]);
  equal(searchOf(plan).signers, staged.nextValidators?.validators);
  equal(isChainable(plan), true);
  equal(range(planBscUpdate(staged, facts(7000n))), ["enact", 2n, 2006n, 2999n, "highest"]);
});

Deno.test("BSC plan: with a known turn length the search begins where the chain itself rotates", () => {
  // 5 validators before: 8 * (2 + 1) + 1.
  equal(range(planBscUpdate(staged, facts(2600n, 8))), ["enact", 2n, 2025n, 2600n, "highest"]);
  equal(planBscUpdate(staged, facts(2024n, 8)), wait("rotation_not_reached"));
  equal(planBscUpdate(staged, facts(2005n, 8)), wait("no_new_block"));
  const sameSet: BscConsensusState = {
    ...staged,
    nextValidators: { validators: staged.currentValidators, rotationBlock: 2002n },
  };
  equal(range(planBscUpdate(sameSet, facts(2600n, 8))), ["enact", 2n, 2006n, 2600n, "highest"]);
});

Deno.test("BSC plan: a source that is the epoch's first block never puts a set into force", () => {
  const early = { ...staged, finalizedHeight: 1990n };
  equal(range(planBscUpdate(early, facts(2600n))), ["enact", 2n, 2003n, 2600n, "highest"]);
});

Deno.test("BSC plan: a client that nothing can move any more is named", () => {
  equal(range(planBscUpdate({ ...staged, finalizedHeight: 2996n }, facts(9000n))).slice(2, 4), [
    2999n,
    2999n,
  ]);
  equal(
    planBscUpdate({ ...staged, finalizedHeight: 2997n }, facts(9000n)),
    unrecoverable("enactment_missed"),
  );
  equal(range(planBscUpdate({ ...beforeEpoch, finalizedHeight: 2995n }, facts(9000n))).slice(2, 4), [
    2998n,
    2998n,
  ]);
  equal(
    planBscUpdate({ ...beforeEpoch, finalizedHeight: 2996n }, facts(9000n)),
    unrecoverable("staging_missed"),
  );
  equal(
    planBscUpdate({ ...beforeEpoch, finalizedHeight: 3000n }, facts(9000n)),
    unrecoverable("epochs_skipped"),
  );
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
  const early = { ...staged, finalizedHeight: 1990n };
  equal(choose(early, 2012n, voted(attestedHeader, source(2000n))), passed("source_epoch"));
  equal(
    choose(beforeEpoch, 2005n, voted(staging.attestedHeader, source(1999n))),
    passed("source_not_newer"),
  );
  const behind = { ...beforeEpoch, finalizedHeight: 1900n };
  equal(choose(behind, 2005n, voted(staging.attestedHeader, source(1999n))), passed("source_epoch"));
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
      const state = { ...(isStaged ? staged : beforeEpoch), finalizedHeight };
      const plan = planBscUpdate(state, facts(head, turnLength));
      if (plan.action !== "search") return;
      const { from, to } = plan.attested;
      equal([from <= to, from > finalizedHeight + 2n, to <= head], [true, true, true]);
    }),
  );
});
