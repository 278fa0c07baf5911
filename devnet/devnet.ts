/**
 * The devnet as a whole: EVM chains, a hub, the relay chain that makes it final, and the oracle between them, in this
 * process and its children.
 * Start reading at {@link startDevnet}; what can be sent over it is in `messages.ts`.
 */
import type { EvmHostParam } from "./hub/pallets/host_executive.ts";
import { fromHex } from "../src/core/encoding/bytes.ts";
import { encodeBeefyClientState } from "../src/core/evm/beefy_client_state.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  type StateMachineId,
  toParaId,
} from "../src/core/ismp/state_machine.ts";
import { callHttp } from "./hub/json_rpc_client.ts";
import { HOST_ABI } from "./evm/abi.ts";
import type { ConsensusEndpoints } from "./programs/consensus_config.ts";
import { createClients } from "./programs/consensus_relayer.ts";
import { feedsOf, grandpaFollowers, isLeftToOthers } from "./updates/feeds.ts";
import type { DevnetOptions } from "./devnet_options.ts";
import type { Anvil } from "./evm/anvil.ts";
import { deployIsmpHost, type IsmpHost } from "./evm/deploy.ts";
import { encodeHeader } from "./hub/digest.ts";
import { demoModuleId, type Hub, startHub } from "./hub/hub.ts";
import { type HubOptions, identities } from "./hub/hub_options.ts";
import { ownHeaderOf } from "./hub/own_proofs.ts";
import { treasuryAccount } from "./hub/pallets/balances.ts";
import { hostUpdates, HubProver, Prover } from "./updates/hub_prover.ts";
import { Oracle } from "./updates/oracle.ts";
import { createPlantedClients, plantedHeights } from "./updates/planted_heights.ts";
import {
  type HubRuntime,
  type ProvenChain,
  type ProvenChainOptions,
  startProvenChain,
} from "./chains/proven_chains.ts";
import { type ParachainHeads, type RelayChainNode, startRelayChain } from "./relay/relay_chain.ts";
import type { DevnetEndpoints } from "./programs/relayer_config.ts";
import {
  type DevnetSubstrateChain,
  isSiblingOf,
  named,
  startSubstrateChain,
} from "./chains/substrate_chains.ts";
import { followingHub, substrateClients, substrateDirections } from "./updates/substrate_oracle_chain.ts";
import type { ReviveNode } from "./revive/revive_node.ts";
import { POLKADOT_HUB_PARA_ID } from "../src/core/ismp/polkadot_hub.ts";
import { DEADLINE_MS, Patience, pause, WaitFault, waitUntil } from "./waiting.ts";

export type { DevnetOptions } from "./devnet_options.ts";

/** An EVM chain of the devnet. */
export interface DevnetChain {
  /** `A`, `B`, ... in the order of the chain ids. */
  readonly name: string;
  readonly stateMachine: StateMachine;
  /** Under which the hub stores it. */
  readonly consensusStateId: ConsensusStateId;
  readonly node: Anvil;
  /** Where relayers read it: with headers of its own, where its kind has them. */
  readonly rpcUrl: string;
  readonly host: IsmpHost;
  /** How it becomes final. */
  readonly proven: ProvenChain;
}

/** Maximum of milliseconds after which a node answers. */
const MAX_ANSWER_MS = 10_000;
/** Maximum of milliseconds between blocks of the relay chain. */
const RELAY_BLOCK_MS = 250;
/** Blocks of the relay chain behind the best one that are not final. */
const RELAY_LAG = 1;
/** Blocks whose states the relay chain keeps: half an hour. */
const RELAY_STATES = 4096;
/** 21 days. */
const UNBONDING_SEC = 1_814_400n;
/** Native units of the hub (12 decimals) that rewards are paid from. */
const TREASURY = 10n ** 18n;

