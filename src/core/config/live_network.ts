/**
 * What the live hubs use, for advice in messages and new files: configured values always win.
 * Source: polytope-labs/hyperbridge: tesseract/messaging/evm/src/registry.rs, docs/content/developers/network/relayer.mdx
 * (Nexus is the parachain 3367 of Polkadot, Gargantua 4009 of Paseo, which hubs call KUSAMA),
 * docs/content/developers/evm/contract-addresses/testnet.mdx (Polkadot Hub on Paseo); other chain ids and explorers:
 * wevm/viem: src/chains/definitions.
 */
import type { TomlTable } from "./toml.ts";
import { parseStateMachine, type StateMachine } from "../ismp/state_machine.ts";

/** Networks with a hub. */
export const networks = ["mainnet", "testnet"] as const;

/** Network of a hub. */
export type Network = typeof networks[number];

/** The hub of a network. */
export const liveHubs: Readonly<Record<Network, StateMachine>> = {
  mainnet: parseStateMachine("POLKADOT-3367"),
  testnet: parseStateMachine("KUSAMA-4009"),
};

/** A chain as a live hub knows it. */
export interface NamedChain {
  /** Also the name of its section. */
  readonly name: string;
  readonly network: Network;
  readonly chainId: number;
  readonly consensusStateId: string;
  /** Lower-case address of the host contract. */
  readonly ismpHost: string;
  readonly explorer: string;
  /** Symbol of the native token. */
  readonly unit: string;
  /** True: an L2, whose node must keep old state. */
  readonly isRollup: boolean;
}

const HOSTS = {
  mainnet: "0x620128e2b19193d6bd244a3ac8d3bba0541b19c3",
  testnet: "0x9aa003594d59c62ee17a73a569fd7b1dbdbd71e1",
} as const;
const CHIADO = 10200;
const CHIADO_HOST = "0x58a41b89f4871725e5d898d98ef4bf917601c5eb";

/** The native token's symbol; of rollups it is ETH. */
type Unit = "rollup" | "ETH" | "BNB" | "tBNB" | "xDAI" | "POL" | "DOT" | "PAS";

type ChainRow = readonly [name: string, chainId: number, id: string, explorer: string, unit: Unit];

const rows: Readonly<Record<Network, readonly ChainRow[]>> = {
  mainnet: [
    ["ethereum", 1, "ETH0", "https://etherscan.io", "ETH"],
    ["arbitrum", 42161, "ETH0", "https://arbiscan.io", "rollup"],
    ["optimism", 10, "ETH0", "https://optimistic.etherscan.io", "rollup"],
    ["base", 8453, "ETH0", "https://basescan.org", "rollup"],
    ["soneium", 1868, "ETH0", "https://soneium.blockscout.com", "rollup"],
    ["bsc", 56, "BSC0", "https://bscscan.com", "BNB"],
    ["gnosis", 100, "GNO0", "https://gnosisscan.io", "xDAI"],
    ["polygon", 137, "POLY", "https://polygonscan.com", "POL"],
    ["polkadot-hub", 420420419, "DOT0", "https://blockscout.polkadot.io", "DOT"],
  ],
  testnet: [
    ["sepolia", 11155111, "ETH0", "https://sepolia.etherscan.io", "ETH"],
    ["arbitrum-sepolia", 421614, "ETH0", "https://sepolia.arbiscan.io", "rollup"],
    ["optimism-sepolia", 11155420, "ETH0", "https://optimism-sepolia.blockscout.com", "rollup"],
    ["base-sepolia", 84532, "ETH0", "https://sepolia.basescan.org", "rollup"],
    ["bsc-chapel", 97, "BSC0", "https://testnet.bscscan.com", "tBNB"],
    ["gnosis-chiado", 10200, "GNO0", "https://blockscout.chiadochain.net", "xDAI"],
    ["polygon-amoy", 80002, "POLY", "https://amoy.polygonscan.com", "POL"],
    ["polkadot-hub-paseo", 420420417, "PAS0", "https://blockscout-testnet.polkadot.io", "PAS"],
  ],
};

/** All that can be named, in the order in which they are listed. */
export const namedChains: readonly NamedChain[] = networks.flatMap((network) =>
  rows[network].map(([name, chainId, consensusStateId, explorer, kind]) => {
    const ismpHost = chainId === CHIADO ? CHIADO_HOST : HOSTS[network];
    const isRollup = kind === "rollup";
    const unit = isRollup ? "ETH" : kind;
    return { network, name, chainId, consensusStateId, explorer, unit, ismpHost, isRollup };
  })
);

/**
 * EVM chains whose state is not in Ethereum's trie. Source: polytope-labs/hyperbridge: modules/ismp/state-machines
 * (substrate-evm, pharos, evm/src/tendermint.rs), tesseract/messaging/evm/src/gas_oracle.rs (chain ids);
 * wevm/viem: src/chains/definitions/injective.ts (1776, the id with which Injective went live).
 */
const OTHER_TRIES: readonly { readonly name: string; readonly chainIds: readonly number[] }[] = [
  { name: "Polkadot Hub", chainIds: [420420419, 420420417] },
  { name: "Pharos", chainIds: [688689] },
  { name: "Sei", chainIds: [1329, 1328] },
  { name: "Cronos", chainIds: [25, 338] },
  { name: "Injective", chainIds: [1776, 1440, 1439] },
];

/** Name of an EVM chain whose state is not in Ethereum's trie; `undefined` for all other chains. */
export function findOtherTrie(chain: string): string | undefined {
  return OTHER_TRIES.find(({ chainIds }) => chainIds.some((id) => chain === `EVM-${id}`))?.name;
}

/** How a live hub knows a chain; `undefined` for chains that it does not know. */
export function findNamedChain(chain: string): NamedChain | undefined {
  return namedChains.find(({ chainId }) => chain === `EVM-${chainId}`);
}

/** Advice for missing and wrong values of the entry of an EVM chain: what the live hub uses, or what to write. */
export function liveHints(
  { state_machine: given, signer }: TomlTable,
): (key: string) => string | undefined {
  const live = typeof given === "string" ? findNamedChain(given) : undefined;
  const hints: Readonly<Record<string, string | undefined>> = {
    signer: signer === undefined ? "of a chain that is only a source, write inbound_only = true" : undefined,
    consensus_state_id: live && `the live hub uses "${live.consensusStateId}" for this chain`,
    ismp_host: live && `the live host of this chain is ${live.ismpHost}`,
  };
  return (key) => Object.hasOwn(hints, key) ? hints[key] : undefined;
}
