/** Outputs of the `L2OutputOracle` as claims, for chains without dispute games. */
import type { ClaimKind } from "../../rollup/claims.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { fetchClaimedBlock, verifiedUpdate } from "./claimed_block.ts";
import { buildOutputOracleProof, oracleProofSlots } from "./spec/build_update.ts";
import { decodeOutputProposed, OUTPUT_PROPOSED, type OutputProposed } from "./spec/claim_events.ts";
import type { OpStackConsensusState } from "./spec/consensus_state.ts";

/** The outputs of one rollup. */
export function outputClaims(
  { l1, l2 }: Pick<RollupDeps, "l1" | "l2">,
  { messageParser }: Pick<OpStackOptions, "messageParser">,
): ClaimKind<OpStackConsensusState, OutputProposed> {
  return {
    noun: "outputs",
    topic0: OUTPUT_PROPOSED,
    decode: decodeOutputProposed,
    keyOf: ({ index }) => index.toString(),
    describe: ({ index }) => `output ${index}`,
    plan: (open, { view: { hubHeight } }, keep) => {
      const above = keep(
        open,
        ({ l2Height }) =>
          hubHeight !== undefined && l2Height <= hubHeight ? "not above the hub's height" : undefined,
      );
      return Promise.resolve(above.toSorted((a, b) => Number(b.index - a.index)));
    },
    prove: async (output, { view, contract, signal }) => {
      const requests = [{ account: contract, slots: oracleProofSlots(output) }];
      const [oracle] = await l1.fetchProofs(requests, view.l1, signal);
      if (oracle === undefined) throw new Error("A proof is missing");
      const block = await fetchClaimedBlock({ l2, messageParser }, output, signal);
      const value = buildOutputOracleProof({ ...block, output, oracle });
      const proof = verifiedUpdate(view, { tag: "OpL2Oracle", value }, { outputOracle: contract });
      return { proof, height: output.l2Height };
    },
  };
}