/**
 * Starts everything and waits until each side knows the other. Takes about 5 s (and as much again when the contracts
 * were never compiled). Stop it, or dispose it with `await using`.
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  await using started = new AsyncDisposableStack();
  const runtime = options.hub ?? "gargantua";
  const accepting = options.acceptsProofs ?? (isLeftToOthers(options) ? {} : undefined);
  const hubMachine = parseStateMachine(runtime === "nexus" ? "POLKADOT-3367" : "KUSAMA-4009");
  const hubPara = toParaId(hubMachine);
  const heads: Hub[] = [];
  const polkadotHubs: ReviveNode[] = [];
  const relay = started.use(
    await startRelayChain({
      blockTimeMs: options.relayBlockTimeMs ?? Math.min(options.hubBlockTimeMs ?? 1000, RELAY_BLOCK_MS),
      finalityLag: RELAY_LAG,
      keepStates: RELAY_STATES,
      dummyParachains: [1002],
      heads: () => headsOf(heads, polkadotHubs),
      onDemand: [hubPara],
      ...options.relay,
    }),
  );
  const beefyState = relay.beefyState();
  const proven = await startProvenChains({ ...options, relayUrl: relay.wsUrl }, started);
  polkadotHubs.push(...proven.flatMap(({ parachain }) => parachain ?? []));
  const chains = await Promise.all(proven.map(async (chain, at): Promise<DevnetChain> => {
    const { node, stateMachine, consensusStateId, rpcUrl } = chain;
    const host = await deployIsmpHost({
      rpcUrl: node.rpcUrl,
      chainId: node.chainId,
      hub: { stateMachine: hubMachine, paraId: BigInt(hubPara) },
      beefyState,
      challengePeriodSec: options.evmChallengePeriodSec ?? 0n,
    });
    return { name: letter(at), stateMachine, consensusStateId, node, rpcUrl, host, proven: chain };
  }));
  const identity = identities[runtime];
  const substrateChains: DevnetSubstrateChain[] = [];
  for (const [at, chosen] of (options.substrateChains ?? []).entries()) {
    const chain = await startSubstrateChain(letter(chains.length + at), identity, {
      ...await followingHub(relay, identity, chosen),
      consensusStateId: `SUB${at}`,
      ...chosen,
    });
    substrateChains.push(chain);
    const node = started.use(chain.node);
    if (isSiblingOf(identity, chain.stateMachine)) heads.push(node);
  }
  const hostParams = await Promise.all(chains.map(({ host }) => readHostParams(host)));
  const hub = started.use(
    await startHub({
      ...hubOptions(
        options,
        runtime,
        chains,
        await substrateClients(relay, identity, {
          chains: substrateChains,
          polkadotHubs: chains.filter(({ proven }) => proven.kind === "polkadot_hub"),
          unbondingPeriodSec: UNBONDING_SEC,
        }),
      ),
      ...accepting && { trustedState: encodeBeefyClientState(beefyState) },
      hostParams: new Map(chains.flatMap(({ stateMachine }, at) => {
        const params = hostParams[at];
        return params === undefined ? [] : [[stateMachine, params] as const];
      })),
    }),
  );
  heads.push(hub);
  for (const { stateMachine, feeTokenDecimals } of substrateChains) {
    void hub.governance.setFeeTokenDecimals(stateMachine, feeTokenDecimals);
  }
  if (options.bandwidthGate !== true) listApplications(hub, chains, substrateChains);
  const endpoints = consensusEndpointsOf({ hub, relay, chains, substrateChains });
  const isPlanted = options.feeds === "planted";
  if (isPlanted) {
    await createPlantedClients(hub, chains, UNBONDING_SEC);
  } else if (chains.length > 0) await createClients(hub, endpoints);
  const proofs = started.use(new HubProver({ relay, finalityLag: RELAY_LAG, paraId: hubPara }));
  while (ownHeaderOf(hub.finalizedHeader) === undefined) hub.produceBlock();
  proofs.cover();
  const prover = accepting && new Prover({ hub, relay, proofs, ...accepting });
  const oracle = started.use(
    new Oracle({
      served: [
        ...prover === undefined ? [] : [{
          direction: { from: hubMachine, to: hubMachine },
          update: (last: bigint, isAsked: boolean) => prover.prove(last, isAsked),
        }],
        ...chains.flatMap((chain) => [
          ...isPlanted
            ? [{
              direction: { from: chain.stateMachine, to: hubMachine },
              update: plantedHeights(hub, chain),
            }]
            : [],
          ...prover === undefined
            ? [{
              direction: { from: hubMachine, to: chain.stateMachine },
              update: hostUpdates(chain.host, proofs),
            }]
            : [],
        ]),
        ...substrateDirections({
          relay,
          finalityLag: RELAY_LAG,
          hub,
          chains: substrateChains,
          others: isLeftToOthers(options) ? grandpaFollowers(substrateChains) : [],
          started,
        }),
      ],
      others: (onFault) => feedsOf(options, { hub, endpoints, substrateChains, onFault }),
      everyMs: options.oracleEveryMs ?? 500,
    }),
  );
  if (options.startsOracle !== false) {
    oracle.start();
    await Promise.race([untilFirstUpdates(oracle), oracle.failed]);
  }
  return new Devnet({ chains, substrateChains, hub, relay, oracle, prover, proofs }, started.move());
}

/** A running devnet. */
export class Devnet implements AsyncDisposable {
  readonly chains: readonly DevnetChain[];
  readonly hub: Hub;
  /** The chain that makes the hub final. */
  readonly relay: RelayChainNode;
  readonly oracle: Oracle;
  readonly substrateChains: readonly DevnetSubstrateChain[];
  /** With `acceptsProofs`, and where a program proves the hub to the hosts. */
  readonly prover: Prover | undefined;
  readonly #proofs: HubProver;
  readonly #parts: AsyncDisposableStack;

