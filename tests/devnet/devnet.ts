/**
 * The devnet as a whole: two EVM chains, a hub and the oracle between them, in this process and its children.
 * Start reading at {@link startDevnet}; what can be sent over it is in `messages.ts`.
 */
import { fromHex } from "../../src/core/protocol/bytes.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  type StateMachineId,
  stateMachineParts,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/protocol/ismp/state_machine.ts";
import { type Anvil, startAnvil } from "./evm/anvil.ts";
import { deployIsmpHost, type IsmpHost } from "./evm/deploy.ts";
import { type Hub, startHub } from "./hub/hub.ts";
import { type Direction, Oracle } from "./oracle.ts";
import { evmOracleEnd, hubOracleEnd } from "./oracle_ends.ts";
import type { DevnetEndpoints } from "./relayer_config.ts";

/** What can be chosen about a devnet. */
export interface DevnetOptions {
  /** Runtime of the hub. Default `gargantua`. */
  readonly hub?: "gargantua" | "nexus";
  /** Default 31337 and 31338. */
  readonly chainIds?: readonly number[];
  /** Seconds between blocks of the EVM chains, or a block per transaction. Default 1. */
  readonly blockTimeSec?: number | "automine";
  /** Milliseconds between blocks of the hub. Default 1000. */
  readonly hubBlockTimeMs?: number;
  /** Of every chain on the hub, seconds. Default 0. */
  readonly hubChallengePeriodSec?: bigint;
  /** Of the hub on every chain, seconds. Default 0. */
  readonly evmChallengePeriodSec?: bigint;
  /** Senders pay the hub for bandwidth. Default false. */
  readonly bandwidthGate?: boolean;
  /** Fixed ports; unset ones are free ones. */
  readonly ports?: { readonly hub?: number; readonly evm?: readonly number[] };
  /** Default true. False: nobody tells anybody anything until `devnet.oracle.start()`. */
  readonly startsOracle?: boolean;
  /** Time between two looks of the oracle at a head. Default 500. */
  readonly oracleEveryMs?: number;
  /** Told of every update of the oracle. */
  readonly onUpdate?: (update: Direction & { readonly height: bigint }) => void;
}

/** An EVM chain of the devnet. */
export interface DevnetChain {
  /** `A`, `B`, ... in the order of the chain ids. */
  readonly name: string;
  readonly stateMachine: StateMachine;
  /** Under which the hub stores it. */
  readonly consensusStateId: ConsensusStateId;
  readonly node: Anvil;
  readonly host: IsmpHost;
}

/** Light clients of the hub: which one follows the EVM chains, and under which the hub's own height is known. */
const EVM_CLIENT = { stateId: toConsensusStateId("ETH0"), clientId: toConsensusClientId("BEAC") };
const HUB_CLIENT_ID = toConsensusClientId("BEEF");
/** 21 days. */
const UNBONDING_SEC = 1_814_400n;

/**
 * Starts everything and waits until each side knows the other. Takes about 5 s (and as much again when the contracts
 * were never compiled). Stop it, or dispose it with `await using`.
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  await using started = new AsyncDisposableStack();
  const chainIds = options.chainIds ?? [31337, 31338];
  const runtime = options.hub ?? "gargantua";
  const hubMachine = parseStateMachine(runtime === "nexus" ? "POLKADOT-3367" : "KUSAMA-4009");
  const blockTime = options.blockTimeSec ?? 1;
  const chains = await Promise.all(chainIds.map(async (chainId, at): Promise<DevnetChain> => {
    const port = options.ports?.evm?.[at];
    const node = started.use(
      await startAnvil({
        chainId,
        slotsInAnEpoch: 1,
        ...(blockTime === "automine" ? {} : { blockTimeSec: blockTime }),
        ...(port === undefined ? {} : { port }),
      }),
    );
    const host = await deployIsmpHost({
      rpcUrl: node.rpcUrl,
      chainId,
      hub: { stateMachine: hubMachine, paraId: paraIdOf(hubMachine) },
      challengePeriodSec: options.evmChallengePeriodSec ?? 0n,
    });
    const name = String.fromCharCode("A".charCodeAt(0) + at);
    const stateMachine = parseStateMachine(host.stateMachine);
    return { name, stateMachine, consensusStateId: EVM_CLIENT.stateId, node, host };
  }));
  const hub = started.use(await startHub(hubOptions(options, runtime, hubMachine, chains)));
  const oracle = started.use(
    new Oracle({
      hub: hubOracleEnd(hub, chains),
      chains: chains.map((chain) => evmOracleEnd(chain)),
      everyMs: options.oracleEveryMs ?? 500,
      ...(options.onUpdate === undefined ? {} : { onUpdate: options.onUpdate }),
    }),
  );
  if (options.startsOracle !== false) {
    oracle.start();
    await Promise.race([untilToldOnce(oracle, hubMachine, chains), oracle.failed]);
  }
  return new Devnet({ chains, hub, oracle }, started.move());
}

/** A running devnet. */
export class Devnet implements AsyncDisposable {
  readonly chains: readonly DevnetChain[];
  readonly hub: Hub;
  readonly oracle: Oracle;
  readonly #parts: AsyncDisposableStack;

