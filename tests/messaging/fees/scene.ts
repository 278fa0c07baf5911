/** Chains with fees, a hub with relayer accounts, and a relayer's ledger with deliveries that wait for their claim. */
import { type Hash256, keccak256 } from "../../../src/core/encoding/bytes.ts";
import { ONE_DOLLAR_27, type Quotation } from "../../../src/core/evm/native_price.ts";
import type { PostRequest } from "../../../src/core/ismp/message.ts";
import { sr25519PublicKey, sr25519Signature } from "../../../src/core/ismp/signed_messages.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import { parseStateMachine, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { Limit } from "../../../src/core/runtime/limit.ts";
import { Wake } from "../../../src/core/runtime/waiting.ts";
import {
  type FeeContext,
  FeeUnits,
  toFeeKey,
  type WithdrawalSettings,
} from "../../../src/messaging/fees/fee_context.ts";
import { HubCalls, NonceTurns } from "../../../src/messaging/fees/hub_calls.ts";
import { claimStates } from "../../../src/messaging/ledger/deliveries.ts";
import type { Ledger } from "../../../src/messaging/ledger/ledger.ts";
import { createPriceSource } from "../../../src/core/pricing/price_source.ts";
import type { Leg, RelaySettings } from "../../../src/messaging/relay/leg.ts";
import { confirmForeignReceipts } from "../../../src/messaging/relay/settle/receipt_checks.ts";
import { settleAll } from "../../../src/messaging/relay/settle/settle_worker.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { hashOf } from "../../support/ledger_rows.ts";
import type { MemoryChain } from "../../support/memory_chain.ts";
import { MemoryFeeChain } from "../../support/memory_fee_chain.ts";
import { MemoryHub } from "../../support/memory_hub.ts";
import { MemoryNode, type MemoryNodeOptions } from "../../support/memory_node.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { openMemoryLedger } from "../../support/ledger.ts";

/** Names of the chains. */
export const a: StateMachine = parseStateMachine("EVM-1");
export const b: StateMachine = parseStateMachine("EVM-56");
export const c: StateMachine = parseStateMachine("EVM-137");
export const d: StateMachine = parseStateMachine("EVM-10");
export const hubName: StateMachine = parseStateMachine("KUSAMA-4009");

/** The secret key of a number. */
export function keyOf(number: number): Uint8Array {
  return keccak256(Uint8Array.of(number));
}

/** A request that no test of fees has sent. */
export const lone: PostRequest = {
  source: a,
  dest: b,
  nonce: 77n,
  from: new Uint8Array(20),
  to: new Uint8Array(20),
  timeoutTimestampSec: 0n,
  body: new Uint8Array(),
};

/** What differs from the usual scene. */
export interface SceneOptions {
  /** Key numbers by chain; 1 for all when absent. */
  readonly keys?: Partial<Record<string, number>>;
  readonly decimals?: Partial<Record<string, number>>;
  readonly chains?: readonly StateMachine[];
  /** True: `[hub].signer` is configured; its key number is 9. */
  readonly hasHubSigner?: boolean;
  readonly withdrawals?: Partial<WithdrawalSettings>;
  readonly hub?: Partial<MemoryNodeOptions>;
  readonly ledger?: Ledger;
  /** Dollars per native token x 10^27; absent: payments are delivered whatever they cost. */
  readonly price27?: bigint;
}

/** A relayer among chains in memory that know each other. */
export async function sceneWith(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(options);
  await scene.blocks(8);
  return scene;
}

/** Rounds until something kills them: before or after a call of that name; what they throw then is the death. */
export async function dieAt(
  { scene, on, method, when, skip = 0 }: {
    readonly scene: Scene;
    readonly on: MemoryChain;
    readonly method: string;
    readonly when: "before" | "after";
    readonly skip?: number;
  },
  step: (signal: AbortSignal, round: number) => Promise<unknown>,
): Promise<void> {
  const kill = new AbortController();
  on.faults.add(method, { kind: "interrupt", when, act: () => kill.abort(new Error("killed")) }, { skip });
  for (let round = 0; round < 30 && !kill.signal.aborted; round++) {
    await step(kill.signal, round).catch((error: unknown) => {
      if (!kill.signal.aborted) throw error;
    });
    await scene.blocks(1);
  }
  if (!kill.signal.aborted) throw new Error(`Nobody called ${method}`);
}

