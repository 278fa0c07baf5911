/**
 * A simulated relay chain: blocks with real GRANDPA and BEEFY votes, sessions, parachain heads and a mountain range, over
 * the JSON-RPC of a Substrate node. Start at {@link startRelayChain}. What it leaves out: forks, extrinsics, other pallets.
 */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { BeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import type { SimulatedBlock } from "../hub/blocks.ts";
import type { SimulatedHeader } from "../hub/digest.ts";
import type { BlockName } from "../hub/hub_options.ts";
import type { BlockNews } from "../hub/node.ts";
import { type AnswerHook, RpcDispatcher } from "../hub/rpc/dispatcher.ts";
import type { FaultHook } from "../hub/rpc/faults.ts";
import { RpcServer } from "../hub/rpc/server.ts";
import { Finality } from "./finality.ts";
import { RelayBlocks } from "./relay_blocks.ts";
import { relayMethods } from "./relay_methods.ts";
import type { RelayChainNode, RelaySession, RelaySimulatorOptions } from "./relay_options.ts";

export type { ParachainHeads, RelayChainNode, RelaySession, RelaySimulatorOptions } from "./relay_options.ts";

/** Most characters of a message: that of the reference's connections. */
const MAX_MESSAGE_BYTES = 150_000_000;

/** Starts a relay chain. The first final block with a leaf in the mountain range exists when it returns. */
export async function startRelayChain(options: RelaySimulatorOptions = {}): Promise<RelayChainNode> {
  const node = new RelaySimulator(options);
  await node.start();
  return node;
}

class RelaySimulator implements RelayChainNode {
  fault: FaultHook | undefined;
  alter: AnswerHook | undefined;
  beefyReady: boolean;
  missingMethods: ReadonlySet<string>;
  readonly callCounts = new Map<string, number>();
  readonly #options: RelaySimulatorOptions;
  readonly #chain: RelayBlocks;
  readonly #finality: Finality;
  readonly #listeners = new Set<(news: BlockNews) => void>();
  readonly #now: () => number;
  readonly #server: RpcServer;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastMs = 0n;

  constructor(options: RelaySimulatorOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.beefyReady = options.beefyReady ?? true;
    this.missingMethods = new Set(options.missingMethods);
    const finalityLag = options.finalityLag ?? 2;
    const beefyActivationBlock = options.beefyActivationBlock ?? 3;
    this.#chain = new RelayBlocks({
      validators: options.validators ?? 4,
      brokenBeefyKeys: options.brokenBeefyKeys ?? [],
      keepStates: options.keepStates ?? Infinity,
      finalityLag,
      beefyActivationBlock,
      heads: options.heads ?? (() => new Map()),
      dummyParachains: options.dummyParachains ?? [1000, 1002, 4100],
      onDemand: options.onDemand,
      unlistedParachains: options.unlistedParachains ?? [],
      leafHeads: options.leafHeads ?? "listed",
    }, this.#nextMs());
    this.#finality = new Finality(this.#chain, {
      grandpaPeriod: options.grandpaPeriod ?? 8,
      beefyPeriod: options.beefyPeriod ?? 1,
      beefyLag: options.beefyLag ?? finalityLag,
      beefySigners: options.beefySigners ?? "threshold",
      beefyPayload: options.beefyPayload ?? [],
      splitVotes: options.splitVotes ?? (() => false),
    });
    this.#server = new RpcServer(this.#makeDispatcher());
    this.produceBlocks(beefyActivationBlock + 1 + Math.max(finalityLag, options.beefyLag ?? 0));
  }

  #makeDispatcher(): RpcDispatcher {
    return new RpcDispatcher({
      methods: relayMethods({
        chain: this.#chain,
        finality: this.#finality,
        chainName: this.#options.chainName ?? "Paseo devnet",
        isBeefyReady: () => this.beefyReady,
        justificationsOf: ({ header }) => this.#finality.justificationsOf(header.number),
        follow: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
      }),
      maxRequestBytes: MAX_MESSAGE_BYTES,
      maxResponseBytes: MAX_MESSAGE_BYTES,
      fault: (call) =>
        this.missingMethods.has(call.method)
          ? { kind: "error", code: -32601, message: "Method not found" }
          : this.fault?.(call),
      alter: (call, result) => {
        const honest = call.method === "rpc_methods" ? this.#offered(result) : result;
        return this.alter === undefined ? honest : this.alter(call, honest);
      },
      onCall: ({ method }) => this.callCounts.set(method, (this.callCounts.get(method) ?? 0) + 1),
    });
  }

  /** The list of methods without those that are missing. */
  #offered(listed: unknown): { readonly methods: readonly string[] } {
    const { methods } = Object(listed);
    return { methods: [...methods].map(String).filter((name) => !this.missingMethods.has(name)) };
  }

  get port(): number {
    return this.#server.port;
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.#server.port}`;
  }

  get best(): BlockName {
    return nameOf(this.#chain.best);
  }

  get finalized(): BlockName {
    return nameOf(this.#chain.finalized);
  }

  get beefyFinalized(): BlockName {
    const found = this.#finality.beefyFinalized;
    if (found === undefined) throw new Error("BEEFY has justified nothing yet");
    return nameOf(found);
  }

  get session(): RelaySession {
    return this.sessionOf(this.#chain.best.header.number);
  }

  header(block: number): SimulatedHeader {
    return this.#chain.blockAt(block).header;
  }

  hash(block: number): Hash256 {
    return this.#chain.blockAt(block).hash;
  }

  sessionOf(block: number): RelaySession {
    return this.#chain.sessionOf(block);
  }

  beefyState(block: number = this.beefyFinalized.number): BeefyClientState {
    const { index } = this.#chain.sessionOf(block);
    return {
      latestHeight: BigInt(block),
      beefyActivationBlock: BigInt(block) - this.#chain.leafCount(block),
      current: this.#chain.validators.set(index).beefySet,
      next: this.#chain.validators.set(index + 1).beefySet,
    };
  }

  grandpaJustification(block: number): Uint8Array {
    return this.#finality.votes.justification(block);
  }

  beefyJustification(block: number): Uint8Array {
    return this.#finality.beefy(block);
  }

  produceBlocks(count = 1): BlockName {
    for (let made = 0; made < count; made++) {
      const every = this.#options.sessionBlocks ?? 0;
      const next = this.#chain.best.header.number + 1;
      this.#produce(every > 0 && next % every === 0);
    }
    return this.best;
  }

  rotate(): BlockName {
    this.#produce(true);
    return this.best;
  }

  #produce(beginsSession: boolean): void {
    const best = this.#chain.build(this.#nextMs(), beginsSession);
    const finalized = this.#chain.advanceFinality();
    for (const listener of [...this.#listeners]) listener({ best, finalized });
  }

  /** The clock, or a millisecond after the last block where that is later. */
  #nextMs(): bigint {
    const now = BigInt(Math.floor(this.#now()));
    this.#lastMs = now > this.#lastMs ? now : this.#lastMs + 1n;
    return this.#lastMs;
  }

  async start(): Promise<void> {
    if (this.#server.isRunning) return;
    await this.#server.start();
    this.resumeBlocks();
  }

  async stop(): Promise<void> {
    this.pauseBlocks();
    await this.#server.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.pauseBlocks();
    await this.#server[Symbol.asyncDispose]();
  }

  pauseBlocks(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resumeBlocks(): void {
    const delayMs = this.#options.blockTimeMs ?? 1000;
    if (delayMs === "manual" || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.produceBlocks();
      this.resumeBlocks();
    }, delayMs);
  }
}

function nameOf({ header, hash }: SimulatedBlock): BlockName {
  return { number: header.number, hash };
}
