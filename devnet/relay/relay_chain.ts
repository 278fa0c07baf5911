/**
 * A simulated relay chain: blocks with real GRANDPA and BEEFY votes, sessions, parachain heads and a mountain range, over
 * the JSON-RPC of a Substrate node. Start at {@link startRelayChain}. What it leaves out: forks, extrinsics, other pallets.
 */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { BeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import type { BlockName } from "../hub/hub_options.ts";
import type { AnswerHook } from "../hub/rpc/dispatcher.ts";
import { nameOf, SimulatedNode } from "../hub/simulated_node.ts";
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

class RelaySimulator extends SimulatedNode implements RelayChainNode {
  alter: AnswerHook | undefined;
  beefyReady: boolean;
  missingMethods: ReadonlySet<string>;
  readonly #options: RelaySimulatorOptions;
  protected override readonly chain: RelayBlocks;
  readonly #finality: Finality;
  readonly #now: () => number;
  #lastMs = 0n;

  constructor(options: RelaySimulatorOptions) {
    super(options.blockTimeMs ?? 1000);
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.beefyReady = options.beefyReady ?? true;
    this.missingMethods = new Set(options.missingMethods);
    const finalityLag = options.finalityLag ?? 2;
    const beefyActivationBlock = options.beefyActivationBlock ?? 3;
    this.chain = new RelayBlocks({
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
    this.#finality = new Finality(this.chain, {
      grandpaPeriod: options.grandpaPeriod ?? 8,
      beefyPeriod: options.beefyPeriod ?? 1,
      beefyLag: options.beefyLag ?? finalityLag,
      beefySigners: options.beefySigners ?? "threshold",
      beefyPayload: options.beefyPayload ?? [],
      splitVotes: options.splitVotes ?? (() => false),
    });
    this.#serveNode();
    this.produceBlocks(beefyActivationBlock + 1 + Math.max(finalityLag, options.beefyLag ?? 0));
  }

  #serveNode(): void {
    this.serve({
      methods: relayMethods({
        chain: this.chain,
        finality: this.#finality,
        chainName: this.#options.chainName ?? "Paseo devnet",
        isBeefyReady: () => this.beefyReady,
        justificationsOf: ({ header }) => this.#finality.justificationsOf(header.number),
        follow: (listener) => this.follow(listener),
      }),
      maxMessageBytes: MAX_MESSAGE_BYTES,
      fault: (call) =>
        this.missingMethods.has(call.method)
          ? { kind: "error", code: -32601, message: "Method not found" }
          : undefined,
      alter: (call, result) => {
        const honest = call.method === "rpc_methods" ? this.#offered(result) : result;
        return this.alter === undefined ? honest : this.alter(call, honest);
      },
    });
  }

  /** The list of methods without those that are missing. */
  #offered(listed: unknown): { readonly methods: readonly string[] } {
    const { methods } = Object(listed);
    return { methods: [...methods].map(String).filter((name) => !this.missingMethods.has(name)) };
  }

  get beefyFinalized(): BlockName {
    const found = this.#finality.beefyFinalized;
    if (found === undefined) throw new Error("BEEFY has justified nothing yet");
    return nameOf(found);
  }

  get session(): RelaySession {
    return this.sessionOf(this.chain.best.header.number);
  }

  hash(block: number): Hash256 {
    return this.chain.blockAt(block).hash;
  }

  sessionOf(block: number): RelaySession {
    return this.chain.sessionOf(block);
  }

  beefyState(block: number = this.beefyFinalized.number): BeefyClientState {
    const { index } = this.chain.sessionOf(block);
    return {
      latestHeight: BigInt(block),
      beefyActivationBlock: BigInt(block) - this.chain.leafCount(block),
      current: this.chain.validators.set(index).beefySet,
      next: this.chain.validators.set(index + 1).beefySet,
    };
  }

  grandpaJustification(block: number): Uint8Array {
    return this.#finality.votes.justification(block);
  }

  beefyJustification(block: number): Uint8Array {
    return this.#finality.beefy(block);
  }

  override produceBlock(): BlockName {
    const every = this.#options.sessionBlocks ?? 0;
    const next = this.chain.best.header.number + 1;
    return this.#produce(every > 0 && next % every === 0);
  }

  produceBlocks(count = 1): BlockName {
    for (let made = 0; made < count; made++) this.produceBlock();
    return this.best;
  }

  rotate(): BlockName {
    return this.#produce(true);
  }

  #produce(beginsSession: boolean): BlockName {
    const best = this.chain.build(this.#nextMs(), beginsSession);
    this.announce({ best, finalized: this.chain.advanceFinality() });
    return this.best;
  }

  /** The clock, or a millisecond after the last block where that is later. */
  #nextMs(): bigint {
    const now = BigInt(Math.floor(this.#now()));
    this.#lastMs = now > this.#lastMs ? now : this.#lastMs + 1n;
    return this.#lastMs;
  }
}