/** A relayer among chains in memory. */
export class Scene {
  readonly clock: FakeClock;
  readonly nodes = new Map<StateMachine, MemoryNode>();
  readonly chains = new Map<StateMachine, MemoryFeeChain>();
  readonly hubNode: MemoryNode;
  readonly hub: MemoryHub;
  /** Requests that spoil every claim with them. */
  readonly spoilt = new Set<Hash256>();
  readonly down = new Set<StateMachine>();
  /** Chains that the hub does not follow for now, and chains that do not follow the hub. */
  readonly unheard = new Set<StateMachine>();
  ledger: Ledger;
  log = new RecordedLog();
  context: FeeContext;
  readonly #options: SceneOptions;
  readonly #delivered = new Set<Hash256>();
  readonly #legs = new Map<StateMachine, Leg>();

  constructor(options: SceneOptions = {}, clock = new FakeClock()) {
    this.#options = options;
    this.clock = clock;
    const names = options.chains ?? [a, b, c];
    for (const [index, stateMachine] of names.entries()) {
      const consensusStateId = toConsensusStateId(`CS0${index}`);
      const node = new MemoryNode(clock, { id: { stateMachine, consensusStateId }, family: "evm" });
      const decimals = options.decimals?.[stateMachine] ?? 18;
      const key = keyOf(options.keys?.[stateMachine] ?? 1);
      this.nodes.set(stateMachine, node);
      this.chains.set(stateMachine, new MemoryFeeChain(node, clock, { key, decimals }));
    }
    const id = { stateMachine: hubName, consensusStateId: toConsensusStateId("PARA") };
    this.hubNode = new MemoryNode(clock, { id, family: "substrate", isHub: true, ...options.hub });
    const hubKey = keyOf(9);
    this.hub = new MemoryHub(this.hubNode, clock, {
      relayer: sr25519PublicKey(hubKey),
      sign: (digest) => sr25519Signature(digest, hubKey, new Uint8Array(32).fill(7)),
      evidence: () => ({
        feeOf: ({ id, height }, each) => this.chain(id.stateMachine).feeAt(each, height),
        receiptAt: ({ id, height }, each) => this.chain(id.stateMachine).receiptAt(each, height),
        isProven: ({ commitments }) => !commitments.some((each) => this.spoilt.has(each)),
      }),
    });
    this.ledger = options.ledger ?? openMemoryLedger({ clock });
    this.context = this.connect(this.ledger);
  }

  /** What workers get, as after a start of the program. */
  connect(ledger: Ledger): FeeContext {
    this.ledger = ledger;
    this.log = new RecordedLog();
    const settings: RelaySettings = {
      hub: hubName,
      moduleFilter: undefined,
      configured: new Set([hubName, ...this.chains.keys()]),
      retryFrequencySec: undefined,
      retryModules: new Set(),
      reconciliationFrequencySec: 21_600,
      listedModules: () => undefined,
      hubTokenPrice27: ONE_DOLLAR_27,
    };
    this.#legs.clear();
    this.context = {
      ledger,
      clock: this.clock,
      random: seededRandomness(1),
      log: this.log,
      hub: this.hub,
      chains: this.chains,
      isUp: (chain) => !this.down.has(chain),
      hubKey: this.#options.hasHubSigner ? toFeeKey(this.hub) : undefined,
      calls: new HubCalls({ hub: this.hub, ledger, log: this.log }),
      turns: new NonceTurns(),
      claimTurn: new Limit(1),
      withdrawalTurn: new Limit(1),
      isSettledElsewhere: false,
      isServed: () => false,
      units: new FeeUnits(),
      settings,
      withdrawals: { frequencySec: 86_400, minimumAmount: 100, ...this.#options.withdrawals },
      legTo: (chain) => this.#legTo(chain),
      hostOf: () => new Uint8Array(20).fill(7),
    };
    return this.context;
  }

  chain(name: StateMachine): MemoryFeeChain {
    const chain = this.chains.get(name);
    if (chain === undefined) throw new Error(`No chain ${name}`);
    return chain;
  }

  node(name: StateMachine): MemoryNode {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`No chain ${name}`);
    return node;
  }

  /** Our address on a chain. */
  address(name: StateMachine): Uint8Array {
    return this.chain(name).relayer;
  }

  /** Makes the next blocks, a second apart; everybody learns each other's final heights. */
  async blocks(count: number): Promise<void> {
    for (let block = 0; block < count; block++) {
      await this.clock.advance(1_000);
      this.produce();
    }
  }

  /** One block everywhere. */
  produce(): void {
    for (const [name, node] of this.nodes) {
      if (this.unheard.has(name)) continue;
      this.hubNode.accept(node);
      node.accept(this.hubNode);
    }
    for (const node of [...this.nodes.values(), this.hubNode]) node.produceBlock();
  }

