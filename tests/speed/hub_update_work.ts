/**
 * The consensus relayer's own provers of the hub at work in a process of its own, so that its processor time is theirs
 * alone: the simulators that they ask are elsewhere. Start reading at {@link startUpdateWorker}.
 * As a program it reads a job per line of its input and prints a line of JSON for each.
 */
import { cpuUsage } from "node:process";
import { createRelaySource } from "../../src/consensus/clients/beefy/relay_source.ts";
import { HubWork } from "../../src/core/hub_proofs/hub_work.ts";
import { createGrandpaProver } from "../../src/consensus/clients/grandpa/grandpa_prover.ts";
import { RelayChain } from "../../src/consensus/relay_chain/relay_chain.ts";
import type { ChainEvent } from "../../src/core/chains/reads.ts";
import { createFollowerTarget } from "../../src/core/chains/substrate/consensus_target.ts";
import { EndpointUrl, Secret } from "../../src/core/config/redact.ts";
import { fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { decodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { postMessage } from "../../src/core/ismp/message.ts";
import {
  evmStateMachine,
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
  toParaId,
} from "../../src/core/ismp/state_machine.ts";
import type { SocketDeps } from "../../src/core/rpc/socket.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { submitterKey } from "../../devnet/hub/consensus_work.ts";
import { TextLineStream } from "../../devnet/terminal/text_lines.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { type LoopLag, watchLoop } from "./loop_lag.ts";
import { meteredSocket, type Traffic, trafficSince } from "./metered_socket.ts";
import { median } from "./report.ts";

/** What is to be proved, of a hub on a relay chain. */
export type UpdateJob =
  & {
    readonly relayUrl: string;
    readonly hub: string;
    readonly consensusStateId: string;
    /** Times that count; one more comes before them. */
    readonly rounds: number;
  }
  & (
    /** To a Substrate chain, by votes of GRANDPA. */
    | { readonly kind: "grandpa"; readonly targetUrl: string; readonly target: string }
    /** To an EVM host, by votes of BEEFY. */
    | {
      readonly kind: "beefy";
      /** What the host trusts, as it stores it. */
      readonly trusted: Hex;
      /** Newest height of the hub that the host knows; there is work above. */
      readonly hubHeight: string;
    }
  );

/** What one update costs. */
export interface ProvingCost {
  /** Until the proof is there, the simulator's time for its answers included. */
  readonly ms: number;
  readonly cpuMs: number;
  /** Stalls of the event loop meanwhile, the longest of all rounds. */
  readonly lag: LoopLag;
  /** Of the relay chain. */
  readonly relay: Traffic;
  /** Of the chain that is told. */
  readonly follower: Traffic;
  /** What is to be submitted. */
  readonly proofs: readonly Hex[];
}

/** Work that is measured, with the sockets that it uses. */
interface Bench extends AsyncDisposable {
  /** @returns proofs. @throws {Error} when there is nothing to prove. */
  prove(): Promise<readonly Uint8Array[]>;
  readRelay(): Traffic;
  readFollower(): Traffic;
}

const { signal } = new AbortController();
const nowhere: Traffic = { requests: 0, calls: 0, sentBytes: 0, receivedBytes: 0 };

function openBench(job: UpdateJob): Bench {
  const relaySockets = meteredSocket();
  const url = new EndpointUrl(job.relayUrl);
  const relay = new RelayChain(depsOf(relaySockets.open), "relay chain", { rpcWs: url });
  return job.kind === "grandpa"
    ? { ...grandpaBench(job, relay), readRelay: relaySockets.read }
    : { ...beefyBench(job, relay), readRelay: relaySockets.read };
}

function depsOf(openSocket: SocketDeps["openSocket"]): SocketDeps {
  return { clock: systemClock, randomness: seededRandomness(1), openSocket };
}

type JobOf<K extends UpdateJob["kind"]> = Extract<UpdateJob, { readonly kind: K }>;

function grandpaBench(job: JobOf<"grandpa">, relay: RelayChain): Omit<Bench, "readRelay"> {
  const sockets = meteredSocket();
  const consensusStateId = toConsensusStateId(job.consensusStateId);
  const stateMachine = parseStateMachine(job.hub);
  const target = createFollowerTarget({ ...depsOf(sockets.open), log: new RecordedLog() }, {
    id: { stateMachine: parseStateMachine(job.target), consensusStateId },
    hashing: "Blake2",
    rpcWs: new EndpointUrl(job.targetUrl),
    maxRpcPayloadSizeBytes: 15_000_000,
    maxConcurrentQueries: 10,
    signer: new Secret(submitterKey),
  });
  const prover = createGrandpaProver({ relay, target }, {
    stateMachine,
    consensusStateId,
    paraIds: [toParaId(stateMachine)],
    maxBlockRange: 2400,
    slotDurationMs: 6000,
    intervalMs: 300_000,
  });
  return {
    prove: async () => {
      const found = await prover.next(signal);
      if (found.kind === "updates") return found.proofs;
      throw new Error(`Nothing to prove: ${found.reason}`);
    },
    readFollower: sockets.read,
    [Symbol.asyncDispose]: () => prover.close(),
  };
}

function beefyBench(job: JobOf<"beefy">, relay: RelayChain): Omit<Bench, "readRelay"> {
  const chain = evmStateMachine(31337);
  const hub = parseStateMachine(job.hub);
  const state = decodeBeefyClientState(fromHex(job.trusted));
  if (state === undefined) throw new Error("No state of a BEEFY client");
  const hubHeight = BigInt(job.hubHeight);
  const fetchEvents = (): Promise<readonly ChainEvent[]> =>
    Promise.resolve([workAt(hubHeight + 1n, hub, chain)]);
  const fetchFinalHeight = (): Promise<bigint> => Promise.resolve(hubHeight + 1n);
  return {
    // A source of its own each time: it remembers what it has proved.
    prove: async () => {
      const work = new HubWork({ events: { fetchEvents }, reads: { fetchFinalHeight } });
      const source = createRelaySource({ relay, work, log: new RecordedLog() }, {
        hub,
        hubParaId: toParaId(hub),
        paraIds: [toParaId(hub)],
        batchSize: 200,
      });
      const found = await source.next({ chain, view: { ...unusedView, state, hubHeight } }, signal);
      if (found.kind === "proofs") return found.proofs;
      throw new Error(`Nothing to prove: ${found.kind === "unable" ? found.detail : found.reason}`);
    },
    readFollower: () => nowhere,
    [Symbol.asyncDispose]: () => relay.close(),
  };
}

/** What makes a proof of the hub worth its gas for a chain. */
function workAt(height: bigint, hub: StateMachine, chain: StateMachine): ChainEvent {
  const message = postMessage({
    source: hub,
    dest: chain,
    nonce: 0n,
    from: new Uint8Array(4),
    to: new Uint8Array(20),
    timeoutTimestampSec: 0n,
    body: new Uint8Array(),
  });
  return { kind: "message", message, at: { height, transaction: undefined } };
}

/** What a source of proofs does not look at. */
const unusedView = {
  stateBytes: 256,
  consensusClient: `0x${"00".repeat(20)}`,
  acceptsHub: true,
  nowSec: 0n,
  updatedSec: 0n,
  unstakingSec: 1n,
  challengePeriodSec: 0n,
  isFrozen: false,
  pendingHeight: 0n,
  pendingSetId: 0n,
} as const;

async function measure(job: UpdateJob): Promise<ProvingCost> {
  await using bench = openBench(job);
  // The first time connects, and the simulator signs.
  await bench.prove();
  const rounds: ProvingCost[] = [];
  for (let round = 0; round < job.rounds; round++) {
    const [relay, follower] = [bench.readRelay(), bench.readFollower()];
    const readLag = watchLoop();
    const [startMs, cpu] = [performance.now(), cpuUsage()];
    const proofs = await bench.prove();
    const [ms, used, lag] = [performance.now() - startMs, cpuUsage(cpu), readLag()];
    rounds.push({
      ms,
      cpuMs: (used.user + used.system) / 1000,
      lag,
      relay: trafficSince(relay, bench.readRelay()),
      follower: trafficSince(follower, bench.readFollower()),
      proofs: proofs.map(toHex),
    });
  }
  const [last] = rounds.slice(-1);
  if (last === undefined) throw new RangeError("No rounds");
  return {
    ...last,
    ms: median(rounds.map(({ ms }) => ms)),
    cpuMs: median(rounds.map(({ cpuMs }) => cpuMs)),
    lag: {
      p99Ms: Math.max(...rounds.map(({ lag }) => lag.p99Ms)),
      maxMs: Math.max(...rounds.map(({ lag }) => lag.maxMs)),
    },
  };
}

/** A process that does jobs, one after the other. */
export interface UpdateWorker extends AsyncDisposable {
  /** @throws {Error} when nothing could be proved. */
  measure(job: UpdateJob): Promise<ProvingCost>;
}

/** Starts the process. Dispose it to end it. */
export function startUpdateWorker(): UpdateWorker {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", new URL(import.meta.url).pathname],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  return {
    measure: async (job) => {
      await input.write(new TextEncoder().encode(`${JSON.stringify(job)}\n`));
      const { value } = await lines.read();
      if (value === undefined) throw new Error(`The proof failed: ${job.kind}`);
      return JSON.parse(value);
    },
    [Symbol.asyncDispose]: async () => {
      await input.close().catch(() => undefined);
      await child.status;
      await lines.cancel();
    },
  };
}

if (import.meta.main) {
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const cost = await measure(JSON.parse(line));
    const text = new TextEncoder().encode(`${JSON.stringify(cost)}\n`);
    // A pipe takes part of a long line at a time.
    for (let at = 0; at < text.length;) at += Deno.stdout.writeSync(text.subarray(at));
  }
}
