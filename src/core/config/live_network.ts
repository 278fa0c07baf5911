/**
 * What the live hubs use, for advice in messages and new files: configured values always win.
 * Source: polytope-labs/hyperbridge: tesseract/messaging/evm/src/registry.rs.
 */
import type { TomlTable } from "./toml.ts";
import { evmChainId, IdentifierError, parseStateMachine, type StateMachine } from "../ismp/state_machine.ts";

/** A chain as a live hub knows it. */
export interface LiveChain {
  readonly consensusStateId: string;
  /** Lower-case address of the host contract. */
  readonly ismpHost: string;
}

const MAINNET_HOST = "0x620128e2b19193d6bd244a3ac8d3bba0541b19c3";
const TESTNET_HOST = "0x9aa003594d59c62ee17a73a569fd7b1dbdbd71e1";
const CHIADO_HOST = "0x58a41b89f4871725e5d898d98ef4bf917601c5eb";

/** Chain ids of EVM chains by consensus state id and host. */
const LIVE_GROUPS: readonly (LiveChain & { readonly chainIds: readonly number[] })[] = [
  { consensusStateId: "ETH0", ismpHost: MAINNET_HOST, chainIds: [1, 42161, 10, 8453, 1868] },
  { consensusStateId: "BSC0", ismpHost: MAINNET_HOST, chainIds: [56] },
  { consensusStateId: "GNO0", ismpHost: MAINNET_HOST, chainIds: [100] },
  { consensusStateId: "POLY", ismpHost: MAINNET_HOST, chainIds: [137] },
  { consensusStateId: "DOT0", ismpHost: MAINNET_HOST, chainIds: [420420419] },
  { consensusStateId: "ETH0", ismpHost: TESTNET_HOST, chainIds: [11155111, 421614, 11155420, 84532] },
  { consensusStateId: "BSC0", ismpHost: TESTNET_HOST, chainIds: [97] },
  { consensusStateId: "GNO0", ismpHost: CHIADO_HOST, chainIds: [10200] },
  { consensusStateId: "POLY", ismpHost: TESTNET_HOST, chainIds: [80002] },
  { consensusStateId: "PAS0", ismpHost: TESTNET_HOST, chainIds: [420420417] },
  { consensusStateId: "PHAR", ismpHost: TESTNET_HOST, chainIds: [688689] },
];

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
export function findOtherTrie(evm: StateMachine): string | undefined {
  const chainId = evmChainId(evm);
  return OTHER_TRIES.find(({ chainIds }) => chainIds.includes(chainId))?.name;
}

/** How a live hub knows an EVM chain; `undefined` for chains that it does not know. */
export function findLiveChain(evm: StateMachine): LiveChain | undefined {
  const chainId = evmChainId(evm);
  return LIVE_GROUPS.find((group) => group.chainIds.includes(chainId));
}

const DERIVED = "other relayers derive it; write it here";

/** Keys that newer files of the network's own relayer leave out, with what to write. */
const DERIVED_ELSEWHERE: Readonly<Record<string, string>> = {
  state_machine: DERIVED,
  ismp_host: DERIVED,
  consensus_state_id: DERIVED,
  etherscan_api_key: 'write "" to use prices of the chain alone',
  signer: "of a chain that is only a source, write inbound_only = true instead",
};

/** Advice for missing and wrong values of the entry of an EVM chain: what the live hub uses, or what to write. */
export function liveHints(table: TomlTable): (key: string) => string | undefined {
  const live = typeof table["state_machine"] === "string" ? findLive(table["state_machine"]) : undefined;
  return (key) => {
    const usual = Object.hasOwn(table, key) ? undefined : DERIVED_ELSEWHERE[key];
    if (live === undefined) return usual;
    if (key === "consensus_state_id") return `the live hub uses "${live.consensusStateId}" for this chain`;
    return key === "ismp_host" ? `the live host of this chain is ${live.ismpHost}` : usual;
  };
}

function findLive(stateMachine: string): LiveChain | undefined {
  if (!stateMachine.startsWith("EVM-")) return undefined;
  try {
    return findLiveChain(parseStateMachine(stateMachine));
  } catch (error) {
    if (error instanceof IdentifierError) return undefined;
    throw error;
  }
}
