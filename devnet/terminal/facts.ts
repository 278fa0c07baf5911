/** What somebody outside needs to know of a running devnet, as text and as JSON. */
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../evm/accounts.ts";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { table } from "./progress.ts";
import { kindTexts } from "../chains/proven_chains.ts";

/** Everything, machine-readable. */
export type DevnetFacts = ReturnType<typeof devnetFacts>;

/** The files that were written. */
interface FactFiles {
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

/** All chains; the authorities of `relay` make the hub final. */
export const chainFacts = ({ hub, relay, chains, substrateChains }: Devnet) => ({
  hub: { ...identityOf(hub.identity), ...urlsOf(hub) },
  relay: urlsOf(relay),
  substrateChains: substrateChains.map((chain) => ({
    name: chain.name,
    ...identityOf(chain),
    ...urlsOf(chain.node),
  })),
  chains: chains.map((chain) => ({
    name: chain.name,
    kind: chain.proven.kind,
    ...identityOf(chain),
    chainId: chain.node.chainId,
    rpcUrl: chain.rpcUrl,
    contracts: chain.host.addresses,
  })),
});

type ChainsFacts = ReturnType<typeof chainFacts>;

const identityOf = (
  { stateMachine, consensusStateId }: Pick<DevnetChain, "stateMachine" | "consensusStateId">,
) => ({
  stateMachine,
  consensusStateId,
});

const urlsOf = ({ wsUrl, httpUrl }: Pick<Devnet["hub"], "wsUrl" | "httpUrl">) => ({ wsUrl, httpUrl });

/** Gathers the facts. Accounts have 10,000 native tokens each on every chain; `user` has fee tokens too. */
export const devnetFacts = (devnet: Devnet, files: FactFiles) => ({
  ...chainFacts(devnet),
  accounts: roles().map((role) => ({
    role,
    address: DEVNET_ACCOUNTS[role].address,
    privateKey: DEVNET_KEYS[role],
  })),
  ...files,
});

function roles(): readonly DevnetRole[] {
  return ["relayer", "relayer2", "user", "oracle", "deployer"];
}

/** The facts for a person, as lines. */
export function describeFacts(facts: DevnetFacts): string[] {
  return [
    "Chains",
    ...describeChains(facts),
    "",
    ...contracts(facts.chains),
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

/** A line for each chain. */
export function describeChains({ hub, relay, chains, substrateChains }: ChainsFacts): string[] {
  return block([
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
  ]);
}

/** Fresh chains have the same addresses, which are shown once then. */
function contracts(chains: ChainsFacts["chains"]): string[] {
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
