/**
 * Configuration files of the consensus relayer for a devnet. Start reading at {@link consensusConfig}.
 * Source of the keys: docs/specification.md, "Consensus relayer configuration".
 */
import { stringifyToml, type WritableTable } from "../../tests/support/toml_text.ts";
import { parseStateMachine, toParaId } from "../../src/core/ismp/state_machine.ts";
import { DEVNET_KEYS, type DevnetRole } from "../evm/accounts.ts";
import type { ProvenChain } from "../chains/proven_chains.ts";
import { type DevnetEndpoints, present, type SectionChanges, sectionOf } from "./relayer_config.ts";

/** What a configuration names of a devnet. */
export interface ConsensusEndpoints {
  readonly hub: { readonly stateMachine: string; readonly wsUrl: string };
  /** The chain that makes the hub final. */
  readonly relay: { readonly wsUrl: string };
  readonly chains: readonly {
    readonly proven: ProvenChain;
    /** Address of the ISMP host. */
    readonly ismpHost: string;
  }[];
  /** Those that follow the hub by the heads of its relay chain are proved to the hub, too. */
  readonly substrate: NonNullable<DevnetEndpoints["substrate"]>;
}

/** What differs from a relayer that proves every chain. */
export interface ConsensusChanges {
  /** State machines that get a section; default all. */
  readonly only?: readonly string[];
  /**
   * How chains follow the hub. Default `beefy`, for EVM chains; Substrate chains are in the file with `grandpa` only,
   * and EVM chains then only if {@link only} names them.
   */
  readonly hubType?: "beefy" | "grandpa";
  /** Whether chains follow the hub. Default: with `grandpa`, which is for nothing else here. */
  readonly enablesHubConsensus?: boolean;
  /** Proofs are made from the relay chain where the hub has none; with `beefy` only. Default false. */
  readonly makesProofs?: boolean;
  /** Who signs on EVM chains. Default `relayer`. */
  readonly signer?: DevnetRole;
  /** Instead of the hub's own URL. */
  readonly hubUrl?: string;
  /** Last word on any key, by section name: `hub.substrate`, `hub.prover`, `relayer`, `evm_97`, `evm_97.host`. */
  readonly sections?: Readonly<Record<string, SectionChanges>>;
}

/** Seed of the account that signs updates. */
export const HUB_SEED = `0x${"c5".repeat(32)}`;

/** The TOML text of a configuration that the consensus relayer can run with as it is. */
export function consensusConfig(devnet: ConsensusEndpoints, changes: ConsensusChanges = {}): string {
  const section = (name: string, keys: WritableTable): WritableTable =>
    present({ ...keys, ...changes.sections?.[name] });
  const isGrandpa = changes.hubType === "grandpa";
  const isIn = (stateMachine: string, otherwise: boolean): boolean =>
    changes.only?.includes(stateMachine) ?? otherwise;
  return stringifyToml({
    hub: hubSections(devnet, changes, section),
    relayer: section("relayer", { enable_hub_consensus: changes.enablesHubConsensus ?? isGrandpa }),
    ...Object.fromEntries(
      devnet.chains.filter(({ proven }) => isIn(proven.stateMachine, !isGrandpa)).map((chain) => {
        return [
          sectionOf(chain.proven.stateMachine),
          evmSection(chain, changes.signer ?? "relayer", section),
        ];
      }),
    ),
    ...Object.fromEntries(
      devnet.substrate.filter(({ stateMachine }) => isGrandpa && isIn(stateMachine, true)).map((chain) => {
        const name = sectionOf(chain.stateMachine);
        return [
          name,
          section(name, {
            type: "substrate",
            state_machine: chain.stateMachine,
            hashing: chain.hashing,
            rpc_ws: chain.wsUrl,
            consensus_state_id: chain.consensusStateId,
          }),
        ];
      }),
    ),
  });
}

/** The keys of a section with what the changes say of them. */
type Section = (name: string, keys: WritableTable) => WritableTable;

function hubSections(devnet: ConsensusEndpoints, changes: ConsensusChanges, section: Section): WritableTable {
  const relayUrl = devnet.relay.wsUrl;
  const hubUrl = changes.hubUrl ?? devnet.hub.wsUrl;
  const paraIds = [toParaId(parseStateMachine(devnet.hub.stateMachine))];
  const grandpa = {
    rpc: relayUrl,
    slot_duration: 6000,
    para_ids: paraIds,
    consensus_update_frequency: 1,
  };
  const prover = { relay_rpc_ws: relayUrl, para_rpc_ws: hubUrl, para_ids: paraIds };
  return {
    type: changes.hubType ?? "beefy",
    substrate: section("hub.substrate", {
      rpc_ws: hubUrl,
      state_machine: devnet.hub.stateMachine,
      signer: HUB_SEED,
      poll_interval: 1,
    }),
    ...changes.hubType === "grandpa" && { grandpa: section("hub.grandpa", grandpa) },
    ...changes.makesProofs === true && { prover: section("hub.prover", prover) },
  };
}

function evmSection(
  { proven, ismpHost }: ConsensusEndpoints["chains"][number],
  signer: DevnetRole,
  section: Section,
): WritableTable {
  const name = sectionOf(proven.stateMachine);
  return section(name, {
    type: proven.section.type,
    state_machine: proven.stateMachine,
    rpc_urls: [proven.rpcUrl],
    consensus_state_id: proven.clientStateId,
    etherscan_api_key: "",
    ismp_host: ismpHost,
    signer: DEVNET_KEYS[signer],
    host: section(`${name}.host`, proven.section.host),
  });
}
