/**
 * A beacon node for the devnet: real REST answers, real SSZ states and BLS committees over the blocks of an anvil.
 * Start at {@link startBeacon}. What it leaves out: peers, validators, slots in step with the clock.
 */
import { toHex } from "../../src/core/encoding/bytes.ts";
import {
  type BeaconNetwork,
  sepolia,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  type BeaconBehaviour,
  type BeaconBlockName,
  BeaconFault,
  type BeaconOptions,
  type BeaconRequest,
  type NodeBehaviour,
  type SimulatedBeaconNode,
} from "./beacon_options.ts";
import { type BeaconRecord, type ExecutionBlock, ExecutionChain } from "./block_builder.ts";
import { BeaconChain, epochsBefore } from "./chain.ts";
import { BeaconServer } from "./server.ts";

export {
  type BeaconBehaviour,
  type BeaconBlockName,
  BeaconFault,
  type BeaconLie,
  type BeaconOptions,
  type BeaconQuestion,
  type BeaconRequest,
  type BeaconRoute,
  type NodeBehaviour,
  type OptionalRoutes,
  type SimulatedBeaconNode,
} from "./beacon_options.ts";

/** How long before its end a period that the chain skips has its last block. */
const slotsBeforePeriod = 8;

/** Validators in the state, 121 bytes each: more than the 512 of a committee. */
const VALIDATORS = 1000;

/** Looks at the execution chain that may fail in a row, other than for its absence, before it counts as a defect. */
const MAX_FAILED_POLLS = 10;

/**
 * Starts a node on the newest blocks of the execution chain and waits until it serves.
 * @throws {BeaconFault} `fulu_only`
 */
export async function startBeacon(options: BeaconOptions): Promise<Beacon> {
  const beacon = new Beacon(options);
  try {
    await beacon.start();
  } catch (error) {
    await beacon.stop();
    throw error;
  }
  return beacon;
}

/** The ninth epoch of the period after the one that starts with Fulu. */
function usualStart(network: BeaconNetwork): number {
  const fulu = network.forks.find((fork) => fork.name === "fulu")?.epoch ?? 0n;
  const period = fulu / network.epochsPerPeriod + 1n;
  return Number(period * network.epochsPerPeriod) + 8;
}

