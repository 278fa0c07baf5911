/**
 * Names under which `config init` knows the EVM chains of the live hubs. Chain ids and explorers:
 * wevm/viem: src/chains/definitions, for Polkadot Hub on Paseo polytope-labs/hyperbridge:
 * docs/content/developers/evm/contract-addresses/testnet.mdx; hubs: polytope-labs/hyperbridge: docs/content/developers/network/relayer.mdx (Nexus
 * is the parachain 3367 of Polkadot, Gargantua 4009 of Paseo, which hubs call KUSAMA).
 */
import { evmStateMachine, parseStateMachine, type StateMachine } from "../ismp/state_machine.ts";
import { findLiveChain, type LiveChain } from "./live_network.ts";

/** Network of a hub. */
export type Network = "mainnet" | "testnet";

/** The hub of a network. */
export const liveHubs: Readonly<Record<Network, StateMachine>> = {
  mainnet: parseStateMachine("POLKADOT-3367"),
  testnet: parseStateMachine("KUSAMA-4009"),
};

/** A chain that can be named. */
export interface NamedChain {
  /** Also the name of its section. */
  readonly name: string;
  readonly network: Network;
  readonly chainId: number;
  readonly explorer: string;
  /** True: an L2, whose node must keep old state. */
  readonly isRollup?: boolean;
}

/** All of them, in the order in which they are listed. */
export const namedChains: readonly NamedChain[] = [
  { name: "ethereum", network: "mainnet", chainId: 1, explorer: "https://etherscan.io" },
  { name: "arbitrum", network: "mainnet", chainId: 42161, explorer: "https://arbiscan.io", isRollup: true },
  {
    name: "optimism",
    network: "mainnet",
    chainId: 10,
    explorer: "https://optimistic.etherscan.io",
    isRollup: true,
  },
  { name: "base", network: "mainnet", chainId: 8453, explorer: "https://basescan.org", isRollup: true },
  {
    name: "soneium",
    network: "mainnet",
    chainId: 1868,
    explorer: "https://soneium.blockscout.com",
    isRollup: true,
  },
  { name: "bsc", network: "mainnet", chainId: 56, explorer: "https://bscscan.com" },
  { name: "gnosis", network: "mainnet", chainId: 100, explorer: "https://gnosisscan.io" },
  { name: "polygon", network: "mainnet", chainId: 137, explorer: "https://polygonscan.com" },
  {
    name: "polkadot-hub",
    network: "mainnet",
    chainId: 420420419,
    explorer: "https://blockscout.polkadot.io",
  },
  { name: "sepolia", network: "testnet", chainId: 11155111, explorer: "https://sepolia.etherscan.io" },
  {
    name: "arbitrum-sepolia",
    network: "testnet",
    chainId: 421614,
    explorer: "https://sepolia.arbiscan.io",
    isRollup: true,
  },
  {
    name: "optimism-sepolia",
    network: "testnet",
    chainId: 11155420,
    explorer: "https://optimism-sepolia.blockscout.com",
    isRollup: true,
  },
  {
    name: "base-sepolia",
    network: "testnet",
    chainId: 84532,
    explorer: "https://sepolia.basescan.org",
    isRollup: true,
  },
  { name: "bsc-chapel", network: "testnet", chainId: 97, explorer: "https://testnet.bscscan.com" },
  {
    name: "gnosis-chiado",
    network: "testnet",
    chainId: 10200,
    explorer: "https://blockscout.chiadochain.net",
  },
  { name: "polygon-amoy", network: "testnet", chainId: 80002, explorer: "https://amoy.polygonscan.com" },
  {
    name: "polkadot-hub-paseo",
    network: "testnet",
    chainId: 420420417,
    explorer: "https://blockscout-testnet.polkadot.io",
  },
];

/** How the live hub knows a named chain. */
export function liveChainOf({ chainId, name }: NamedChain): LiveChain {
  const live = findLiveChain(evmStateMachine(chainId));
  if (live === undefined) throw new Error(`No live hub knows ${name}`);
  return live;
}