  /** Produces a block every second while `work` runs, and gives its result. */
  async during<T>(work: Promise<T>, withinMs?: number): Promise<T> {
    const stop = new AbortController();
    const blocks = (async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await this.clock.sleep(1_000, stop.signal);
        this.produce();
      }
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    try {
      return await this.clock.run(work, withinMs);
    } finally {
      stop.abort();
      await blocks;
    }
  }

  /** Another relayer delivers a payment of the hub. */
  async payAs(
    key: Uint8Array,
    { chain, commitment }: { readonly chain: StateMachine; readonly commitment: Hash256 },
  ): Promise<void> {
    const signal = new AbortController().signal;
    this.unheard.delete(chain);
    await this.blocks(4);
    const other = new MemoryFeeChain(this.node(chain), this.clock, { key });
    const events = await this.hub.fetchEvents(1n, this.hubNode.finalHeight, signal);
    const messages = events.flatMap((event) =>
      event.kind === "message" && event.message.commitment === commitment ? [event.message] : []
    );
    const { height } = await other.fetchView(this.hub.id, signal);
    const proof = await this.hub.proveMessages(messages, { height, target: other }, signal);
    const delivery = { steps: [{ kind: "messages" as const, messages, proof }] };
    const simulation = await other.simulate(delivery, signal);
    if (simulation.kind !== "accepted") throw new Error(simulation.refusal.detail);
    const signing = await other.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
    if (signing.kind !== "signed") throw new Error(signing.kind);
    await other.broadcast(signing.submission, signal);
    await this.blocks(1);
  }

  /** Requests with numbers `first` to `first + count - 1` that we delivered, each with a fee of `fee`. */
  deliver(
    count: number,
    changes: {
      readonly first?: number;
      readonly source?: StateMachine;
      readonly dest?: StateMachine;
      readonly fee?: bigint;
      readonly height?: bigint;
      readonly isFinal?: boolean;
    } = {},
  ): Hash256[] {
    const { first = 1, source = a, dest = b, fee = 10n ** 18n, isFinal = true } = changes;
    const height = changes.height ?? this.node(dest).head.height;
    const relayer = this.address(dest);
    return Array.from({ length: count }, (_, index) => {
      const commitment = hashOf(first + index);
      this.chain(source).paidFees.set(commitment, fee);
      this.chain(dest).proved.set(commitment, { relayer, from: height });
      this.#delivered.add(commitment);
      this.hub.accounts.noteRouted(commitment);
      this.ledger.deliveries.record({
        commitment,
        dest,
        source,
        relayer,
        txHash: hashOf(1_000_000 + first + index),
        block: { height, hash: hashOf(Number(height)) },
        isFinal,
      });
      return commitment;
    });
  }

  /** Number of delivery records by claim state. */
  states(): Readonly<Record<string, number>> {
    const counts = claimStates.map((state) =>
      [state, this.ledger.deliveries.listByClaimState(state, { limit: 10_000 }).length] as const
    );
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  /** Commitments of each claim that reached the hub's pool, in order. */
  claims(): readonly (readonly Hash256[])[] {
    return this.accumulations().map(({ id }) =>
      this.ledger.submissions.itemsOf(id).map(({ commitment }) => commitment)
    );
  }

  /** Journal entries of claims, in order. */
  accumulations(): ReturnType<Ledger["submissions"]["listByItem"]> {
    const seen = new Map<number, ReturnType<Ledger["submissions"]["listByItem"]>[number]>();
    for (const [name] of this.chains) {
      for (const commitment of this.#delivered) {
        for (const row of this.ledger.submissions.listByItem(commitment, name)) seen.set(row.id, row);
      }
    }
    return [...seen.values()].sort((left, right) => left.id - right.id);
  }

  /** Settles deliveries on a chain, as its worker does. */
  async settle(name: StateMachine, signal: AbortSignal): Promise<void> {
    const settling = { ...this.context, target: this.chain(name), signal };
    await settleAll(settling);
    await confirmForeignReceipts(settling);
  }

  #legTo(name: StateMachine): Leg {
    const leg = this.#legs.get(name) ?? {
      ...this.context,
      source: this.hub,
      target: this.chain(name),
      initialHeight: undefined,
      pollIntervalMs: 1_000,
      pollPhaseMs: 0,
      wake: new Wake(this.clock),
      settleWake: new Wake(this.clock),
      turn: new Limit(1),
      profit: this.#profit(),
    };
    this.#legs.set(name, leg);
    return leg;
  }

  #profit(): Leg["profit"] {
    const { price27 } = this.#options;
    if (price27 === undefined) return undefined;
    const ask = (): Promise<Quotation> => Promise.resolve({ kind: "price", price27 });
    const price = createPriceSource({ clock: this.clock }, { quotes: [{ origin: "router", ask }] });
    return { minimumPercent: 10, feeChains: this.chains, price };
  }
}
