/** A hub on a simulated relay chain with accepted proofs, and EVM hosts with the live BEEFY client. */
import assert from "node:assert/strict";
import {
  type AcceptedProofsHub,
  createAcceptedSource,
} from "../../../../src/consensus/clients/beefy/accepted_source.ts";
import { type HostChain, hostWorker } from "../../../../src/consensus/clients/beefy/host_worker.ts";
import { HubWork } from "../../../../src/consensus/clients/beefy/hub_work.ts";
import type { HostProofSource } from "../../../../src/consensus/clients/beefy/proof_source.ts";
import { createRelaySource } from "../../../../src/consensus/clients/beefy/relay_source.ts";
import { RelayChain } from "../../../../src/consensus/relay_chain/relay_chain.ts";
import type { AcceptedProof, AcceptedProofIndex } from "../../../../src/core/chains/hub.ts";
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import { EndpointUrl, Secret } from "../../../../src/core/config/redact.ts";
import { fromHex, type Hash256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { buildNaiveProof } from "../../../../src/consensus/clients/beefy/spec/build_proof.ts";
import { authoritySetCodec } from "../../../../src/core/beefy/commitment.ts";
import { encodeNaiveProof } from "../../../../src/core/beefy/naive_proof.ts";
import { verifyNaiveProof } from "../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import {
  type BeefyClientState,
  decodeBeefyClientState,
} from "../../../../src/core/evm/beefy_client_state.ts";
import { decodeSubstrateHeader } from "../../../../src/core/substrate/header.ts";
import { postMessage } from "../../../../src/core/ismp/commitment.ts";
import { consensusDigestCodec, timestampDigestCodec } from "../../../../src/core/ismp/host_state.ts";
import { evmStateMachine, type StateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { reactionTo, RpcFault } from "../../../../src/core/rpc/fault.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { platformSocket } from "../../../../src/core/rpc/socket.ts";
import { ShutdownRequested } from "../../../../src/core/runtime/signals.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { chainUnderTest, hub as hubId } from "../../../core/chains/evm/chain_fixture.ts";
import { HOST_ABI } from "../../../../devnet/evm/abi.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { deployIsmpHost, type DeployOptions, type IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { digestItem, encodeHeader } from "../../../../devnet/hub/digest.ts";
import { resultHttp } from "../../../../devnet/hub/json_rpc_client.ts";
import { type FactSource, readNaiveFacts } from "../../../../devnet/relay/naive_facts.ts";
import {
  type RelayChainNode,
  type RelaySimulatorOptions,
  startRelayChain,
} from "../../../../devnet/relay/relay_chain.ts";
import { fastClock } from "../../../support/fast_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";

const PARA_ID = 4009;

/** What happens to the bytes of accepted proofs. */
export type Withheld = "unsafe_method" | "bytes" | undefined;

/** A hub whose headers are heads of a simulated relay chain, and that has accepted proofs of itself. */
export class ProvenHub implements AcceptedProofsHub {
  readonly relay: RelayChainNode;
  readonly id = hubId;
  /** What the hub's own client trusts. */
  state: BeefyClientState;
  withheld: Withheld;
  /** Sets whose rotation the hub has evicted. */
  readonly evicted = new Set<bigint>();
  readonly #heights: { now: number };
  readonly #rotations = new Map<bigint, bigint>();
  readonly #messaging: bigint[] = [];
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #events: ChainEvent[] = [];
  /** Ranges that were asked for events. */
  readonly askedRanges: (readonly [from: bigint, to: bigint])[] = [];

  private constructor(relay: RelayChainNode, heights: { now: number }) {
    this.relay = relay;
    this.#heights = heights;
    this.state = relay.beefyState();
  }

  static async start(options: RelaySimulatorOptions = {}): Promise<ProvenHub> {
    const heights = { now: 10 };
    const relay = await startRelayChain({
      blockTimeMs: "manual",
      validators: 4,
      heads: () => new Map([[PARA_ID, hubHeader(heights.now)]]),
      ...options,
    });
    return new ProvenHub(relay, heights);
  }

  get reads(): this {
    return this;
  }

  get events(): this {
    return this;
  }

  get acceptedProofs(): this {
    return this;
  }

  /** Newest height of the hub. */
  get height(): bigint {
    return BigInt(this.#heights.now);
  }

  /** The hub makes blocks, and the relay chain with it, until BEEFY has justified their heads. */
  makeBlocks(count = 2): void {
    this.#heights.now += count;
    this.relay.produceBlocks(4);
  }

  /** A message to `chain` in the next block of the hub. */
  post(chain: StateMachine): void {
    const message = postMessage({
      source: hubId.stateMachine,
      dest: chain,
      nonce: BigInt(this.#events.length),
      from: new Uint8Array(4),
      to: new Uint8Array(20),
      timeoutTimestampSec: 0n,
      body: new Uint8Array(),
    });
    const at = { height: this.height + 1n, transaction: undefined };
    this.#events.push({ kind: "message", message, at });
  }

  /** Ends a session of the relay chain. @param isAccepted false: no prover has delivered it to the hub. */
  async rotate(isAccepted = true): Promise<void> {
    this.#heights.now++;
    this.relay.produceBlocks(1);
    const { number } = this.relay.rotate();
    this.relay.produceBlocks(3);
    if (!isAccepted) return;
    const [proof, height] = await this.#prove(number);
    const setId = this.state.current.id;
    this.#rotations.set(setId, height);
    this.#bytes.set(`set ${setId}`, proof);
  }

  /** Proves the newest head to the hub. */
  async proveNewest(): Promise<bigint> {
    this.makeBlocks();
    const [proof, height] = await this.#prove(this.relay.beefyFinalized.number);
    this.#messaging.push(height);
    this.#bytes.set(`height ${height}`, proof);
    return height;
  }

  /** Makes the bytes of the newest messaging proof false. */
  spoilNewest(spoil: (proof: Uint8Array) => Uint8Array): void {
    const key = `height ${this.#messaging.at(-1)}`;
    const proof = this.#bytes.get(key);
    assert.ok(proof);
    this.#bytes.set(key, spoil(proof));
  }

  async #prove(block: number): Promise<readonly [Uint8Array, bigint]> {
    const facts = await readNaiveFacts(this.#facts(), {
      justification: this.relay.beefyJustification(block),
      paraIds: [PARA_ID],
    });
    const proof = buildNaiveProof(this.state, facts);
    const { state, intermediates } = verifyNaiveProof(this.state, proof);
    this.state = state;
    const [head] = intermediates;
    assert.ok(head);
    return [encodeNaiveProof(proof), head.height];
  }

  /** The relay chain's storage over its RPC. */
  #facts(): FactSource {
    return {
      header: (number) => Promise.resolve(decodeSubstrateHeader(encodeHeader(this.relay.header(number)))),
      storage: async (key, number) => {
        const { httpUrl } = this.relay;
        const value = await resultHttp(httpUrl, "state_getStorage", [toHex(key), this.relay.hash(number)]);
        return value === null ? undefined : fromHex(String(value));
      },
    };
  }

  fetchAcceptedIndex(): Promise<AcceptedProofIndex> {
    const rotations = new Map([...this.#rotations].filter(([set]) => !this.evicted.has(set)));
    return Promise.resolve({ rotations, messaging: [...this.#messaging] });
  }

  fetchProofBytes(
    { height, newSetId }: Pick<AcceptedProof, "height" | "newSetId">,
  ): Promise<Uint8Array | undefined> {
    if (this.withheld === "unsafe_method") {
      const where = {
        chain: "KUSAMA-4009",
        endpointHost: "hub.example.org",
        method: "offchain_localStorageGet",
      };
      return Promise.reject(new RpcFault("missing_method", reactionTo("missing_method"), where));
    }
    if (this.withheld === "bytes") return Promise.resolve(undefined);
    return Promise.resolve(
      this.#bytes.get(newSetId === undefined ? `height ${height}` : `set ${newSetId}`),
    );
  }

  fetchEvents(from: bigint, to: bigint): Promise<readonly ChainEvent[]> {
    this.askedRanges.push([from, to]);
    return Promise.resolve(this.#events.filter(({ at }) => at.height >= from && at.height <= to));
  }

  fetchFinalHeight(): Promise<bigint> {
    return Promise.resolve(this.height);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.relay[Symbol.asyncDispose]();
  }
}

/** SCALE of a header of the hub with its roots and its time. */
function hubHeader(number: number): Uint8Array {
  const root = (byte: number): Hash256 => toHash256(new Uint8Array(32).fill(byte));
  return encodeHeader({
    parentHash: root(1),
    number,
    stateRoot: root(2),
    extrinsicsRoot: root(3),
    digest: [
      digestItem("consensus", "ISMP", consensusDigestCodec.enc({ mmrRoot: root(4), childTrieRoot: root(5) })),
      digestItem(
        "consensus",
        "ISTM",
        timestampDigestCodec.enc({ timestampSec: 1_700_000_000n + BigInt(number) }),
      ),
    ],
  });
}

/** A host that follows the hub, with a relayer's view of it. */
export interface FollowingHost extends AsyncDisposable {
  readonly host: IsmpHost;
  readonly stateMachine: StateMachine;
  /** What the host trusts. */
  state(): Promise<BeefyClientState>;
  /** Newest height of the hub on the host. */
  hubHeight(): Promise<bigint>;
  /** Transactions of a relayer. */
  sent(relayer?: "relayer" | "relayer2"): Promise<number>;
  /** An adapter of its own. */
  connect(relayer?: "relayer" | "relayer2"): { readonly chain: HostChain; readonly log: RecordedLog };
}

/** Deploys a host that trusts what the hub trusts now. */
export async function startHost(
  hub: ProvenHub,
  options: Partial<DeployOptions> & { readonly chainId?: number; readonly blockTimeSec?: number } = {},
): Promise<FollowingHost> {
  const chainId = options.chainId ?? 31337;
  const anvil = await startAnvil({
    chainId,
    slotsInAnEpoch: 1,
    ...options.blockTimeSec === undefined ? {} : { blockTimeSec: options.blockTimeSec },
  });
  const identity = { stateMachine: hubId.stateMachine, paraId: BigInt(PARA_ID) };
  const host = await deployIsmpHost({
    beefyState: hub.state,
    ...options,
    rpcUrl: anvil.rpcUrl,
    chainId,
    hub: identity,
  });
  const at = { address: host.addresses.host, abi: HOST_ABI } as const;
  return {
    host,
    stateMachine: evmStateMachine(chainId),
    state: async () => {
      const stored = await host.reader.readContract({ ...at, functionName: "consensusState" });
      const state = decodeBeefyClientState(fromHex(stored));
      assert.ok(state);
      return state;
    },
    hubHeight: () =>
      host.reader.readContract({
        ...at,
        functionName: "latestStateMachineHeight",
        args: [BigInt(PARA_ID)],
      }),
    sent: (relayer = "relayer") =>
      host.reader.getTransactionCount({ address: DEVNET_ACCOUNTS[relayer].address }),
    connect: (relayer = "relayer") =>
      chainUnderTest(
        [host.rpcUrl],
        {
          ismpHost: host.addresses.host,
          stateMachine: evmStateMachine(chainId),
          signer: new Secret(DEVNET_KEYS[relayer]),
        },
        fastClock(HASTE),
        platformFetch,
      ),
    [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose](),
  };
}

/**
 * Lets a relay chain keep what leaves announce under the pallet's older name, as old local networks do.
 * Source: docs/protocol/hub-consensus.md section 5.1.
 */
export function renameLeafPallet(relay: RelayChainNode): void {
  const named = "0x2ecf93be7260df120a495bd3855c0e60";
  const older = "0xda7d4185f8093e80caceb64da45219e3";
  const current = "c52aa943bf0908860a3eea0fad707cdc";
  const stateAt = (hash: unknown): BeefyClientState => {
    for (let block = relay.best.number;; block--) {
      if (relay.hash(block) === hash) return relay.beefyState(block);
    }
  };
  relay.fault = ({ method, params: [key, block] }) => {
    if (method !== "state_getStorage" || typeof key !== "string") return undefined;
    if (key.startsWith(named)) return { kind: "result", result: null };
    if (!key.startsWith(older)) return undefined;
    const state = stateAt(block);
    const set = key.endsWith(current) ? state.current : state.next;
    return { kind: "result", result: toHex(authoritySetCodec.enc(set)) };
  };
}

/** Proofs made from the hub's relay chain, over its RPC. */
export function relaySource(
  hub: ProvenHub,
  target: Pick<FollowingHost, "stateMachine">,
  { paraIds = [PARA_ID], log = new RecordedLog(), maxMessageLeaves }: {
    readonly paraIds?: readonly number[];
    readonly maxMessageLeaves?: number;
    readonly log?: RecordedLog;
  } = {},
): HostProofSource {
  const deps = {
    clock: systemClock,
    randomness: fixedRandomness(0),
    openSocket: platformSocket,
    fetch: platformFetch,
  };
  const relay = new RelayChain(deps, "Paseo devnet", { rpcWs: new EndpointUrl(hub.relay.wsUrl) });
  const work = new HubWork(hub, [target.stateMachine]);
  return createRelaySource({ relay, work, log }, {
    hub: hubId.stateMachine,
    hubParaId: PARA_ID,
    paraIds,
    batchSize: 200,
    ...maxMessageLeaves === undefined ? {} : { maxMessageLeaves },
  });
}

/** Time of the relayers in these tests passes this many times as fast as ours. */
const HASTE = 20;

/** Longest real time for anything to happen, milliseconds. */
const WITHIN_MS = 20_000;

/** A relayer at work. */
export interface RunningRelayer extends AsyncDisposable {
  readonly log: RecordedLog;
  /** Waits until `isSo`, looking every few milliseconds. */
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Waits until it has looked `count` more times. */
  looks(count: number): Promise<void>;
}

/** Lets a relayer bring the hub's proofs to hosts. */
export function relay(
  hub: ProvenHub,
  target: FollowingHost,
  options: {
    readonly account?: "relayer" | "relayer2";
    readonly sources?: (accepted: HostProofSource) => readonly HostProofSource[];
    readonly chain?: (chain: HostChain) => HostChain;
  } = {},
): RunningRelayer {
  const log = new RecordedLog();
  const stop = new AbortController();
  const { chain } = target.connect(options.account);
  const work = new HubWork(hub, [target.stateMachine]);
  const accepted = createAcceptedSource({ hub, work, endpoint: "hub.example.org" });
  const worker = hostWorker({
    clock: fastClock(HASTE),
    random: fixedRandomness(0),
    log,
    hub: hubId,
    sources: options.sources?.(accepted) ?? [accepted],
    chain: options.chain?.(chain) ?? chain,
    intervalMs: 2_000,
  });
  let fault: unknown;
  const running = worker.run(stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) fault = error;
  });
  const until: RunningRelayer["until"] = async (what, isSo) => {
    const untilMs = systemClock.now() + WITHIN_MS;
    while (!await isSo()) {
      if (fault !== undefined) throw fault;
      if (systemClock.now() > untilMs) {
        throw new Error(`Not in time: ${what}; ${JSON.stringify(log.lines, jsonValue).slice(-3_000)}`);
      }
      await systemClock.sleep(15, stop.signal);
    }
  };
  const looked = (): number => log.events("debug").filter((message) => message === "poll_finished").length;
  return {
    log,
    until,
    looks: async (count) => {
      const before = looked();
      await until(`${count} more looks`, () => looked() >= before + count);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort(new ShutdownRequested("SIGTERM"));
      await running;
    },
  };
}

function jsonValue(_key: string, value: unknown): unknown {
  if (value instanceof Error) return String(value);
  return typeof value === "bigint" ? String(value) : value;
}