  /** Not for callers: use {@link startDevnet}. */
  constructor(parts: Pick<Devnet, "chains" | "hub" | "oracle">, owned: AsyncDisposableStack) {
    this.chains = parts.chains;
    this.hub = parts.hub;
    this.oracle = parts.oracle;
    this.#parts = owned;
  }

  /** What configurations are made of, see `relayerConfig`. */
  get endpoints(): DevnetEndpoints {
    return {
      hub: { stateMachine: this.hub.identity.stateMachine, wsUrl: this.hub.wsUrl },
      chains: this.chains.map(({ stateMachine, consensusStateId, node, host }) => ({
        stateMachine,
        consensusStateId,
        rpcUrl: node.rpcUrl,
        ismpHost: host.addresses.host,
      })),
    };
  }

  /** The chain with this name (`A`) or state machine (`EVM-31337`). @throws {RangeError} for another one. */
  chain(name: string): DevnetChain {
    const found = this.chains.find((chain) => chain.name === name || chain.stateMachine === name);
    if (found === undefined) throw new RangeError(`No chain ${name} on this devnet`);
    return found;
  }

  /** How the hub stores a chain. */
  idOnHub(chain: DevnetChain): StateMachineId {
    return { stateMachine: chain.stateMachine, consensusStateId: chain.consensusStateId };
  }

  /** Makes blocks on a chain at once; with `automine` the only way to make what is there final. */
  async mine(chain: DevnetChain, blocks: number): Promise<void> {
    await chain.host.node.mine({ blocks });
  }

  /** Ends everything, in order: oracle, hub, nodes. Safe to call twice. */
  async stop(): Promise<void> {
    await this.#parts.disposeAsync();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function hubOptions(
  options: DevnetOptions,
  runtime: "gargantua" | "nexus",
  hub: StateMachine,
  chains: readonly DevnetChain[],
): Parameters<typeof startHub>[0] {
  const periodSec = options.hubChallengePeriodSec ?? 0n;
  const ownId = toConsensusStateId(runtime === "nexus" ? "DOT0" : "PAS0");
  const port = options.ports?.hub;
  return {
    runtime,
    blockTimeMs: options.hubBlockTimeMs ?? 1000,
    bandwidthGate: options.bandwidthGate ?? false,
    clients: [
      {
        ...EVM_CLIENT,
        unbondingPeriodSec: UNBONDING_SEC,
        challengePeriodsSec: new Map(chains.map(({ stateMachine }) => [stateMachine, periodSec])),
      },
      {
        stateId: ownId,
        clientId: HUB_CLIENT_ID,
        unbondingPeriodSec: UNBONDING_SEC,
        challengePeriodsSec: new Map([[hub, 0n]]),
      },
    ],
    hosts: new Map(
      chains.map(({ stateMachine, host }) => [stateMachine, fromHex(host.addresses.host)]),
    ),
    ...(port === undefined ? {} : { port }),
  };
}

function paraIdOf(hub: StateMachine): bigint {
  const parts = stateMachineParts(hub);
  if (parts.tag !== "Polkadot" && parts.tag !== "Kusama") throw new RangeError(`${hub} has no para id`);
  return BigInt(parts.value);
}

async function untilToldOnce(
  oracle: Oracle,
  hub: StateMachine,
  chains: readonly DevnetChain[],
): Promise<void> {
  const directions = chains.flatMap(({ stateMachine }) => [
    { from: stateMachine, to: hub },
    { from: hub, to: stateMachine },
  ]);
  while (directions.some((direction) => oracle.told(direction) === 0n)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
