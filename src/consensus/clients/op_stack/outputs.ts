/** Outputs as claims: the newest in the oracle of a chain that has no dispute games yet is proved. */
import { fetchClaimedBlock, verifiedUpdate } from "./claimed_block.ts";
import { buildOutputOracleProof, oracleProofSlots } from "./spec/build_update.ts";
import { decodeOutputProposed, OUTPUT_PROPOSED, type OutputProposed } from "./spec/claim_events.ts";
import type { OpStackConsensusState } from "./spec/update.ts";
import type { RollupClaim } from "../../rollup/claim_search.ts";
import type { ClaimKind, RollupDeps } from "../../rollup/claims.ts";
import type { Address } from "../../../core/evm/address.ts";

/** An output as a claim. */
export type OutputClaim = OutputProposed & RollupClaim;

/** The outputs of one rollup. @param oracle lower case. */
export function outputClaims(
  { l2 }: Pick<RollupDeps, "l2">,
  { messageParser }: { readonly messageParser: Address },
  { state, oracle }: { readonly state: OpStackConsensusState; readonly oracle: Address },
): ClaimKind<OutputClaim> {
  return {
    noun: "outputs",
    contract: oracle,
    topic0: OUTPUT_PROPOSED,
    decode: (log) => {
      const output = decodeOutputProposed(log, oracle);
      return output && { ...output, name: `output ${output.index}`, l1Height: log.blockNumber };
    },
    plan: (open, keep, { hubHeight = -1n }) => {
      const above = keep(
        open,
        ({ l2Height }) => l2Height <= hubHeight ? "not above the hub's height" : undefined,
      );
      return Promise.resolve(above.toSorted((a, b) => Number(b.index - a.index)));
    },
    prove: async (output, { l1, block, signal }) => {
      const requests = [{ account: oracle, slots: oracleProofSlots(output) }];
      const [answer] = await l1.fetchProofs(requests, block, signal);
      if (answer === undefined) throw new Error("A proof is missing");
      const claimed = await fetchClaimedBlock({ l2, messageParser }, output, signal);
      const value = buildOutputOracleProof({ ...claimed, output, oracle: answer });
      const proof = verifiedUpdate(state, block, { tag: "OpL2Oracle", value }, { outputOracle: oracle });
      return { proof, height: output.l2Height };
    },
  };
}
