/**
 * The file of the consensus relayer: its sections, and the values that the program sees. Names of values carry units.
 * Source: docs/specification.md, "Consensus relayer configuration". Start reading at {@link ConsensusConfig}.
 */
import { type Values, withDefault } from "../../core/config/schema.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import { boolean } from "../../core/config/values.ts";
import { chainSections, type ConsensusChainConfig } from "./chain_schema.ts";
import { type ConsensusHubConfig, hubSections } from "./hub_schema.ts";
import { updateLimits } from "./values.ts";

/** All values of the file, with defaults applied. */
export interface ConsensusConfig {
  readonly hub: ConsensusHubConfig;
  readonly relayer: ConsensusRelayerConfig;
  /** In the order of the file; each state machine once, none of them the hub. At least one. */
  readonly chains: readonly ConsensusChainConfig[];
}

const relayerKeys = {
  /** Limits, each id once. */
  maximumUpdateIntervals: withDefault(
    updateLimits,
    [],
    {
      name: "maximum_update_intervals",
      description:
        "Maximum time in seconds without an update of a chain; then the program reports it and exits with " +
        "status 3, for its supervisor to start it again. Empty: none is watched. The id is the one under which the " +
        "hub stores the heights, which is the L1's for rollups.",
      example: [[{ state_id: "EVM-1", consensus_state_id: "ETH0" }, 3_600], [["EVM-10", "ETH0"], 14_400]],
    },
  ),
  enableHubConsensus: withDefault(boolean, true, {
    name: "enable_hub_consensus",
    alias: "enable_hyperbridge_consensus",
    description:
      "True: consensus proofs of the hub are delivered to the chains as well. `signer` of the EVM entries pays " +
      "for that.",
  }),
};

/** The values of `[relayer]`, which may be missing. */
export type ConsensusRelayerConfig = Values<typeof relayerKeys>;

const MESSAGING_ONLY = "belongs to the configuration of the messaging relayer";

/** The sections of the file. `files` reads keys that are given as a path. */
export const consensusSections = (files: ConfigFiles) => ({
  ...hubSections(files),
  relayer: {
    description: "What is relayed. The section may be missing.",
    keys: relayerKeys,
    foreign: {
      challenge_period: "challenge periods are set on the hub",
      minimum_profit_percentage: MESSAGING_ONLY,
      withdrawal_frequency: MESSAGING_ONLY,
      minimum_withdrawal_amount: MESSAGING_ONLY,
      delivery_endpoints: MESSAGING_ONLY,
      module_filter: MESSAGING_ONLY,
      unprofitable_retry_frequency: MESSAGING_ONLY,
      disable_fee_accumulation: MESSAGING_ONLY,
    },
  },
  ...chainSections(files),
});
