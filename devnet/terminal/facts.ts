/** What somebody outside needs to know of a running devnet, as text and as JSON. */
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../evm/accounts.ts";
import type { HostAddresses } from "../evm/deploy.ts";
import type { Devnet } from "../devnet.ts";
import { table } from "./progress.ts";
import { type ChainKind, kindTexts } from "../chains/proven_chains.ts";

/** Everything, machine-readable. */
export interface DevnetFacts {
  readonly hub: {
    readonly stateMachine: string;
    readonly consensusStateId: string;
    readonly wsUrl: string;
    readonly httpUrl: string;
  };
  /** The chain whose authorities make the hub final. */
  readonly relay: { readonly wsUrl: string; readonly httpUrl: string };
  readonly substrateChains: readonly {
    readonly name: string;
    readonly stateMachine: string;
    readonly consensusStateId: string;
    readonly wsUrl: string;
    readonly httpUrl: string;
  }[];
  readonly chains: readonly {
    readonly name: string;
    readonly kind: ChainKind;
    readonly stateMachine: string;
    readonly chainId: number;
    readonly consensusStateId: string;
    readonly rpcUrl: string;
    readonly contracts: HostAddresses;
  }[];
  /** 10,000 native tokens each on every chain; `user` has fee tokens too. */
  readonly accounts: readonly {
    readonly role: DevnetRole;
    readonly address: string;
    readonly privateKey: string;
  }[];
  /** Paths of configuration files of `causeway`, by the role that signs. */
  readonly configs: Readonly<Record<string, string>>;
  /** Path of a configuration file of `causeway-consensus`, for the EVM chains. */
  readonly consensusConfig: string;
  /** Of another one, which tells Substrate chains of the hub; only where there are any. */
  readonly grandpaConfig?: string;
}

/** What each account is for. */
const PURPOSES: Readonly<Record<DevnetRole, string>> = {
  deployer: "owns the contracts",
  relayer: "a relayer",
  user: "sends messages",
  relayer2: "a second relayer",
  oracle: "delivers the hub's proofs",
  proposer: "makes claims about rollups on their L1",
};

/** Gathers the facts. */
export function devnetFacts(
  devnet: Devnet,
  files: Pick<DevnetFacts, "configs" | "consensusConfig" | "grandpaConfig">,
): DevnetFacts {
  const { stateMachine, consensusStateId } = devnet.hub.identity;
  return {
    hub: { stateMachine, consensusStateId, wsUrl: devnet.hub.wsUrl, httpUrl: devnet.hub.httpUrl },
    relay: { wsUrl: devnet.relay.wsUrl, httpUrl: devnet.relay.httpUrl },
    substrateChains: devnet.substrateChains.map(({ name, stateMachine, consensusStateId, node }) => ({
      name,
      stateMachine,
      consensusStateId,
      wsUrl: node.wsUrl,
      httpUrl: node.httpUrl,
    })),
    chains: devnet.chains.map((chain) => ({
      name: chain.name,
      kind: chain.proven.kind,
      stateMachine: chain.stateMachine,
      chainId: chain.node.chainId,
      consensusStateId: chain.consensusStateId,
      rpcUrl: chain.rpcUrl,
      contracts: chain.host.addresses,
    })),
    accounts: roles().map((role) => ({
      role,
      address: DEVNET_ACCOUNTS[role].address,
      privateKey: DEVNET_KEYS[role],
    })),
    ...files,
  };
}

function roles(): readonly DevnetRole[] {
  return ["relayer", "relayer2", "user", "oracle", "deployer"];
}

/** The facts for a person, as lines. */
export function describeFacts(facts: DevnetFacts): string[] {
  const { hub, relay, chains, substrateChains } = facts;
  return [
    "Chains",
    ...block([
      ["hub", hub.stateMachine, hub.consensusStateId, "verifies every proof", hub.wsUrl],
      ...chains.map((chain) => [
        chain.name,
        chain.stateMachine,
        chain.consensusStateId,
        kindTexts[chain.kind],
        chain.rpcUrl,
      ]),
      ...substrateChains.map((chain) => [
        chain.name,
        chain.stateMachine,
        chain.consensusStateId,
        "Substrate, final by votes of its own",
        chain.wsUrl,
      ]),
      ["relay", "", "", "its authorities make the hub final", relay.wsUrl],
    ]),
    "",
    ...contracts(chains),
    "",
    "Accounts (10,000 native tokens on every chain; the keys are public knowledge and worth nothing)",
    ...block(facts.accounts.map(({ role, address, privateKey }) => [
      `${role} (${PURPOSES[role]})`,
      address,
      privateKey,
    ])),
    "",
    "Configuration files",
    ...block([
      ...Object.entries(facts.configs).map(([role, path]) => [`causeway, signed by ${role}`, path]),
      ["causeway-consensus", facts.consensusConfig],
      ...facts.grandpaConfig === undefined
        ? []
        : [["causeway-consensus, for Substrate chains", facts.grandpaConfig]],
    ]),
  ];
}

/** Fresh chains have the same addresses, which are shown once then. */
function contracts(chains: DevnetFacts["chains"]): string[] {
  const groups = Map.groupBy(chains, (chain) => JSON.stringify(chain.contracts));
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const names = [first, ...others].map(({ name }) => name).join(" and ");
    return [`Contracts on ${names}`, ...block(Object.entries(first.contracts))];
  });
}

function block(rows: readonly (readonly string[])[]): string[] {
  return table(rows, "left").map((line) => `  ${line}`);
}
