/**
 * The file of the consensus relayer: its sections, and the values that the program sees. Names of values carry units.
 * Source: docs/specification.md, "Consensus relayer configuration". Start reading at {@link ConsensusConfig}.
 */
import { optional, required, type SectionValues, withDefault } from "../../core/config/schema.ts";
import type { NamedSection } from "../../core/config/chain_names.ts";
import { type NotifyConfig, notifySection } from "../../core/config/chains.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import { boolean, oneOf, positiveAmount } from "../../core/config/values.ts";
import {
  CHAIN_TYPES,
  chainClients,
  type ChainType,
  HUB_TYPES,
  hubClients,
  type HubConsensusConfig,
  type ProvedChainConfig,
} from "../registry.ts";
import {
  evmChainKeys,
  type FollowerConfig,
  followerKeys,
  type HubSubstrateConfig,
  hubSubstrateKeys,
  type ReceiveOnlyConfig,
  updateLimits,
} from "./keys.ts";

/** All values of the file, with defaults applied. */
export interface ConsensusConfig {
  readonly hub: ConsensusHubConfig;
  readonly relayer: ConsensusRelayerConfig;
  /** In the order of the file; each state machine once, none of them the hub. At least one. */
  readonly chains: readonly ConsensusChainConfig[];
}

/** Section `[hub]` (or `[hyperbridge]`). */
export interface ConsensusHubConfig {
  /** Name of the section in the file. */
  readonly section: string;
  readonly consensus: HubConsensusConfig;
  readonly substrate: HubSubstrateConfig;
}

/** Sections of chains with the names that the operator gave them, the hub's first. */
export function provableSections(
  { hub, chains }: Pick<ConsensusConfig, "hub" | "chains">,
): readonly NamedSection[] {
  return [{ section: hub.section, stateMachine: hub.substrate.stateMachine }, ...chains];
}

/** A chain whose finality is proved to the hub, or that follows the hub's. */
export type ConsensusChainConfig = ProvedChainConfig | ReceiveOnlyConfig | FollowerConfig;

const hubKeys = {
  type: required("type", oneOf(HUB_TYPES), {
    description: `How chains learn the hub's finality: ${
      HUB_TYPES.map((type) => hubClients[type].typeText).join(", ")
    }.`,
    example: "grandpa",
  }),
};

/** A type of chains, and the only chains that can be of it: of a network's name that network's. */
interface NamedType {
  readonly is: ChainType;
  /** `undefined`: any. */
  readonly chainIds: readonly number[] | undefined;
}

/** Values of `type` in sections of EVM chains: types first, then names of networks. */
export const EVM_TYPES: ReadonlyMap<string, NamedType> = new Map<string, NamedType>([
  ...CHAIN_TYPES.map((is) => {
    const { isClosed, knownChains } = chainClients[is];
    return [is, { is, chainIds: isClosed ? knownChains : undefined }] as const;
  }),
  ...CHAIN_TYPES.flatMap((is) =>
    Object.entries(chainClients[is].networks).map(([name, id]) => [name, { is, chainIds: [id] }] as const)
  ),
]);

const evmTypeKey = required("type", oneOf([...EVM_TYPES.keys()]), {
  description: `How the chain's finality is proved: ${
    CHAIN_TYPES.map((type) => chainClients[type].typeText ?? `\`${type}\``).join(", ")
  }. A network's name stands for its type and its chain id.`,
});

const relayerKeys = {
  /** Limits, each id once. */
  maximumUpdateIntervals: withDefault("maximum_update_intervals", updateLimits, [], {
    description:
      "Maximum seconds without an update of a chain; then the program reports it and exits with status 3, for its " +
      "supervisor to start it again. The id is that under which the hub stores the heights, of rollups the L1's.",
    example: [[{ state_id: "EVM-1", consensus_state_id: "ETH0" }, 3_600], [["EVM-10", "ETH0"], 14_400]],
  }),
  maximumDailyLoss: optional("maximum_daily_loss", positiveAmount("dollars"), {
    description:
      "Maximum cost of transactions with proofs of the hub on each EVM chain within 24 hours, each counted with the " +
      "most that it can cost. None is signed there that does not fit; everything else continues.",
    example: 50,
  }),
  enableHubConsensus: withDefault("enable_hub_consensus", boolean, true, {
    alias: "enable_hyperbridge_consensus",
    description:
      "True: consensus proofs of the hub are delivered to the chains; `signer` of the EVM entries pays for that.",
  }),
};

/** The values of `[relayer]`, which may be missing. */
export interface ConsensusRelayerConfig extends SectionValues<typeof relayerKeys> {
  /** Where changes of readiness are posted; absent: nowhere. */
  readonly notify?: NotifyConfig | undefined;
}

/** The sections of the file, besides those of light clients. `files` reads keys that are given as a path. */
export const consensusSections = (files: ConfigFiles) => {
  const hubSubstrate = { description: "The hub's parachain itself.", keys: hubSubstrateKeys(files) };
  const ofClients = Object.values(hubClients).map((of) => [of.sectionName, of.section] as const);
  return {
    hub: {
      description: "The hub, which verifies the other chains.",
      keys: hubKeys,
      inner: { ...Object.fromEntries(ofClients), substrate: hubSubstrate },
    },
    hubSubstrate,
    relayer: {
      description: "Work of the relayer. The section may be missing.",
      keys: relayerKeys,
      inner: { notify: notifySection },
    },
    notify: notifySection,
    evm: {
      description: "An EVM chain whose finality is proved to the hub, or that follows the hub's.",
      keys: { type: evmTypeKey, ...evmChainKeys(files) },
    },
    substrate: {
      description:
        "A Substrate chain (not among the fields of the specification). It follows the hub by what its client " +
        "of the hub accepts: GRNP finality proofs of the relay chain, PARA the hub's head there. Nothing is proved of it, " +
        "unless it is a sibling parachain of the hub (then its `consensus_state_id` is the hub's own) and the hub lists it " +
        "in `IsmpParachain.Parachains`.",
      keys: followerKeys(files),
    },
  };
};

/** Values of `type` in sections of chains. */
export const chainTypeName = oneOf([...EVM_TYPES.keys(), "substrate"], {
  evm_host: 'write type = "evm": nothing is proved of chains without a beacon chain',
  parachain:
    'write type = "substrate" for a parachain beside the hub, and type = "substrate_evm" for Polkadot Hub',
});
