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
  readonly isRollup: boolean;
}

const rows:
  readonly (readonly [Network, name: string, chainId: number, explorer: string, kind?: "rollup"])[] = [
    ["mainnet", "ethereum", 1, "https://etherscan.io"],
    ["mainnet", "arbitrum", 42161, "https://arbiscan.io", "rollup"],
    ["mainnet", "optimism", 10, "https://optimistic.etherscan.io", "rollup"],
    ["mainnet", "base", 8453, "https://basescan.org", "rollup"],
    ["mainnet", "soneium", 1868, "https://soneium.blockscout.com", "rollup"],
    ["mainnet", "bsc", 56, "https://bscscan.com"],
    ["mainnet", "gnosis", 100, "https://gnosisscan.io"],
    ["mainnet", "polygon", 137, "https://polygonscan.com"],
    ["mainnet", "polkadot-hub", 420420419, "https://blockscout.polkadot.io"],
    ["testnet", "sepolia", 11155111, "https://sepolia.etherscan.io"],
    ["testnet", "arbitrum-sepolia", 421614, "https://sepolia.arbiscan.io", "rollup"],
    ["testnet", "optimism-sepolia", 11155420, "https://optimism-sepolia.blockscout.com", "rollup"],
    ["testnet", "base-sepolia", 84532, "https://sepolia.basescan.org", "rollup"],
    ["testnet", "bsc-chapel", 97, "https://testnet.bscscan.com"],
    ["testnet", "gnosis-chiado", 10200, "https://blockscout.chiadochain.net"],
    ["testnet", "polygon-amoy", 80002, "https://amoy.polygonscan.com"],
    ["testnet", "polkadot-hub-paseo", 420420417, "https://blockscout-testnet.polkadot.io"],
  ];

/** All of them, in the order in which they are listed. */
export const namedChains: readonly NamedChain[] = rows.map(([network, name, chainId, explorer, kind]) => ({
  name,
  network,
  chainId,
  explorer,
  isRollup: kind === "rollup",
}));

/** How the live hub knows a named chain. */
export function liveChainOf({ chainId, name }: NamedChain): LiveChain {
  const live = findLiveChain(evmStateMachine(chainId));
  if (live === undefined) throw new Error(`No live hub knows ${name}`);
  return live;
}
