/**
 * Configuration files of the consensus relayer for a devnet. Start reading at {@link consensusConfig}.
 * Source of the keys: spec.md, "Consensus relayer configuration".
 */
import { stringify, type TomlTable } from "smol-toml";
import { DEVNET_KEYS } from "./evm/accounts.ts";
import type { ProvenChain } from "./proven_chains.ts";
import { type SectionChanges, sectionOf } from "./relayer_config.ts";

/** What a configuration names of a devnet. */
export interface ConsensusEndpoints {
  readonly hub: { readonly stateMachine: string; readonly wsUrl: string };
  readonly chains: readonly {
    readonly proven: ProvenChain;
    /** Address of the ISMP host. */
    readonly ismpHost: string;
  }[];
}

/** What differs from a relayer that proves every chain. */
export interface ConsensusChanges {
  /** State machines that get a section; default all. */
  readonly only?: readonly string[];
  /** In place of the hub's own URL. */
  readonly hubUrl?: string;
  /** Last word on any key, by section name: `hub.substrate`, `relayer`, `evm_97`, `evm_97.host`. */
  readonly sections?: Readonly<Record<string, SectionChanges>>;
}

/** Seed of the account that signs updates. */
export const HUB_SEED = `0x${"c5".repeat(32)}`;

/** The TOML text of a configuration that the consensus relayer can run with as it is. */
export function consensusConfig(devnet: ConsensusEndpoints, changes: ConsensusChanges = {}): string {
  const section = (name: string, keys: TomlTable): TomlTable => {
    const merged: TomlTable = { ...keys };
    for (const [key, value] of Object.entries(changes.sections?.[name] ?? {})) {
      if (value === undefined) delete merged[key];
      else merged[key] = value;
    }
    return merged;
  };
  const chains = devnet.chains.filter(({ proven }) => changes.only?.includes(proven.stateMachine) ?? true);
  return stringify({
    hub: {
      type: "beefy",
      substrate: section("hub.substrate", {
        rpc_ws: changes.hubUrl ?? devnet.hub.wsUrl,
        state_machine: devnet.hub.stateMachine,
        signer: HUB_SEED,
        poll_interval: 1,
      }),
    },
    relayer: section("relayer", { enable_hub_consensus: false }),
    ...Object.fromEntries(chains.map(({ proven, ismpHost }) => {
      const name = sectionOf(proven.stateMachine);
      return [
        name,
        section(name, {
          type: proven.section.type,
          state_machine: proven.stateMachine,
          rpc_urls: [proven.rpcUrl],
          consensus_state_id: proven.clientStateId,
          etherscan_api_key: "",
          ismp_host: ismpHost,
          signer: DEVNET_KEYS.relayer,
          host: section(`${name}.host`, proven.section.host),
        }),
      ];
    })),
  });
}
