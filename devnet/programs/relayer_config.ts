/**
 * Configuration files of the messaging relayer for a devnet. Start reading at {@link relayerConfig}.
 * Source of the keys: docs/specification.md, "Messaging relayer configuration".
 */
import { stringifyToml, type WritableTable, type WritableValue } from "../../tests/support/toml_text.ts";
import type { Hex } from "viem";
import { DEVNET_KEYS, type DevnetRole } from "../evm/accounts.ts";

/** What a configuration names of a devnet. */
export interface DevnetEndpoints {
  readonly hub: { readonly stateMachine: string; readonly wsUrl: string };
  readonly chains: readonly {
    readonly stateMachine: string;
    readonly consensusStateId: string;
    readonly rpcUrl: string;
    /** Address of the ISMP host. */
    readonly ismpHost: string;
    /** The Substrate node that proves its contracts, where there is one. */
    readonly substrateUrl?: string;
  }[];
  readonly substrate?: readonly {
    readonly stateMachine: string;
    readonly consensusStateId: string;
    readonly wsUrl: string;
    readonly hashing: "Keccak" | "Blake2";
    readonly feeTokenDecimals: number;
  }[];
}

/** Keys of one section; `undefined` takes the key away. */
export type SectionChanges = Readonly<Record<string, WritableValue | undefined>>;

/** What differs from a relayer that delivers everything with the relayer's faucet key. */
export interface ConfigChanges {
  /** Who signs, by role or by key. Default `relayer`. */
  readonly signer?: DevnetRole | Hex;
  /** Default 1. */
  readonly pollIntervalSec?: number;
  readonly moduleFilter?: readonly string[];
  /** Default 0. */
  readonly minimumProfitPercent?: number;
  readonly unprofitableRetryFrequencySec?: number;
  readonly disableFeeAccumulation?: boolean;
  /** State machines that get no section. */
  readonly without?: readonly string[];
  /** Instead of the chain's own URL, by state machine: proxies, further endpoints. */
  readonly rpcUrls?: Readonly<Record<string, readonly string[]>>;
  /** Instead of the hub's own URL. */
  readonly hubUrl?: string;
  /** Last word on any key, by section name: `hub`, `relayer`, or the chain's from {@link sectionOf}. */
  readonly sections?: Readonly<Record<string, SectionChanges>>;
}

/** Name of the section of a chain: `evm_31337` for `EVM-31337`. */
export function sectionOf(stateMachine: string): string {
  return stateMachine.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");
}

/** The TOML text of a configuration that the relayer can run with as it is. */
export function relayerConfig(devnet: DevnetEndpoints, changes: ConfigChanges = {}): string {
  const chains = devnet.chains.filter(({ stateMachine }) => !changes.without?.includes(stateMachine));
  const substrate = (devnet.substrate ?? []).filter(({ stateMachine }) =>
    !changes.without?.includes(stateMachine)
  );
  const pollInterval = { poll_interval: changes.pollIntervalSec ?? 1 };
  const document: Record<string, WritableTable> = {
    hub: {
      state_machine: devnet.hub.stateMachine,
      rpc_ws: changes.hubUrl ?? devnet.hub.wsUrl,
      ...pollInterval,
    },
    relayer: relayerSection(changes, [...chains, ...substrate].map(({ stateMachine }) => stateMachine)),
  };
  for (const chain of chains) {
    document[sectionOf(chain.stateMachine)] = {
      ...chain.substrateUrl === undefined
        ? { type: "evm" }
        : { type: "substrate_evm", ws_url: chain.substrateUrl },
      state_machine: chain.stateMachine,
      rpc_urls: [...(changes.rpcUrls?.[chain.stateMachine] ?? [chain.rpcUrl])],
      consensus_state_id: chain.consensusStateId,
      etherscan_api_key: "",
      ismp_host: chain.ismpHost,
      signer: signerKey(changes.signer ?? "relayer"),
      ...pollInterval,
    };
  }
  for (const chain of substrate) {
    document[sectionOf(chain.stateMachine)] = {
      type: "substrate",
      state_machine: chain.stateMachine,
      hashing: chain.hashing,
      rpc_ws: changes.rpcUrls?.[chain.stateMachine]?.[0] ?? chain.wsUrl,
      consensus_state_id: chain.consensusStateId,
      signer: signerKey(changes.signer ?? "relayer"),
      fee_token_decimals: chain.feeTokenDecimals,
      ...pollInterval,
    };
  }
  for (const [section, keys] of Object.entries(changes.sections ?? {})) {
    document[section] = present({ ...document[section], ...keys });
  }
  return stringifyToml(document);
}

/** The private key of a role; a key stands for itself. */
export function signerKey(signer: DevnetRole | Hex): Hex {
  return signer.startsWith("0x") ? `0x${signer.slice(2)}` : DEVNET_KEYS[asRole(signer)];
}

function asRole(signer: string): DevnetRole {
  for (const role of ["deployer", "relayer", "user", "relayer2", "oracle", "proposer"] as const) {
    if (role === signer) return role;
  }
  throw new RangeError("Neither a role nor a key");
}

function relayerSection(changes: ConfigChanges, allChains: readonly string[]): WritableTable {
  return present({
    minimum_profit_percentage: changes.minimumProfitPercent ?? 0,
    delivery_endpoints: [...allChains],
    module_filter: changes.moduleFilter && [...changes.moduleFilter],
    unprofitable_retry_frequency: changes.unprofitableRetryFrequencySec,
    disable_fee_accumulation: changes.disableFeeAccumulation,
  });
}

/** The keys that have a value. */
export function present(keys: SectionChanges): WritableTable {
  const table: WritableTable = {};
  for (const [key, value] of Object.entries(keys)) if (value !== undefined) table[key] = value;
  return table;
}
