/** Host sections of rollups: the keys that all kinds have, and what provers are made of. */
import { mapError } from "../spec/client_error.ts";
import { checkEvmEndpoints, type FindContract } from "../checks/evm_endpoints.ts";
import { type ChainClient, type ProverContext, toProverOptions } from "../client.ts";
import { byteConsensusStateId, type EvmChainSection, frequencyKey } from "../config/keys.ts";
import { openEvmReader } from "../evm_reader.ts";
import { type ConsensusProver, ProverFault } from "../prover.ts";
import type { RollupDeps } from "./claims.ts";
import type { RollupOptions } from "./rollup_prover.ts";
import type { CheckJob } from "../../core/checks/check_row.ts";
import { required, type Section, type SectionValues } from "../../core/config/schema.ts";
import { httpUrls, stateMachine } from "../../core/config/values.ts";
import { decodeStrict, ScaleError } from "../../core/encoding/scale.ts";
import { type Address, addressCodec } from "../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdKey } from "../../core/ismp/state_machine.ts";

/** Keys of the host sections of all kinds of rollups. */
export const rollupHostKeys = {
  l1RpcUrls: required("beacon_rpc_url", httpUrls, {
    alias: "ethereum_rpc_url",
    description:
      "JSON-RPC endpoints of the L1: execution nodes, despite the name, with the state of the last " +
      "hour.",
    example: ["https://ethereum.example.org/v1/YOUR-KEY"],
  }),
  l1StateMachine: required("l1_state_machine", stateMachine('"EVM-n" with a chain id', ["EVM-"]), {
    description: "The L1.",
    example: "EVM-1",
  }),
  /** Id under which the hub stores the L1, and the heights of the rollup. */
  l1ConsensusStateId: required("l1_consensus_state_id", byteConsensusStateId, {
    description: "The L1's consensus state on the hub.",
    example: "ETH0",
  }),
  consensusUpdateFrequencySec: frequencyKey(),
};

/** Values of the host sections of all kinds of rollups. */
type RollupHost = SectionValues<typeof rollupHostKeys>;

/** Section of a rollup. Its `consensusStateId` is that of its own client, never the L1's. */
interface RollupSection extends EvmChainSection {
  readonly host: RollupHost;
}

/** A kind of rollups, as {@link defineRollup} makes a light client of it. */
interface RollupDefinition<Host extends RollupHost> {
  readonly knownChains?: readonly number[];
  /** Of the host section. */
  readonly description: string;
  readonly keys: Section<Host>["keys"];
  /** Contracts of the configuration: `l1` has the claims; the state of `l2`, on the rollup, is proved, if there is one. */
  readonly contractsOf: (host: Host) => { readonly l1: Address | undefined; readonly l2?: Address };
  /** Finds the contract of the L1 that the hub stores. @throws {ProverFault} `hub_state` */
  readonly findContract: (
    hub: RollupDeps["hub"],
    id: StateMachineId,
    signal: AbortSignal,
  ) => Promise<Address | undefined>;
  readonly createProver: (deps: RollupDeps, options: RollupOptions, host: Host) => ConsensusProver;
}

/** Defines the light client of a kind of rollups. */
export function defineRollup<Host extends RollupHost>(
  { knownChains, description, keys, contractsOf, findContract, createProver }: RollupDefinition<Host>,
): ChainClient<Host> {
  return {
    ...knownChains && { knownChains },
    networks: {},
    host: { description, keys },
    nodeKeys: ["beacon_rpc_url"],
    findL1: ({ l1StateMachine, l1ConsensusStateId }) => ({
      ...l1StateMachine !== undefined && { stateMachine: l1StateMachine },
      ...l1ConsensusStateId !== undefined && { consensusStateId: l1ConsensusStateId },
    }),
    createChecks: (deps, section) => {
      const { l1, l2 } = contractsOf(section.host);
      const find: FindContract = (signal) => unlessUnreadable(findContract(deps.hub, section, signal));
      return checkRollup(deps, section, { l1: l1 ?? find, l2 });
    },
    createProver: (context, section) => {
      const { l1StateMachine, l1ConsensusStateId } = section.host;
      const l1 = { stateMachine: l1StateMachine, consensusStateId: l1ConsensusStateId };
      return createProver(openRollup(context, section), { ...toProverOptions(section), l1 }, section.host);
    },
  };
}

/** Connects the endpoints of a rollup and of its L1. */
function openRollup(context: ProverContext, section: RollupSection): RollupDeps {
  const { stateMachine, rpcUrls, host, queryBatchSizeBlocks } = section;
  return {
    hub: context.hub,
    // Only events of the L1 are queried.
    l1: openEvmReader(context, {
      stateMachine: host.l1StateMachine,
      urls: host.l1RpcUrls,
      blocksPerLogQuery: queryBatchSizeBlocks === undefined ? undefined : BigInt(queryBatchSizeBlocks),
    }),
    l2: openEvmReader(context, { stateMachine, urls: rpcUrls }),
    log: context.log,
  };
}

/**
 * Creates the checks of a rollup's endpoints. @param contracts `l1`: whose claims are read and proved on the L1; `l2`:
 * whose state is proved on the rollup, if any.
 */
function checkRollup(
  deps: Pick<ProverContext, "clock" | "randomness" | "fetch" | "hub">,
  { stateMachine: chain, rpcUrls, host }: RollupSection,
  contracts: { readonly l1: Address | FindContract; readonly l2: Address | undefined },
): readonly CheckJob[] {
  const { hub } = deps;
  const { l1StateMachine: serves, l1ConsensusStateId: consensusStateId } = host;
  const ofL1 = checkEvmEndpoints(deps, {
    chain,
    serves,
    urls: host.l1RpcUrls,
    key: "beacon_rpc_url",
    logsOf: contracts.l1,
    proofs: { account: contracts.l1, of: { stateMachine: serves, consensusStateId }, hub },
  });
  const ofL2 = checkEvmEndpoints(deps, {
    chain,
    urls: rpcUrls,
    proofs: contracts.l2 && { account: contracts.l2, of: { stateMachine: chain, consensusStateId }, hub },
  });
  return [...ofL1, ...ofL2];
}

/** Decodes the address of a contract. @throws {ScaleError} */
export function decodeContract(stored: Uint8Array): Address {
  return decodeStrict(addressCodec, stored, "contract");
}

/**
 * Decodes a stored value; `undefined` where there is none. @param what names it in the fault. @throws {ProverFault}
 * `hub_state`
 */
export function readStored<T>(
  id: StateMachineId,
  { what, decode }: { readonly what: string; readonly decode: (stored: Uint8Array) => T },
  stored: Uint8Array | undefined,
): T | undefined {
  if (stored === undefined) return undefined;
  return mapError(ScaleError, () => decode(stored), (cause) => {
    const detail = `the ${what} that the hub holds for ${stateMachineIdKey(id)} cannot be read`;
    return new ProverFault("hub_state", { chain: id.stateMachine, detail }, { cause });
  });
}

/** The contract that is found; none where the hub holds something unreadable, which a check of its own reports. */
function unlessUnreadable(found: Promise<Address | undefined>): Promise<Address | undefined> {
  return found.catch((fault) => {
    if (fault instanceof ProverFault) return undefined;
    throw fault;
  });
}
