/**
 * Claims of rollup contracts with BoLD.
 */
import { assertionProofSlots, buildAssertionProof } from "./spec/build_update.ts";
import { ASSERTION_CREATED, type AssertionCreated, decodeAssertionCreated } from "./spec/claim_events.ts";
import { assertionHash, assertionSlot, parseAssertionWord } from "./spec/claim_hashes.ts";
import { planAssertions } from "./spec/plan_update.ts";
import { RollupDataError } from "../../rollup/spec/rollup_data_error.ts";
import type { ClaimGeneration } from "./rollup_claims.ts";

/** Assertions: challenged when their parent has a second child. */
export const assertionClaims: ClaimGeneration<AssertionCreated> = {
  topic0: ASSERTION_CREATED,
  decode: (log, rollupCore) => {
    const event = decodeAssertionCreated(log, rollupCore);
    // The contract names assertions by this hash, so a log that does not match is forged.
    if (event !== undefined && assertionHash(event) !== event.assertionHash) {
      throw new RollupDataError("malformed_event");
    }
    return event;
  },
  keyOf: (event) => event.assertionHash,
  describe: (event) => `assertion ${event.assertionHash}`,
  claimHash: (event) => event.assertionHash,
  blockHash: (event) => event.afterState.globalState.blockHash,
  plan: async (found, facts, read) => {
    const parents = await read(found.map(({ event }) => assertionSlot(event.previousAssertionHash)));
    return planAssertions(found.map((claim, index) => ({ ...claim, parentWord: parents[index] })), facts);
  },
  // Every assertion stores when its first child was created: a child without a log is missing.
  judge: async (found, newest, read) => {
    const parents = newest === undefined ? found : [newest, ...found];
    if (parents.length === 0) return "unknown";
    const words = await read(parents.map(({ assertionHash }) => assertionSlot(assertionHash)));
    const isMissing = parents.some(({ assertionHash }, index) => {
      const word = words[index];
      if (word === undefined || parseAssertionWord(word).firstChildBlock === 0n) return false;
      return !found.some(({ previousAssertionHash }) => previousAssertionHash === assertionHash);
    });
    return isMissing ? "incomplete" : "complete";
  },
  slots: assertionProofSlots,
  build: (parts) => ({ tag: "ArbitrumBold", value: buildAssertionProof(parts) }),
};
