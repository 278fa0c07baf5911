/** Outputs of the `L2OutputOracle` as claims, for chains without dispute games. */
import type { ClaimKind } from "../../rollup/claims.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { fetchClaimedBlock, verifiedUpdate } from "./claimed_block.ts";
import { buildOutputOracleProof, oracleProofSlots } from "./spec/build_update.ts";
import { decodeOutputProposed, OUTPUT_PROPOSED, type OutputProposed } from "./spec/claim_events.ts";
import type { OpStackConsensusState } from "./spec/consensus_state.ts";
import { outputCountSlot } from "./spec/output_root.ts";

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
    orderOf: ({ index }) => index,
    describe: ({ index }) => `output ${index}`,
    // Outputs are an array: the ones found must reach from the known ones to its end.
    judge: async (found, { contract: account, l1, signal }, { range, newest }) => {
      const read = { kind: "word" as const, account, slot: outputCountSlot, at: range.to };
      const [word] = await l1.fetchReads([read], signal);
      const count = BigInt(word ?? 0n);
      const first = newest === undefined ? found[0]?.index : newest.index + 1n;
      // An oracle with another storage layout has none here; one whose outputs were deleted has fewer.
      if (count === 0n || first === undefined || first > count) return "unknown";
      const distinct = new Set(found.map(({ index }) => index).filter((index) => index >= first));
      return count - first <= BigInt(distinct.size) ? "complete" : "incomplete";
    },
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