  /** Rejects when a part of it ends or stays broken; never resolves. */
  readonly failed: Promise<never>;

  /** Not for callers: use {@link startDevnet}. */
  constructor(
    parts: Pick<Devnet, "chains" | "hub" | "relay" | "oracle" | "substrateChains" | "prover"> & {
      readonly proofs: HubProver;
    },
    owned: AsyncDisposableStack,
  ) {
    this.chains = parts.chains;
    this.substrateChains = parts.substrateChains;
    this.prover = parts.prover;
    this.hub = parts.hub;
    this.relay = parts.relay;
    this.oracle = parts.oracle;
    this.#proofs = parts.proofs;
    this.#parts = owned;
    this.failed = Promise.race([this.oracle.failed, ...this.chains.map(untilNodeEnds)]);
    // Callers race with it; also nodes that are stopped end.
    this.failed.catch(() => undefined);
  }

  /** What configurations are made of, see `relayerConfig`. */
  get endpoints(): DevnetEndpoints {
    return {
      hub: { stateMachine: this.hub.identity.stateMachine, wsUrl: this.hub.wsUrl },
      chains: this.chains.map(({ stateMachine, consensusStateId, rpcUrl, host, proven: { parachain } }) => ({
        stateMachine,
        consensusStateId,
        rpcUrl,
        ismpHost: host.addresses.host,
        ...parachain && { substrateUrl: parachain.wsUrl },
      })),
      substrate: this.substrateChains.map(substrateEndpoint),
    };
  }

  /** What configurations of the consensus relayer are made of, see `consensusConfig`. */
  get consensusEndpoints(): ConsensusEndpoints {
    return consensusEndpointsOf(this);
  }

  /** The chain with this name (`A`) or state machine (`EVM-97`). @throws {RangeError} for another one. */
  chain(name: string): DevnetChain {
    return named(this.chains, name) ?? noChain(name);
  }

  /** The Substrate chain with this name or state machine. @throws {RangeError} for another one. */
  substrateChain(name: string): DevnetSubstrateChain {
    return named(this.substrateChains, name) ?? noChain(name);
  }

