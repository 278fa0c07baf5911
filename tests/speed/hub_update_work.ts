/**
 * The consensus relayer's own provers of the hub at work in a process of its own, so that its processor time is theirs
 * alone: the simulators that they ask are elsewhere.
 * Usage: `hub_update_work.ts <job as JSON>`; prints one line of JSON.
 */
import { cpuUsage } from "node:process";
import { RelaySource } from "../../src/consensus/clients/beefy/relay_source.ts";
import { GrandpaProver } from "../../src/consensus/clients/grandpa/grandpa_prover.ts";
import { RelayChain, type RelayChainDeps } from "../../src/consensus/relay_chain/relay_chain.ts";
import type { ChainEvent } from "../../src/core/chains/reads.ts";
import { createTarget } from "../../src/core/chains/substrate/consensus_target.ts";
import { EndpointUrl, Secret } from "../../src/core/config/redact.ts";
import { fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { decodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { HubWork } from "../../src/core/hub_proofs/hub_work.ts";
import { postMessage } from "../../src/core/ismp/message.ts";
import {
  evmStateMachine,
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
  toParaId,
} from "../../src/core/ismp/state_machine.ts";
import { platformSocket } from "../../src/core/rpc/socket.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { submitterKey } from "../../devnet/hub/consensus_work.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { type LoopLag, watchLoop } from "./process_usage.ts";

/** What is to be proved, of a hub on a relay chain. */
export interface UpdateJob {
  readonly relayUrl: string;
  readonly hub: string;
  /** Times that count; one more comes before them. */
  readonly rounds: number;
  readonly work: GrandpaJob | BeefyJob;
}

/** To a Substrate chain, by votes of GRANDPA. */
interface GrandpaJob {
  readonly kind: "grandpa";
  readonly consensusStateId: string;
  readonly targetUrl: string;
  readonly target: string;
}

/** To an EVM host, by votes of BEEFY. */
interface BeefyJob {
  readonly kind: "beefy";
  /** What the host trusts, as it stores it. */
  readonly trusted: Hex;
}

/** What updates cost. */
export interface ProvingCost {
  readonly rounds: readonly (LoopLag & { readonly cpuMs: number })[];
  /** What is to be submitted. */
  readonly proofs: readonly Hex[];
}

/** Proves once. @throws {Error} when there is nothing to prove. */
type Prove = () => Promise<readonly Uint8Array[]>;

const { signal } = new AbortController();
const deps: RelayChainDeps = {
  clock: systemClock,
  randomness: seededRandomness(1),
  openSocket: platformSocket,
};

function grandpaWork(relay: RelayChain, hub: StateMachine, job: GrandpaJob): Prove {
  const consensusStateId = toConsensusStateId(job.consensusStateId);
  const target = createTarget({ ...deps, log: new RecordedLog() }, {
    id: { stateMachine: parseStateMachine(job.target), consensusStateId },
    hashing: "Blake2",
    rpcWs: new EndpointUrl(job.targetUrl),
    maxRpcPayloadSizeBytes: 15_000_000,
    maxConcurrentQueries: 10,
    signer: new Secret(submitterKey),
  });
  const prover = new GrandpaProver({ relay, target }, {
    stateMachine: hub,
    consensusStateId,
    paraIds: [toParaId(hub)],
    maxBlockRange: 2400,
    slotDurationMs: 6000,
    intervalMs: 300_000,
  });
  return async () => {
    const found = await prover.next(signal);
    if (found.kind === "updates") return found.proofs;
    throw new Error(`Nothing to prove: ${found.reason}`);
  };
}

/** The host knows no height of the hub yet; a message is at the first one. */
function beefyWork(relay: RelayChain, hub: StateMachine, job: BeefyJob): Prove {
  const chain = evmStateMachine(31337);
  const state = decodeBeefyClientState(fromHex(job.trusted));
  if (state === undefined) throw new Error("No state of a BEEFY client");
  const fetchEvents = (): Promise<readonly ChainEvent[]> => Promise.resolve([messageAt(1n, hub, chain)]);
  const fetchFinalHeight = (): Promise<bigint> => Promise.resolve(1n);
  const paraId = toParaId(hub);
  return async () => {
    // A source of its own each time: it remembers what it has proved.
    const work = new HubWork({ events: { fetchEvents }, reads: { fetchFinalHeight } });
    const plan = { hub, hubParaId: paraId, paraIds: [paraId], batchSize: 200 };
    const source = new RelaySource({ relay, work, log: new RecordedLog() }, plan);
    const found = await source.next({ chain, view: { ...unusedView, state, hubHeight: 0n } }, signal);
    if (found.kind === "proofs") return found.proofs;
    throw new Error(`Nothing to prove: ${found.kind === "unable" ? found.detail : found.reason}`);
  };
}

/** What makes a proof of the hub worth its gas for a chain. */
function messageAt(height: bigint, hub: StateMachine, chain: StateMachine): ChainEvent {
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

async function measure({ relayUrl, hub, rounds, work }: UpdateJob): Promise<ProvingCost> {
  const relay = new RelayChain(deps, "relay chain", { rpcWs: new EndpointUrl(relayUrl) });
  const name = parseStateMachine(hub);
  const prove = work.kind === "grandpa" ? grandpaWork(relay, name, work) : beefyWork(relay, name, work);
  // The first time connects, and the simulator signs.
  let proofs = await prove();
  const costs: ProvingCost["rounds"][number][] = [];
  while (costs.length < rounds) {
    const [readLag, cpu] = [watchLoop(), cpuUsage()];
    proofs = await prove();
    const { user, system } = cpuUsage(cpu);
    costs.push({ ...readLag(), cpuMs: (user + system) / 1000 });
  }
  return { rounds: costs, proofs: proofs.map(toHex) };
}

if (import.meta.main) {
  const [job = ""] = Deno.args;
  const text = new TextEncoder().encode(`${JSON.stringify(await measure(JSON.parse(job)))}\n`);
  // A pipe takes part of a long line at a time.
  for (let at = 0; at < text.length;) at += Deno.stdout.writeSync(text.subarray(at));
  Deno.exit();
}
