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

/** Name, chain id and explorer. */
type ChainRow = readonly [name: string, chainId: number, explorer: string, kind?: "rollup"];

const mainnetRows: readonly ChainRow[] = [
  ["ethereum", 1, "https://etherscan.io"],
  ["arbitrum", 42161, "https://arbiscan.io", "rollup"],
  ["optimism", 10, "https://optimistic.etherscan.io", "rollup"],
  ["base", 8453, "https://basescan.org", "rollup"],
  ["soneium", 1868, "https://soneium.blockscout.com", "rollup"],
  ["bsc", 56, "https://bscscan.com"],
  ["gnosis", 100, "https://gnosisscan.io"],
  ["polygon", 137, "https://polygonscan.com"],
  ["polkadot-hub", 420420419, "https://blockscout.polkadot.io"],
];

const testnetRows: readonly ChainRow[] = [
  ["sepolia", 11155111, "https://sepolia.etherscan.io"],
  ["arbitrum-sepolia", 421614, "https://sepolia.arbiscan.io", "rollup"],
  ["optimism-sepolia", 11155420, "https://optimism-sepolia.blockscout.com", "rollup"],
  ["base-sepolia", 84532, "https://sepolia.basescan.org", "rollup"],
  ["bsc-chapel", 97, "https://testnet.bscscan.com"],
  ["gnosis-chiado", 10200, "https://blockscout.chiadochain.net"],
  ["polygon-amoy", 80002, "https://amoy.polygonscan.com"],
  ["polkadot-hub-paseo", 420420417, "https://blockscout-testnet.polkadot.io"],
];

/** All of them, in the order in which they are listed. */
export const namedChains: readonly NamedChain[] = [
  ...mainnetRows.map((row) => toNamed("mainnet", row)),
  ...testnetRows.map((row) => toNamed("testnet", row)),
];

function toNamed(network: Network, [name, chainId, explorer, kind]: ChainRow): NamedChain {
  return { name, network, chainId, explorer, isRollup: kind === "rollup" };
}

/** How the live hub knows a named chain. */
export function liveChainOf({ chainId, name }: NamedChain): LiveChain {
  const live = findLiveChain(evmStateMachine(chainId));
  if (live === undefined) throw new Error(`No live hub knows ${name}`);
  return live;
}
