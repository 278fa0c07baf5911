/**
 * Claims of rollup contracts that predate BoLD.
 */
import { buildNodeProof, nodeProofSlots } from "./spec/build_update.ts";
import { decodeNodeCreated, NODE_CREATED, type NodeCreated } from "./spec/claim_events.ts";
import { latestNodeIn, nodeClaimHash, nodeNumbersSlot } from "./spec/claim_hashes.ts";
import { planNodes } from "./spec/plan_update.ts";
import type { ClaimGeneration } from "./rollup_claims.ts";

/** Nodes. */
export const nodeClaims: ClaimGeneration<NodeCreated> = {
  topic0: NODE_CREATED,
  decode: decodeNodeCreated,
  keyOf: (event) => event.nodeNumber.toString(),
  describe: (event) => `node ${event.nodeNumber}`,
  claimHash: nodeClaimHash,
  blockHash: (event) => event.globalState.blockHash,
  plan: (found, facts) => Promise.resolve(planNodes(found, facts)),
  // Nodes are numbered: the ones found must reach from the last known node to the contract's newest.
  judge: async (found, newest, read) => {
    const [word] = await read([nodeNumbersSlot]);
    const latest = word === undefined ? 0n : latestNodeIn(word);
    const numbers = new Set(found.map(({ nodeNumber }) => nodeNumber));
    if (newest !== undefined) numbers.add(newest.nodeNumber);
    const [first] = [...numbers].sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
    if (latest === 0n || first === undefined || first > latest) return "unknown";
    return latest - first + 1n === BigInt(numbers.size) ? "complete" : "incomplete";
  },
  slots: nodeProofSlots,
  build: (parts) => ({ tag: "ArbitrumOrbit", value: buildNodeProof(parts) }),
};
