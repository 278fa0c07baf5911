/** Proofs of the hub's own finality for the chains: which workers bring them. */
import type { ConsensusConfig } from "../core/config/consensus_config.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";

/** The workers of `enable_hub_consensus`: this version has none for any type of hub, and says so. */
export function planHubConsensus(log: Log, { hub, relayer }: ConsensusConfig): readonly Worker[] {
  if (relayer.enableHubConsensus) {
    log.warn(
      "This version does not carry the hub's consensus to the chains; set [relayer].enable_hub_consensus = false",
      { type: hub.consensus.type },
    );
  }
  return [];
}
