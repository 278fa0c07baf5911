/**
 * A beacon chain, beacon nodes of it that misbehave each in its own way, and a hub that takes what it verifies: all
 * that the prover sees.
 */
import { openEvmReader } from "../../../../src/consensus/evm_reader.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { RestEndpoint } from "../../../../src/consensus/rest/rest_endpoint.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { decodeBeaconConsensusState } from "../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import {
  type BeaconConsensusState,
  beaconConsensusStateCodec,
  type UpdateLayout,
} from "../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { sepolia } from "../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { evmStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { type Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import type { ConsensusProver, ProverFinding } from "../../../../src/consensus/prover.ts";
import { SyncCommitteeProver } from "../../../../src/consensus/clients/sync_committee/sync_committee_prover.ts";
import { type Beacon, type BeaconOptions, startBeacon } from "../../../../devnet/beacon/beacon.ts";
import {
  type AmsterdamFork,
  amsterdamHeaderRule,
  type HeaderRewriter,
  startHeaderRewriter,
} from "../../../../devnet/evm/header_rewriter.ts";
import { checkBeaconUpdate } from "../../../../devnet/hub/verifiers/beacon/beacon_client.ts";
import { type Anvil, startAnvil } from "../../../../devnet/evm/anvil.ts";
import { ClientTarget } from "../../../support/client_target.ts";
import type { UpdateRules } from "../../../support/memory_target.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";

export const eth0 = toConsensusStateId("ETH0");
export const never: AbortSignal = new AbortController().signal;
/** Longest pause that the clock lets pass at once; longer waits are deadlines, which nobody here runs into. */
const MAX_PAUSE_MS = 5000;

/** Epoch of Gloas on Sepolia. */
export const GLOAS_EPOCH = 353_024n;

/** Time that passes by itself when somebody pauses, and by hand. */
export class PassingClock implements Clock {
  #nowMs = Date.UTC(2026, 0, 1);

  now(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= MAX_PAUSE_MS) {
      this.#nowMs += ms;
      return Promise.resolve();
    }
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  }

  after(ms: number, work: () => void): () => void {
    if (ms > MAX_PAUSE_MS) return () => {};
    this.#nowMs += ms;
    queueMicrotask(work);
    return () => {};
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}

/** What one node does otherwise than the honest one behind it. */
export interface Mischief {
  /** Status instead of the answer; the text is a message of the node. */
  readonly status?: (path: string) => number | undefined;
  /** What it says instead, of answers in JSON. It is asked for JSON only when this is set and says so. */
  readonly json?: (path: string, body: unknown) => unknown;
  /** What it says instead, of answers in bytes. */
  readonly bytes?: (path: string, bytes: Uint8Array) => Uint8Array;
}

/** What a hub's runtime knows of beacon chains; may change, as by an upgrade. */
export interface HubRuntime {
  layout: UpdateLayout;
  /** Epoch of Gloas, in a runtime that knows it. */
  gloasEpoch?: bigint;
}

/** A hub without a client of the chain yet, which judges updates by the code of the hub simulator. */
export function beaconTarget(runtime: HubRuntime = { layout: "flat" }): ClientTarget<BeaconConsensusState> {
  const rules: UpdateRules = (proof, client) => {
    const { layout, gloasEpoch } = runtime;
    const versions = sepolia.forks.filter(({ name }) => name !== "gloas" || gloasEpoch !== undefined);
    const known = { ...sepolia, layout, versions, gloasEpoch };
    const { state, commitment } = checkBeaconUpdate(known, { trusted: client.state, proof, stateId: eth0 });
    return { state, commitments: [commitment] };
  };
  const target: ClientTarget<BeaconConsensusState> = new ClientTarget<BeaconConsensusState>({
    id: eth0,
    clientId: sepolia.clientId,
    unbondingSec: 5_832_000n,
    chain: { stateMachine: evmStateMachine(sepolia.chainId), consensusStateId: eth0 },
    codec: { enc: beaconConsensusStateCodec.enc, dec: decodeBeaconConsensusState },
    rules,
    isReadable: (proof) => {
      try {
        return target.view !== undefined && rules(proof, { id: eth0, ...target.view }, target) !== undefined;
      } catch {
        return false;
      }
    },
  });
  target.nowSec = BigInt(Date.UTC(2026, 0, 1)) / 1000n;
  return target;
}

/** A chain with its nodes, and a prover that looks at it for a hub. */
export class Fixture implements AsyncDisposable {
  readonly clock = new PassingClock();
  readonly log = new RecordedLog();
  /** How the execution node is asked. */
  executionFetch: Fetch = platformFetch;
  readonly #mischief = new Map<string, Mischief>();
  /** Paths that were asked, by host, in order. */
  readonly asked: { readonly host: string; readonly path: string }[] = [];

  private constructor(
    readonly anvil: Anvil,
    readonly beacon: Beacon,
    readonly hub: ClientTarget<BeaconConsensusState>,
    readonly rewriter?: HeaderRewriter,
  ) {}

  /** The same before Sepolia's Gloas, with execution headers of Amsterdam from there on. */
  static async startBeforeGloas(options: Partial<BeaconOptions>, hub = beaconTarget()): Promise<Fixture> {
    const anvil = await startAnvil({ chainId: sepolia.chainId });
    const fork: AmsterdamFork = { fromBlock: Infinity };
    const rewriter = await startHeaderRewriter({ upstream: anvil.rpcUrl, rule: amsterdamHeaderRule(fork) });
    const startEpoch = Number(GLOAS_EPOCH) - 5;
    const beacon = await startBeacon({ executionUrl: rewriter.rpcUrl, pollMs: 0, startEpoch, ...options });
    fork.fromBlock = beacon.executionBlockAt(GLOAS_EPOCH);
    await beacon.mine(8);
    return new Fixture(anvil, beacon, hub, rewriter);
  }

  /** A chain with some finality. The hub has no client yet. */
  static async start(options: Partial<BeaconOptions> = {}, hub = beaconTarget()): Promise<Fixture> {
    const anvil = await startAnvil({ chainId: sepolia.chainId });
    const beacon = await startBeacon({ executionUrl: anvil.rpcUrl, pollMs: 0, ...options });
    await beacon.mine(8);
    return new Fixture(anvil, beacon, hub);
  }

  /** The same, with a client on the hub that a prover at these hosts follows. */
  static async following(
    hosts: readonly string[] = ["honest"],
    options: Partial<BeaconOptions> = {},
    hub = beaconTarget(),
  ): Promise<Fixture & { readonly following: ConsensusProver }> {
    const fixture = await Fixture.start(options, hub);
    const following = fixture.prover(hosts);
    await fixture.startClient(following);
    return Object.assign(fixture, { following });
  }

  /** Names of hosts behind which the same chain is; each may be made to misbehave. */
  prover(hosts: readonly string[] = ["honest"]): ConsensusProver {
    const chain = evmStateMachine(sepolia.chainId);
    const deps = { clock: this.clock, randomness: seededRandomness(1) };
    return new SyncCommitteeProver({
      ...deps,
      hub: this.hub,
      execution: openEvmReader(
        { ...deps, fetch: (url, init) => this.executionFetch(url, init), log: this.log },
        { stateMachine: chain, urls: [new EndpointUrl(this.rewriter?.rpcUrl ?? this.anvil.rpcUrl)] },
      ),
      fetch: this.#fetch,
      log: this.log,
    }, {
      stateMachine: chain,
      network: sepolia,
      consensusStateId: eth0,
      beaconUrls: hosts.map((host) => new EndpointUrl(`http://${host}/key-0123456789abcdef01234567`)),
      intervalMs: 12_000,
    });
  }

  /** Nodes of these hosts, outside of any prover. */
  nodes(hosts: readonly string[]): readonly RestEndpoint[] {
    const chain = evmStateMachine(sepolia.chainId);
    const deps = { clock: systemClock, fetch: this.#fetch };
    return hosts.map((host) =>
      new RestEndpoint(deps, { url: `http://${host}/key-0123456789abcdef01234567`, chain })
    );
  }

  /** Makes a node misbehave, or behave again. */
  spoil(host: string, mischief: Mischief | undefined): void {
    if (mischief === undefined) this.#mischief.delete(host);
    else this.#mischief.set(host, mischief);
  }

  /**
   * Starts the hub's client at what is final now. Light client objects are of the block before the head, so that one
   * block more makes up for it: from there on every four blocks are an update.
   */
  async startClient(prover: ConsensusProver): Promise<void> {
    this.hub.start((await prover.fetchInitialState(never)).state);
    await this.beacon.mine(1);
  }

  /** Looks until there is nothing more, each finding being accepted. @returns the findings with updates. */
  async follow(prover: ConsensusProver, most = 10): Promise<Extract<ProverFinding, { kind: "updates" }>[]> {
    const found: Extract<ProverFinding, { kind: "updates" }>[] = [];
    for (let look = 0; look < most; look++) {
      const finding = await prover.next(never);
      if (finding.kind === "nothing") return found;
      this.hub.take(finding.proofs);
      found.push(finding);
    }
    throw new Error(`More than ${most} updates`);
  }

  readonly #fetch: Fetch = async (url, init) => {
    const { hostname: host, pathname, search } = new URL(url);
    const path = pathname.replace(/^\/key-[0-9a-f]+/, "") + search;
    this.asked.push({ host, path });
    const mischief = this.#mischief.get(host);
    const status = mischief?.status?.(path);
    if (status !== undefined) return Response.json({ code: status, message: "No" }, { status });
    const response = await fetch(this.beacon.url + path, init);
    return mischief === undefined || !response.ok ? response : await spoiled(response, path, mischief);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.beacon.stop();
    await this.rewriter?.stop();
    await this.anvil[Symbol.asyncDispose]();
  }
}

async function spoiled(response: Response, path: string, mischief: Mischief): Promise<Response> {
  const { headers } = response;
  const isJson = headers.get("content-type")?.startsWith("application/json") ?? false;
  if (isJson && mischief.json !== undefined) {
    return Response.json(mischief.json(path, await response.json()));
  }
  if (!isJson && mischief.bytes !== undefined) {
    const bytes = mischief.bytes(path, new Uint8Array(await response.arrayBuffer()));
    return new Response(Uint8Array.from(bytes), { headers });
  }
  return response;
}

/** Changes the value at a path of names in place. @throws {Error} when there is no such field. */
export function changeAt(
  json: unknown,
  path: readonly string[],
  change: (value: unknown) => unknown,
): void {
  const [name, ...rest] = path;
  if (typeof json !== "object" || json === null || name === undefined || !(name in json)) {
    throw new Error(`No field ${path.join(".")}`);
  }
  if (rest.length > 0) changeAt(Reflect.get(json, name), rest, change);
  else Reflect.set(json, name, change(Reflect.get(json, name)));
}
