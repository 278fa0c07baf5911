/**
 * Target of the consensus relayer over one WebSocket: reads of light clients in `target_reads.ts`, updates in
 * `target_updates.ts`.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { Secret } from "../../config/redact.ts";
import type { ConsensusTarget } from "../consensus_target.ts";
import { SubstrateSender } from "./sender.ts";
import { planSubstrateChecks } from "./chain_checks.ts";
import { checkConsensusTarget } from "./checks.ts";
import { SubstrateTargetUpdates } from "./target_updates.ts";
import { SubstrateTargetReads } from "./target_reads.ts";
import {
  createChainContext,
  DEFAULT_MAX_CALL_BYTES,
  type SubstrateChainContext,
  type SubstrateChainDeps,
  type SubstrateNodeOptions,
} from "./substrate_chain.ts";

/** Part of the hub's configuration (`[hub.substrate]`) that the adapter needs. */
export interface HubTargetOptions extends Omit<SubstrateNodeOptions, "signer" | "relayerId"> {
  /** sr25519 key, 32-byte mini secret or 64 bytes: it receives the rewards for updates. */
  readonly signer: Secret<Hex>;
}

/** Creates the hub as a target; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createHubTarget(deps: SubstrateChainDeps, options: HubTargetOptions): ConsensusTarget {
  return assembleTarget(createChainContext(deps, options, { isHub: true, use: "updated" }), options);
}

/** Creates a Substrate chain that follows the hub: it accepts updates as the hub does. */
export function createFollowerTarget(deps: SubstrateChainDeps, options: HubTargetOptions): ConsensusTarget {
  return assembleTarget(createChainContext(deps, options, { isHub: false, use: "updated" }), options);
}

function assembleTarget(
  { endpoint, node, signer, outcomes }: SubstrateChainContext,
  { maxCallBytes = DEFAULT_MAX_CALL_BYTES }: Pick<HubTargetOptions, "maxCallBytes">,
): ConsensusTarget {
  const reads = new SubstrateTargetReads(node);
  const options = { signer, maxCallBytes };
  return {
    id: node.id,
    reads,
    updates: new SubstrateTargetUpdates(node, options, reads),
    sender: new SubstrateSender(node, options),
    outcomes,
    planChecks: () => planSubstrateChecks(node, { check: (signal) => checkConsensusTarget(node, signal) }),
    check: (signal) => checkConsensusTarget(node, signal),
    close: () => endpoint.close(),
  };
}
