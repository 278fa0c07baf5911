/**
 * Building blocks for tests of light client updates on the simulated hub: the updates of the vectors, hubs with the
 * clients that take them, and the consensus relayer's adapter.
 */
import { consensusSettings } from "./pallets/consensus_verifiers.ts";
import type { ConsensusTarget, UpdateOutcome } from "../../src/core/chains/consensus_target.ts";
import { createTarget, type TargetOptions } from "../../src/core/chains/substrate/consensus_target.ts";
import { EndpointUrl, Secret } from "../../src/core/config/redact.ts";
import type { Hex } from "../../src/core/encoding/bytes.ts";
import {
  arbitrumConsensusStateCodec,
  arbitrumUpdateCodec,
} from "../../src/consensus/clients/arbitrum/spec/update.ts";
import { bscUpdateCodec } from "../../src/consensus/clients/bsc/spec/update.ts";
import {
  opStackConsensusStateCodec,
  opStackUpdateCodec,
} from "../../src/consensus/clients/op_stack/spec/update.ts";
import {
  beaconConsensusStateCodec,
  stateUpdateCodecs,
} from "../../src/consensus/clients/sync_committee/spec/update.ts";
import {
  evmStateMachine,
  type StateMachineId,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import * as arbitrum from "../../tests/consensus/clients/arbitrum/spec/vectors.ts";
import * as bsc from "../../tests/consensus/clients/bsc/spec/vectors.ts";
import * as opStack from "../../tests/consensus/clients/op_stack/spec/vectors.ts";
import { readSynthetic } from "../../tests/consensus/clients/sync_committee/spec/vectors.ts";
import { countingSocket } from "../../tests/support/counting_socket.ts";
import { RecordedLog } from "../../tests/support/recorded_log.ts";
import { seededRandomness } from "../../tests/support/seeded_randomness.ts";
import { type Hub, type HubOptions, startHub } from "./hub.ts";
import type { NewConsensusClient } from "./pallets/ismp.ts";

/** An EVM chain under a client. */
export function idOf(chainId: number, state: string): StateMachineId {
  return { stateMachine: evmStateMachine(chainId), consensusStateId: toConsensusStateId(state) };
}

/** Sepolia, the L1 of the rollups here. */
export const ethereum: StateMachineId = idOf(11155111, "ETH0");
/** An OP stack rollup under its own client. */
export const optimism: StateMachineId = idOf(11155420, "OPT0");
/** An Arbitrum rollup under its own client. */
export const arbitrumOrbit: StateMachineId = idOf(421614, "ARB0");
/** Chapel. */
export const chapel: StateMachineId = idOf(97, "BSC0");

/** A rollup as the hub stores its heights: under the client of the L1. */
export function underL1(rollup: StateMachineId): StateMachineId {
  return { ...rollup, consensusStateId: ethereum.consensusStateId };
}

/** The synthetic beacon chain of two periods. */
export const beacon = readSynthetic();

/** Proofs of the vectors, as they go into messages. */
export const proofs = {
  /** The second enters the next period. */
  beacon: [beacon.first, beacon.second].map((update) => stateUpdateCodecs.flat.enc(update)),
  /** A fault dispute game and one of an aggregate verifier, for the same block. */
  opStack: [opStack.faultGame, opStack.aggregateGame].map((update) => opStackUpdateCodec.enc(update)),
  /** An assertion and a node, for the same block. */
  arbitrum: [arbitrum.boldUpdate, arbitrum.orbitUpdate].map((update) => arbitrumUpdateCodec.enc(update)),
  /** Stages a set of validators, then puts it in force. */
  bsc: [bsc.staging, bsc.enactment].map((update) => bscUpdateCodec.enc(update)),
} as const;

/** Trusted states on which the first proofs of {@link proofs} build. */
export const states = {
  beacon: beaconConsensusStateCodec.enc({
    frozenHeight: undefined,
    lightClientState: beacon.trusted,
    l2Consensus: new Map(),
    chainId: 11155111,
  }),
  opStack: opStackConsensusStateCodec.enc(
    opStack.opStackState({ finalizedHeight: 1n, stateMachineId: optimism, l1StateMachineId: ethereum }),
  ),
  arbitrum: arbitrumConsensusStateCodec.enc(
    arbitrum.arbitrumState({
      finalizedHeight: 1n,
      stateMachineId: arbitrumOrbit,
      l1StateMachineId: ethereum,
    }),
  ),
  bsc: bsc.states[0] ?? new Uint8Array(),
} as const;

/** A client for one chain that never expires. */
export function client(
  id: StateMachineId,
  clientId: string,
  state: Uint8Array,
  change: Partial<NewConsensusClient> = {},
): NewConsensusClient {
  return {
    stateId: id.consensusStateId,
    clientId: toConsensusClientId(clientId),
    unbondingPeriodSec: 2n ** 64n - 1n,
    challengePeriodsSec: new Map([[id.stateMachine, 0n]]),
    state,
    ...change,
  };
}

const opStackGames = opStack.hubView.disputeGames;
const { rollupCore } = arbitrum.hubView;
if (opStackGames === undefined || rollupCore === undefined) throw new Error("The vectors name no contracts");

/** Contracts of the vectors. */
export const contracts = { games: opStackGames, rollupCore } as const;

/** Commitments of the L1 at which the claims of the vectors are proven. */
const l1Commitments = [opStack.synthetic, arbitrum.synthetic].map((node) => ({
  id: ethereum,
  at: {
    height: node.integer("l1_height"),
    commitment: { timestampSec: 1n, overlayRoot: undefined, stateRoot: node.hash("l1_state_root") },
  },
}));

/** A hub in manual mode with clients of the beacon chain, of BSC and of both rollups, and all that they need. */
export function startConsensusHub(options: HubOptions = {}): Promise<Hub> {
  return startHub({
    blockTimeMs: "manual",
    now: () => 1_800_000_000_000,
    pool: { banMs: 0 },
    clients: [
      client(ethereum, "BEAC", states.beacon, { unbondingPeriodSec: 1000n }),
      client(optimism, "OPTC", states.opStack, { commitments: l1Commitments }),
      client(arbitrumOrbit, "ARBC", states.arbitrum),
      client(chapel, "BSCP", states.bsc),
    ],
    consensus: [
      consensusSettings.disputeGames.to(contracts.games, optimism),
      consensusSettings.rollupCore.to(contracts.rollupCore, arbitrumOrbit),
      consensusSettings.bscEpochLength.to(1000n),
    ],
    ...options,
  });
}

/** Key of the relayer. */
export const submitterKey: Hex = `0x${"42".repeat(32)}`;

/** A connected adapter. */
export interface ConsensusConnection extends AsyncDisposable {
  readonly hub: ConsensusTarget;
  /** Messages that `work` sends; every one is a round trip. */
  trips<T>(work: () => Promise<T>): Promise<readonly [result: T, messages: number]>;
}

/** Connects the consensus relayer's adapter to the hub; closes when disposed of. */
export function connectConsensus(
  { identity, wsUrl }: Pick<Hub, "identity" | "wsUrl">,
  change: Partial<TargetOptions> = {},
): ConsensusConnection {
  const sockets = countingSocket();
  const hub = createTarget({
    clock: systemClock,
    randomness: seededRandomness(1),
    openSocket: sockets.open,
    log: new RecordedLog(),
  }, {
    isHub: true,
    id: { stateMachine: identity.stateMachine, consensusStateId: identity.consensusStateId },
    hashing: "Keccak",
    rpcWs: new EndpointUrl(wsUrl),
    maxRpcPayloadSizeBytes: 15_000_000,
    maxConcurrentQueries: 10,
    signer: new Secret(submitterKey),
    ...change,
  });
  return {
    hub,
    trips: sockets.trips,
    [Symbol.asyncDispose]: () => hub.close(),
  };
}

/** Sends proofs of one client in one extrinsic, makes the block that takes it, and tells what became of it. */
export async function include(
  simulated: Hub,
  hub: ConsensusTarget,
  id: StateMachineId,
  sent: readonly Uint8Array[],
): Promise<UpdateOutcome> {
  const { signal } = new AbortController();
  const submission = await hub.updates.prepareUpdates({ id: id.consensusStateId, proofs: sent }, signal);
  const { kind } = await hub.sender.broadcast(submission, signal);
  if (kind !== "sent") throw new Error(`The pool said ${kind}`);
  simulated.produceBlock();
  return await hub.outcomes.fetchOutcome(submission, signal);
}
