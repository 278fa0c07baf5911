/** Two EVM chains and a hub in memory, and relayers with a real ledger between them. */
import type { Ledger, MessageRow, SubmissionRow } from "../../../src/messaging/ledger/ledger.ts";
import { ONE_DOLLAR_27 } from "../../../src/core/evm/native_price.ts";
import { fromHex, type Hash256, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  type GetRequest,
  type Message,
  postMessage,
  type PostRequest,
} from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import { parseStateMachine, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import type { Chain } from "../../../src/core/chains/port.ts";
import { Wake } from "../../../src/core/runtime/waiting.ts";
import type { Worker } from "../../../src/core/runtime/worker.ts";
import type {
  Leg,
  LegRun,
  RelayContext,
  RelayDeps,
  RelaySettings,
  Settling,
} from "../../../src/messaging/relay/leg.ts";
import { legWorker } from "../../../src/messaging/relay/leg_worker.ts";
import { type SettledTarget, settleWorker } from "../../../src/messaging/relay/settle/settle_worker.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import type { MemoryChain, MemoryChainOptions } from "../../support/memory_chain.ts";
import { MemoryNode, type MemoryNodeOptions } from "../../support/memory_node.ts";
import { MemoryEvm } from "../../support/memory_evm.ts";
import { MemoryHub } from "../../support/memory_hub.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { openMemoryLedger } from "../../support/ledger.ts";

/** Names of the chains. */
export const names = {
  one: parseStateMachine("EVM-1"),
  two: parseStateMachine("EVM-2"),
  hub: parseStateMachine("KUSAMA-4009"),
};

/** The module that sends in these tests. */
export const sender: Hex = "0x00000000000000000000000000000000000000aa";

/** So many messages. */
export type Messages<N extends number> = Message[] & (number extends N ? unknown : Counted<N>);

type Counted<N extends number, T extends Message[] = []> = T["length"] extends N ? T
  : Counted<N, [...T, Message]>;

/** A request of the second chain for a value of the first one. */
export function getRequest(changes: Partial<GetRequest> = {}): GetRequest {
  return {
    source: names.two,
    dest: names.one,
    nonce: 1n,
    from: new Uint8Array(20),
    keys: [new Uint8Array(20)],
    height: 1n,
    context: new Uint8Array(),
    timeoutTimestampSec: 0n,
    ...changes,
  };
}

/** Acts once when something is about to be done on a chain, or was done. */
export function interrupt(
  { faults }: Pick<MemoryChain, "faults">,
  method: string,
  act: () => void,
  when: "before" | "after" = "before",
): void {
  faults.add(method, { kind: "interrupt", when, act });
}

/** The chains, their clock, and messages between them. */
export class Fixture {
  readonly clock = new FakeClock();
  readonly one: MemoryNode;
  readonly two: MemoryNode;
  readonly hub: MemoryNode;
  #nonce = 0n;

  constructor(changes: { [K in "one" | "two" | "hub"]?: Partial<MemoryNodeOptions> } = {}) {
    const evm = { family: "evm" } as const;
    const id = (stateMachine: StateMachine, consensus: string): MemoryNodeOptions["id"] => ({
      stateMachine,
      consensusStateId: toConsensusStateId(consensus),
    });
    this.one = new MemoryNode(this.clock, { id: id(names.one, "ETH0"), ...evm, ...changes.one });
    this.two = new MemoryNode(this.clock, { id: id(names.two, "BSC0"), ...evm, ...changes.two });
    this.hub = new MemoryNode(this.clock, {
      id: id(names.hub, "PARA"),
      family: "substrate",
      isHub: true,
      ...changes.hub,
    });
  }

  get nodes(): readonly MemoryNode[] {
    return [this.one, this.two, this.hub];
  }

  /** A message with a number of its own. */
  message(changes: Partial<PostRequest> = {}): Message {
    return postMessage({
      source: names.one,
      dest: names.two,
      nonce: this.#nonce++,
      from: fromHex(sender),
      to: fromHex("0x00000000000000000000000000000000000000bb"),
      timeoutTimestampSec: 0n,
      body: new Uint8Array([1, 2, 3]),
      ...changes,
    });
  }

  /** Produces `count` blocks on every chain, one second apart. */
  async blocks(count: number): Promise<void> {
    for (let block = 0; block < count; block++) {
      await this.clock.advance(1_000);
      for (const node of this.nodes) node.produceBlock();
    }
  }

  /** Makes `source` final as it is now and lets `target` know. */
  async update(source: MemoryNode, target: MemoryNode): Promise<void> {
    await this.blocks(Number(source.finalityLag));
    target.accept(source);
    await this.blocks(1);
  }

  /** `count` messages that left `source` and can be proved to `target`. */
  async sendFrom<N extends number>(
    source: MemoryNode,
    target: MemoryNode,
    count: N,
    changes: Partial<PostRequest> = {},
  ): Promise<Messages<N>> {
    const messages = Array.from({ length: count }, () => this.message(changes));
    for (const message of messages) source.dispatch(message);
    await this.blocks(1);
    await this.update(source, target);
    return messages as Messages<N>;
  }
}

/** Settings of a {@link Relayer}. */
export interface RelayerOptions {
  /** 20 bytes, distinguished by the last one. */
  readonly number?: number;
  readonly seed?: number;
  readonly settings?: Partial<RelaySettings>;
  readonly chain?: Partial<Omit<MemoryChainOptions, "relayer">>;
  readonly initialHeight?: bigint;
  readonly pollIntervalMs?: number;
}

/** One relayer with its own ledger, its own view of the chains and its own account. */
export class Relayer {
  readonly address: Uint8Array;
  readonly log = new RecordedLog();
  readonly one: MemoryEvm;
  readonly two: MemoryEvm;
  readonly hub: MemoryHub;
  readonly deps: RelayDeps;
  readonly settings: RelaySettings;
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #options: RelayerOptions;

  constructor(readonly fixture: Fixture, readonly ledger: Ledger, options: RelayerOptions = {}) {
    this.#options = options;
    this.signal = this.#stop.signal;
    this.address = new Uint8Array(20).fill(options.number ?? 1);
    const connection = { relayer: this.address, ...options.chain };
    this.one = new MemoryEvm(fixture.one, fixture.clock, connection);
    this.two = new MemoryEvm(fixture.two, fixture.clock, connection);
    this.hub = new MemoryHub(fixture.hub, fixture.clock, connection);
    this.settings = {
      hub: names.hub,
      moduleFilter: undefined,
      configured: new Set(Object.values(names)),
      retryFrequencySec: undefined,
      retryModules: new Set(),
      reconciliationFrequencySec: 21_600,
      listedModules: () => new Map(),
      hubTokenPrice27: ONE_DOLLAR_27,
      ...options.settings,
    };
    const random = seededRandomness(options.seed ?? 1);
    this.deps = { ledger, clock: fixture.clock, random, log: this.log };
  }

  /** What everything of the relayer works with. */
  get context(): RelayContext {
    return { ...this.deps, settings: this.settings };
  }

  /** One of the relayer's chains, as its submissions are settled. */
  on(target: Chain): Settling {
    return { ...this.context, target, signal: this.signal };
  }

  /** The leg between two of the relayer's chains. */
  leg(source: MemoryChain, target: MemoryChain, changes: Partial<Leg> = {}): LegRun {
    return {
      ...this.on(target),
      source,
      initialHeight: this.#options.initialHeight ?? 0n,
      pollIntervalMs: this.#options.pollIntervalMs ?? 2_000,
      pollPhaseMs: (this.#options.number ?? 1) * 700,
      wake: new Wake(this.deps.clock),
      settleWake: new Wake(this.deps.clock),
      ...(target === this.hub ? { senderLimits: this.hub.senderLimits } : {}),
      ...changes,
    };
  }

  /** Workers of the four legs and of the three targets. */
  workers(): readonly Worker[] {
    const { one, two, hub } = this;
    const settleWake = new Map<MemoryChain, Wake>(
      [one, two, hub].map((target) => [target, new Wake(this.deps.clock)]),
    );
    const wakeOf = (target: MemoryChain): Wake => settleWake.get(target) ?? new Wake(this.deps.clock);
    const legs = [[one, hub], [two, hub], [hub, one], [hub, two]].flatMap(([source, target]) =>
      source && target ? [this.leg(source, target, { settleWake: wakeOf(target) })] : []
    );
    const settling = [one, two, hub].map((target): SettledTarget => ({
      ...this.on(target),
      sources: legs.filter((leg) => leg.target === target).map(({ source }) => source),
      everyMs: 2_000,
      wake: wakeOf(target),
      legs: legs.filter((leg) => leg.target === target).map(({ wake }) => wake),
    }));
    return [
      ...settling.map((work) => settleWorker(work)),
      ...legs.map((leg) => legWorker(leg)),
    ];
  }

  /** Runs every worker, each again a second after it failed, until {@link Relayer.kill}. */
  run(): void {
    for (const worker of this.workers()) void this.#keepRunning(worker);
  }

  /** Stops everything at once; nothing is tidied up. */
  kill(): void {
    this.#stop.abort(new Error("killed"));
  }

  row(message: Pick<Message, "commitment">, target: StateMachine = names.two): MessageRow {
    const row = this.ledger.messages.find(message.commitment, target);
    if (row === undefined) throw new Error(`No row of ${message.commitment}`);
    return row;
  }

  /** State and reason of a message. */
  stateOf(message: Pick<Message, "commitment">, target: StateMachine = names.two): unknown[] {
    const { state, reason } = this.row(message, target);
    return [state, reason];
  }

  /** The account that signs on the second chain. */
  get account(): string {
    return toHex(this.address);
  }

  /** The submissions that ever carried a message. */
  submissions(message: Pick<Message, "commitment">, target: StateMachine = names.two): SubmissionRow[] {
    return this.ledger.submissions.listByItem(message.commitment, target);
  }

  async #keepRunning(worker: Worker): Promise<void> {
    while (!this.signal.aborted) {
      try {
        await worker.run(this.signal);
      } catch (error) {
        if (this.signal.aborted) return;
        this.log.error("worker_failed", { worker: worker.name, error });
        await this.deps.clock.sleep(1_000, this.signal).catch(() => undefined);
      }
    }
  }
}

/** A ledger for runs over many seeds. */
export function memoryLedger(fixture: Fixture): Ledger {
  return openMemoryLedger({ clock: fixture.clock });
}

/** Commitments that were delivered to a chain, each as often as it was. */
export function delivered(node: MemoryNode): Hash256[] {
  return node.deliveries().map(({ commitment }) => commitment);
}

/** What differs from the usual chains and relayer. */
export interface SetUp extends RelayerOptions {
  readonly nodes?: ConstructorParameters<typeof Fixture>[0];
  readonly fixture?: Fixture;
  readonly ledger?: Ledger | undefined;
}

/** The chains, a relayer between them, and its legs: from the hub to the second chain, and from the first one to the hub. */
export interface Scene {
  readonly fixture: Fixture;
  readonly relayer: Relayer;
  readonly leg: LegRun;
  readonly inbound: LegRun;
}

/** A relayer with a ledger of its own, among chains of its own unless they are given. */
export function setUp({ nodes, fixture = new Fixture(nodes), ledger, ...options }: SetUp = {}): Scene {
  const relayer = new Relayer(fixture, ledger ?? memoryLedger(fixture), options);
  const leg = relayer.leg(relayer.hub, relayer.two);
  return { fixture, relayer, leg, inbound: relayer.leg(relayer.one, relayer.hub) };
}

/** The same, and `count` messages of the hub that the second chain can verify. */
export async function setUpWith<N extends number>(
  count: N,
  options: SetUp & { readonly changes?: Partial<PostRequest> } = {},
): Promise<Scene & { readonly messages: Messages<N>; readonly first: Message }> {
  const { changes, ...rest } = options;
  const scene = setUp(rest);
  const { fixture } = scene;
  const messages = await fixture.sendFrom(fixture.hub, fixture.two, count, changes);
  const [first = fixture.message()]: Message[] = messages;
  return { ...scene, messages, first };
}