  /** How the hub stores a chain. */
  idOnHub(chain: DevnetChain | DevnetSubstrateChain): StateMachineId {
    return { stateMachine: chain.stateMachine, consensusStateId: chain.consensusStateId };
  }

  /** Makes blocks of the relay chain until what is final on the hub now can be proved by the next update. */
  coverHub(): void {
    this.#proofs.cover();
  }

  /** Makes blocks on a chain at once (or waits for them); with `automine` the only way to make what is there final. */
  async mine(chain: DevnetChain, blocks: number): Promise<void> {
    if (chain.node.makesBlocksItself) {
      const wanted = await chain.host.reader.getBlockNumber() + BigInt(blocks);
      await waitUntil(
        `${chain.name} has ${blocks} blocks more`,
        async () => await chain.host.reader.getBlockNumber() >= wanted,
        { deadlineMs: blocks * DEADLINE_MS },
      );
      return;
    }
    await chain.host.node.mine({ blocks });
  }

  /** What is wrong with a node of a chain: it has ended, or does not answer. */
  async findBroken(): Promise<DevnetFault | undefined> {
    const ask = ({ name, stateMachine, node }: DevnetChain): Promise<unknown> =>
      callHttp(node.rpcUrl, "eth_chainId", [], AbortSignal.timeout(MAX_ANSWER_MS)).catch(() => {
        throw new DevnetFault(`The node of chain ${name} (${stateMachine}) does not answer`);
      });
    try {
      // Those that have ended have said so before others are asked.
      await Promise.race([this.failed, Promise.all(this.chains.map(ask))]);
    } catch (error) {
      if (error instanceof DevnetFault) return error;
    }
    return undefined;
  }