/** A running chain with its first node. Stopping it stops all nodes. */
export class Beacon implements SimulatedBeaconNode {
  readonly network: BeaconNetwork;
  readonly #abort = new AbortController();
  readonly #execution: ExecutionChain;
  readonly #chain: BeaconChain;
  readonly #server: BeaconServer;
  readonly #pollMs: number;
  readonly #nodes: BeaconServer[] = [];
  #signers: BeaconBehaviour["signers"];
  #failedPolls = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Commands and looks at the execution chain happen one after the other. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: BeaconOptions) {
    this.network = options.network ?? sepolia;
    this.#pollMs = options.pollMs ?? 250;
    this.#signers = options.signers ?? 500;
    this.#execution = new ExecutionChain(options.executionUrl, this.#abort.signal);
    this.#chain = new BeaconChain({
      network: this.network,
      startEpoch: options.startEpoch ?? usualStart(this.network),
      blocksPerEpoch: options.blocksPerEpoch ?? 4,
      validators: VALIDATORS,
      signers: (slot) => typeof this.#signers === "number" ? this.#signers : this.#signers(slot),
    });
    this.#server = this.#open(options);
  }

  get url(): string {
    return this.#server.url;
  }

  get head(): BeaconBlockName {
    return nameOf(this.#chain.head);
  }

  /** The finalized checkpoint of the head's state. */
  get finalized(): BeaconBlockName {
    return nameOf(this.#chain.finalizedBy(this.#chain.head) ?? this.#chain.head);
  }

  /** Sync committee period of the head. */
  get period(): number {
    return this.#chain.periodOf(this.#chain.head.slot);
  }

  /** Number of the execution block that the first block from an epoch on will carry, if no block is left out. */
  executionBlockAt(epoch: bigint): number {
    return this.#chain.executionBlockAt(Number(epoch));
  }

  get requests(): readonly BeaconRequest[] {
    return this.#server.requests;
  }

  forgetRequests(): void {
    this.#server.forgetRequests();
  }

  /** Opens another node of the same chain, e.g. an honest one beside one that lies. */
  openNode(behaviour: Partial<NodeBehaviour> = {}): SimulatedBeaconNode {
    return this.#open(behaviour);
  }

  #open(behaviour: Partial<NodeBehaviour>): BeaconServer {
    const node = new BeaconServer(this.#chain, behaviour);
    this.#nodes.push(node);
    return node;
  }

  /** The blocks before the start carry the last execution blocks, the oldest one again where there are too few. */
  async start(): Promise<void> {
    const newest = await this.#newest();
    for (let behind = epochsBefore; behind >= 0; behind--) {
      this.#chain.add(await this.#block(Math.max(0, newest.number - behind)));
    }
    this.#pollLater();
  }

  /** Resolves when the head carries the newest block that the execution chain has at this moment. */
  sync(): Promise<void> {
    return this.#inTurn(() => this.#follow());
  }

  /** Makes that many empty execution blocks, with their beacon blocks. */
  mine(blocks: number): Promise<void> {
    return this.#inTurn(() => this.#mine(blocks));
  }

  /** Makes blocks until the given execution block is final (the newest when left out). */
  finalize(blockNumber?: number): Promise<void> {
    return this.#inTurn(async () => {
      const wanted = blockNumber ?? (await this.#newest()).number;
      await this.#follow();
      while (this.finalized.blockNumber < wanted) await this.#mine(1);
    });
  }

  /**
   * Advances to a later period by leaving slots empty. Each period that is left gets a block shortly before its end,
   * each that is entered four: one that becomes final, one an epoch later, one two epochs later in whose state the
   * first is final, and one that signs that. The last of them is the head.
   */
  advanceToPeriod(period: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#follow();
      if (period <= this.period) throw new BeaconFault("period_passed");
      const { slotsPerEpoch, epochsPerPeriod } = this.#chain.rules;
      for (let next = this.period + 1; next <= period; next++) {
        const first = next * epochsPerPeriod * slotsPerEpoch;
        const third = first + 2 * slotsPerEpoch;
        const slots = [first - slotsBeforePeriod, first, first + slotsPerEpoch, third, third + 1]
          .filter((slot) => slot > this.#chain.head.slot);
        this.#chain.plan(slots);
        await this.#mine(slots.length);
      }
    });
  }

  /** Replaces the last beacon blocks by others that carry the same execution blocks. */
  reorg(blocks: number): Promise<void> {
    // deno-lint-ignore require-await -- a fault has to become a rejection
    return this.#inTurn(async () => {
      for (const record of this.#chain.undo(blocks)) this.#chain.add(record.execution);
    });
  }

  change(behaviour: Partial<BeaconBehaviour>): void {
    const { signers, ...ofNode } = behaviour;
    this.#signers = signers ?? this.#signers;
    this.#server.change(ofNode);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#abort.abort();
    await this.#last;
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const run = this.#last.then(work);
    this.#last = run.catch(() => {});
    return run;
  }

  #pollLater(): void {
    if (this.#pollMs === 0 || this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#poll(), this.#pollMs);
  }

  async #poll(): Promise<void> {
    try {
      await this.sync();
      this.#failedPolls = 0;
    } catch (error) {
      // The execution node is away, or changes its chain at this moment, or this one is ending.
      this.#failedPolls++;
      const isAway = error instanceof TypeError || this.#abort.signal.aborted;
      if (!isAway && this.#failedPolls >= MAX_FAILED_POLLS) throw error;
    }
    this.#pollLater();
  }

  async #mine(blocks: number): Promise<void> {
    await this.#execution.mine(blocks);
    await this.#follow();
  }

  async #follow(): Promise<void> {
    const newest = await this.#newest();
    if (newest.hash === this.#chain.head.execution.hash) return;
    await this.#leaveStaleBlocks(newest);
    for (let number = this.#chain.head.execution.number + 1; number < newest.number; number++) {
      this.#chain.add(await this.#block(number));
    }
    this.#chain.add(newest);
  }

  /** Goes back to the last block that carries an execution block of today's chain, though not behind what is final. */
  async #leaveStaleBlocks(newest: ExecutionBlock): Promise<void> {
    const final = this.finalized.slot;
    const blocks = this.#chain.blocks.filter((record) => record.slot > final);
    let stale = 0;
    for (const record of blocks.toReversed()) {
      if (record.execution.hash === newest.parentHash) break;
      const { number, hash } = record.execution;
      if (number < newest.number && (await this.#execution.block(number))?.hash === hash) break;
      stale++;
    }
    if (stale > 0) this.#chain.undo(stale);
  }

  async #newest(): Promise<ExecutionBlock> {
    const block = await this.#execution.block("latest");
    if (block === undefined) throw new Error("The execution chain has no block");
    return block;
  }

  async #block(number: number): Promise<ExecutionBlock> {
    const block = await this.#execution.block(number);
    if (block === undefined) throw new Error(`The execution chain has no block ${number}`);
    return block;
  }
}

function nameOf(record: BeaconRecord): BeaconBlockName {
  return {
    slot: record.slot,
    root: record.root,
    stateRoot: toHex(record.header.stateRoot),
    blockNumber: record.execution.number,
    blockHash: record.execution.hash,
  };
}
