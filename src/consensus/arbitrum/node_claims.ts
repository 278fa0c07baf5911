/**
 * Claims of rollup contracts from before BoLD.
 */
import { buildNodeProof, nodeProofSlots } from "../../core/protocol/consensus/arbitrum/build_update.ts";
import {
  decodeNodeCreated,
  NODE_CREATED,
  type NodeCreated,
} from "../../core/protocol/consensus/arbitrum/claim_events.ts";
import { nodeClaimHash } from "../../core/protocol/consensus/arbitrum/claim_hashes.ts";
import { planNodes } from "../../core/protocol/consensus/arbitrum/plan_update.ts";
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
  slots: nodeProofSlots,
  build: (parts) => ({ tag: "ArbitrumOrbit", value: buildNodeProof(parts) }),
};