  /** Ends everything, in order: oracle, hub, nodes. Safe to call twice. */
  stop(): Promise<void> {
    return this.#parts.disposeAsync();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function noChain(name: string): never {
  throw new RangeError(`No chain ${name} on this devnet`);
}

/** The hub's governance lets the devnet's applications send without bandwidth, as it does with those it sponsors. */
function listApplications(
  hub: Hub,
  chains: readonly DevnetChain[],
  substrateChains: readonly DevnetSubstrateChain[],
): void {
  for (const { stateMachine, host } of chains) {
    void hub.setBandwidthAllowlist(stateMachine, fromHex(host.addresses.ping), true);
  }
  for (const { stateMachine } of substrateChains) {
    void hub.setBandwidthAllowlist(stateMachine, demoModuleId, true);
  }
}

function consensusEndpointsOf(
  { hub, relay, chains, substrateChains }: Pick<Devnet, "hub" | "relay" | "chains" | "substrateChains">,
): ConsensusEndpoints {
  return {
    hub: { stateMachine: hub.identity.stateMachine, wsUrl: hub.wsUrl },
    relay: { wsUrl: relay.wsUrl },
    chains: chains.map(({ proven, host }) => ({ proven, ismpHost: host.addresses.host })),
    substrate: substrateChains.map(substrateEndpoint),
  };
}

function substrateEndpoint(chain: DevnetSubstrateChain): ConsensusEndpoints["substrate"][number] {
  const { stateMachine, consensusStateId, hashing, feeTokenDecimals, node } = chain;
  return { stateMachine, consensusStateId, wsUrl: node.wsUrl, hashing, feeTokenDecimals };
}

function hubOptions(
  options: DevnetOptions,
  runtime: HubRuntime,
  chains: readonly DevnetChain[],
  { clients, consensus, relayParent }: Pick<HubOptions, "clients" | "consensus" | "relayParent">,
): HubOptions {
  const port = options.ports?.hub;
  return {
    runtime,
    blockTimeMs: options.hubBlockTimeMs ?? 1000,
    bandwidthGate: true,
    ...clients && { clients },
    consensus: [...chains.flatMap(({ proven }) => proven.settings), ...consensus ?? []],
    ...relayParent && { relayParent },
    balances: new Map([[treasuryAccount, TREASURY]]),
    hosts: new Map(
      chains.map(({ stateMachine, host }) => [stateMachine, fromHex(host.addresses.host)]),
    ),
    ...(port === undefined ? {} : { port }),
  };
}

/** All kinds at once, the L1 first. */
async function startProvenChains(
  options: DevnetOptions & Pick<ProvenChainOptions, "relayUrl">,
  started: AsyncDisposableStack,
): Promise<readonly ProvenChain[]> {
  const kinds = options.kinds ?? ["beacon", "bsc"];
  const chosen = (at: number): ProvenChainOptions => {
    const port = options.ports?.evm?.[at];
    return {
      blockTimeSec: options.blockTimeSec ?? 1,
      hub: options.hub ?? "gargantua",
      isProven: options.feeds !== "planted",
      ...options.relayUrl !== undefined && { relayUrl: options.relayUrl },
      ...options.proven,
      ...port === undefined ? {} : { port },
    };
  };
  const first = kinds.indexOf("beacon");
  const l1 = first === -1 ? undefined : started.use(await startProvenChain("beacon", chosen(first)));
  return await Promise.all(kinds.map(async (kind, at) => {
    if (kind === "beacon" && l1 !== undefined) return l1;
    return started.use(await startProvenChain(kind, chosen(at), l1));
  }));
}

/** Parachains as heads of the relay chain, once they have a final block that can be proved. */
function headsOf(parachains: readonly Hub[], polkadotHubs: readonly ReviveNode[]): ParachainHeads {
  return new Map([
    ...parachains.filter(({ finalizedHeader }) => ownHeaderOf(finalizedHeader) !== undefined)
      .map(({ identity, finalizedHeader }) =>
        [toParaId(identity.stateMachine), encodeHeader(finalizedHeader)] as const
      ),
    ...polkadotHubs.map(({ head }) => [POLKADOT_HUB_PARA_ID, encodeHeader(head)] as const),
  ]);
}

/** `A`, `B`, ... */
function letter(at: number): string {
  return String.fromCharCode("A".charCodeAt(0) + at);
}

/** The parameters of a host that the hub must know to pay out fees from it. */
export async function readHostParams(host: IsmpHost): Promise<EvmHostParam> {
  const address = host.addresses.host;
  const params = await host.reader.readContract({ address, abi: HOST_ABI, functionName: "hostParams" });
  return {
    feeToken: fromHex(params.feeToken),
    admin: fromHex(params.admin),
    handler: fromHex(params.handler),
    hostManager: fromHex(params.hostManager),
    uniswapV2: fromHex(params.uniswapV2),
    unStakingPeriodSec: params.unStakingPeriod,
    challengePeriodSec: params.challengePeriod,
    consensusClient: fromHex(params.consensusClient),
    stateMachines: params.stateMachines.map(Number),
    hyperbridge: fromHex(params.hyperbridge),
  };
}

async function untilFirstUpdates(oracle: Oracle): Promise<void> {
  const open = (): string =>
    oracle.directions.filter((direction) => oracle.lastHeight(direction) === 0n)
      .map(({ from, to }) => `${from} -> ${to}`).join(", ");
  const patience = new Patience();
  for (let before = open(); before !== "";) {
    if (patience.isOver) throw new WaitFault(`first updates ${before}`, patience);
    await pause(50);
    const now = open();
    if (now !== before) patience.renew();
    before = now;
  }
}

/** A node of the devnet is gone. */
export class DevnetFault extends Error {
  override readonly name = "DevnetFault";
}

/** Rejects when the node of a chain ends before the devnet is stopped. */
async function untilNodeEnds({ name, stateMachine, node }: DevnetChain): Promise<never> {
  const { code, signal } = await node.ended;
  throw new DevnetFault(
    `The node of chain ${name} (${stateMachine}) ended by itself, ${signal ?? `with status ${code}`}`,
  );
}
