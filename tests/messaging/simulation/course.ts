/**
 * One seed from its first block to the end: chains in memory, the whole relayer as a process that dies and comes
 * back, and a competitor. Time jumps from one thing to the next. Start reading at {@link Course.run}.
 */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { type Hash256, keccak256, toHex } from "../../../src/core/encoding/bytes.ts";
import { getMessage, type Message, postMessage } from "../../../src/core/ismp/message.ts";
import { toEvmAddress } from "../../../src/core/ismp/signed_messages.ts";
import {
  parseStateMachine,
  type StateMachine,
  stateMachineIdKey,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import type { Randomness } from "../../../src/core/runtime/clock.ts";
import { lowest } from "../../../src/core/chains/evm/gas.ts";
import type { Connections } from "../../../src/messaging/session.ts";
import { FakeClock, WrongClock } from "../../support/fake_clock.ts";
import type { PlannedFault } from "../../support/fault_plan.ts";
import { messagesOf } from "../../support/memory_block.ts";
import { MemoryChain } from "../../support/memory_chain.ts";
import { MemoryNode } from "../../support/memory_node.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { connectEvm, type Endpoint, MIN_PAYMENT, type Process, SimHub } from "./chains.ts";
import { compete } from "./competitor.ts";
import { configOf, evmConfigsOf } from "./config.ts";
import type { HttpFault, Mood } from "./endpoints.ts";
import { lieOf } from "./lies.ts";
import type { AttackCost } from "./money_checks.ts";
import {
  type ChainPlan,
  type EndpointPhase,
  isMisbehaving,
  type MessagePlan,
  type Plan,
  type Trouble,
} from "./plan.ts";
import { Program } from "./program.ts";

/** Names of the chains, the hub last. */
export const chainNames = [
  parseStateMachine("EVM-1"),
  parseStateMachine("EVM-56"),
  // Not a hub of a test network, where a native token counts as one dollar whatever happens.
  parseStateMachine("POLKADOT-3367"),
] as const;

/** A message of the seed with what was planned for it. */
export interface Sent {
  readonly plan: MessagePlan;
  readonly message: Message;
  readonly source: MemoryNode;
  readonly dest: MemoryNode;
}

/** What the endpoints of a bad day do. */
const badDay: readonly PlannedFault[] = [
  { kind: "throw", code: "unreachable" },
  { kind: "throw", code: "throttled", retryAfterMs: 2_000 },
  { kind: "throw", code: "server_error" },
  { kind: "throw", code: "lagging" },
  { kind: "throw", code: "timeout" },
  { kind: "delay", ms: 3_000 },
  { kind: "delay", ms: 12_000 },
  { kind: "loseAnswer", code: "timeout" },
  { kind: "loseAnswer", code: "unreachable" },
];

/** The same on the way to an EVM chain. */
const badWays: readonly HttpFault[] = [
  { kind: "unreachable" },
  { kind: "status", status: 429, retryAfterSec: 2 },
  { kind: "status", status: 500 },
  { kind: "status", status: 504 },
  { kind: "error", code: -32603, message: "internal error" },
  { kind: "delay", ms: 3_000 },
  { kind: "delay", ms: 12_000 },
  { kind: "lost" },
];

/** Seconds between two polls of the simulated chains. */
const TICK_SEC = 2;
/** Seconds between blocks of the hub. */
const HUB_BLOCK_SEC = 6;
/** 2,000 dollars for a native token. */
export const PRICE_27 = 2_000n * 10n ** 27n;
/** Maximum of seconds after the trouble until everything has ended. */
const MAX_CALM_SEC = 3 * 3_600;
/** Seconds between a process that ended by itself and its successor, as a container runtime does it. */
const RESPAWN_SEC = 5;

/** An endpoint in order. */
const HONEST = { behind: 0n, provesWell: true };

/** Modules that send and receive, and one that misbehaves. */
const SENDER = new Uint8Array(20).fill(0xaa);
const RECEIVER = new Uint8Array(20).fill(0xbb);
const DECEIVER = new Uint8Array(20).fill(0xdd);

/** A key of the relayer with its address. */
function accountOf(number: number): { readonly key: Uint8Array; readonly relayer: Uint8Array } {
  const key = keccak256(Uint8Array.of(number));
  return { key, relayer: toEvmAddress(key) };
}

const first = accountOf(1);
const second = accountOf(2);

/** The relayer's keys, lower-case hex with 0x. */
export const simulationKeys: readonly string[] = [toHex(first.key), toHex(second.key)];

/** Something has not ended in time. */
export class TimeOver extends Error {
  override readonly name = "TimeOver";
}

/** Bytes of which few are zero, as those of applications. */
function bodyOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index % 8 === 0 ? 0 : 1 + index % 250);
}

/** The course of one seed. */
export class Course {
  readonly clock = new FakeClock();
  /** The clock of the relayer's machine. */
  readonly machineClock = new WrongClock(this.clock);
  readonly nodes: readonly [MemoryNode, MemoryNode, MemoryNode];
  readonly sent: Sent[] = [];
  readonly programs: Program[] = [];
  readonly plan: Plan;
  readonly #accounts: readonly [typeof first, typeof first];
  readonly #random: Randomness;
  readonly #path: string;
  readonly #seed: number;
  readonly #fuses: Extract<Trouble, { kind: "fuse" }>[];
  readonly #outages = new Set<number>();
  /** Chains whose proofs are bad now, and those whose nodes are out of step, with the blocks. */
  readonly #badProofs = new Set<number>();
  readonly #outOfStep = new Map<number, number>();
  /** Endpoints that misbehave now, with the height at which each began to. */
  readonly #phases = new Map<EndpointPhase, bigint>();
  #diskFault: "full" | "readonly" | undefined;
  readonly #priceGaps = new Set<number>();
  readonly #spikes = new Map<Trouble, () => void>();
  readonly #foreign = new Set<0 | 1>();
  /** Governance is about to replace the handler there. */
  readonly #governed = new Set<0 | 1>();
  readonly #losing = new Set<Extract<Trouble, { kind: "lose" }>>();
  readonly #competitor: readonly [MemoryChain, MemoryChain, MemoryChain];
  #connectedHub: MemoryChain | undefined;
  #startAtSec = 0;
  /** Called when a transaction of ours has left for a chain. */
  onSent: (chain: StateMachine, hash: Hash256) => void = () => {};
  /** How often the database was lost, or gave way to a replica that was behind. */
  losses = 0;
  /** How often it gave way to a replica. */
  restores = 0;
  /** How many processes were started with `initial_height` in the file: each leg begins with it again. */
  freshStarts = 0;
  /** Claims and orders of ours in blocks of the hub that were reorganised away. */
  callsLost = 0;
  /** What the attack in it cost both sides. */
  attacked: AttackCost | undefined;
  /** Messages that somebody delivered on purpose ahead of a transaction of ours, with the proofs of the hub in it. */
  readonly races: { readonly node: MemoryNode; readonly message: Message; readonly proofs: number }[] = [];
  /** Transactions of which somebody has decided whether to run ahead of them. */
  readonly #judged = new Set<Hash256>();
  #isLost = false;
  /** What the replica holds, by the end of the file's name; `undefined`: there is none. */
  #replica: ReadonlyMap<string, Uint8Array<ArrayBuffer>> | undefined;
  #nowSec = 0;
  #lastProof = 0n;
  /** `initial_height` of all chains, which the operator takes out of the file once it has had its effect. */
  #initialHeight: bigint | undefined;

  constructor(seed: number, plan: Plan, path: string) {
    this.plan = plan;
    this.#seed = seed;
    this.#path = path;
    this.#random = seededRandomness(seed ^ 0x5eed);
    this.#accounts = [first, plan.hasSeparateKeys ? second : first];
    const [one, two] = plan.chains;
    this.nodes = [
      this.#evmNode(0, "ETH0", one),
      this.#evmNode(1, "BSC0", two),
      new MemoryNode(this.clock, {
        id: { stateMachine: chainNames[2], consensusStateId: toConsensusStateId("PARA") },
        family: "substrate",
        isHub: true,
        finalityLag: plan.hubFinalityLag,
        challengePeriodSec: plan.hubChallengeSec,
      }),
    ];
    const competitor = { relayer: new Uint8Array(20).fill(0xcc) };
    const [nodeOne, nodeTwo, hub] = this.nodes;
    this.#competitor = [
      new MemoryChain(nodeOne, this.clock, competitor),
      new MemoryChain(nodeTwo, this.clock, competitor),
      new MemoryChain(hub, this.clock, competitor),
    ];
    this.#fuses = plan.troubles.filter((trouble) => trouble.kind === "fuse");
  }

  /** Where our deliveries to a chain are credited from: our name there. */
  relayerOn(chain: StateMachine): Uint8Array {
    return chain === chainNames[1] ? this.#accounts[1].relayer : this.#accounts[0].relayer;
  }

  /** The process that runs now, if any. */
  get program(): Program | undefined {
    const last = this.programs.at(-1);
    return last === undefined || last.isOver ? undefined : last;
  }

  /** True while `initial_height` is in the file. */
  get hasInitialHeight(): boolean {
    return this.#initialHeight !== undefined;
  }

  /** A fee of 18 decimals in units of a chain's fee token; a unit stays one. */
  toUnits(node: MemoryNode, fee: bigint): bigint {
    const units = fee / 10n ** BigInt(18 - this.#decimalsOf(node));
    return units > 0n ? units : fee > 0n ? 1n : 0n;
  }

  /** The fee of a request on its source, in 18 decimals. */
  feeOf({ message, source }: Pick<Sent, "message" | "source">): bigint {
    return this.toDollars(source, source.head.state.fees.get(message.commitment) ?? 0n);
  }

  /** Units of a chain's fee token in 18 decimals. */
  toDollars(node: MemoryNode, units: bigint): bigint {
    return units * 10n ** BigInt(18 - this.#decimalsOf(node));
  }

  #decimalsOf(node: MemoryNode): number {
    const [one, two] = this.plan.settings.decimals;
    return node === this.nodes[0] ? one : node === this.nodes[1] ? two : 18;
  }

  /** True when the next transaction of an account of ours waits and offers less than blocks take. */
  get isBlockedByOldTransaction(): boolean {
    return this.nodes.slice(0, 2).some((node) =>
      node.waiting.some(({ account, nonce, priceWei, evm }) =>
        nonce === node.nonceOf(account) &&
        lowest(priceWei, node.baseFeeWei + (evm?.tipWei ?? 0n)) < node.minedFromWei
      )
    );
  }

  /** Most that the clock of the relayer's machine is ahead of the chains' at any time, ms. */
  get clockAheadMs(): number {
    const steps = this.plan.troubles.map((each) => each.kind === "clockStep" ? each.bySec : 0);
    return Math.max(0, ...steps) * 1_000;
  }

  /** True while things go wrong. */
  get isTroubled(): boolean {
    return this.#nowSec < this.plan.calmAfterSec;
  }

  /**
   * Runs until `isOver` says so, asked every half minute after the trouble has ended.
   * @param watch looks at things once a round
   * @throws {Error} when it takes too long; `whatIsOpen` tells what is missing.
   */
  async run(
    look: { readonly watch: () => void; readonly whatIsOpen: () => string | undefined },
  ): Promise<void> {
    const mostSec = this.plan.calmAfterSec + MAX_CALM_SEC;
    for (this.#nowSec = 0; this.#nowSec <= mostSec; this.#nowSec += TICK_SEC) {
      await this.clock.advance(TICK_SEC * 1_000);
      await this.#tick();
      if (this.#nowSec % this.plan.pollSec === 0) look.watch();
      const isCalm = this.#nowSec > this.plan.calmAfterSec;
      if (isCalm && this.#nowSec % 30 === 0 && look.whatIsOpen() === undefined) return;
    }
    throw new TimeOver(`After ${mostSec} s of fake time: ${look.whatIsOpen()}`);
  }

  /** Ends the process in an orderly way. */
  async end(): Promise<void> {
    const last = this.programs.at(-1);
    last?.stop();
    if (last !== undefined) await this.clock.run(last.ended);
  }

  async #tick(): Promise<void> {
    const now = this.#nowSec;
    this.#supervise();
    for (const plan of [...this.plan.messages, ...this.plan.attack?.messages ?? []]) {
      if (plan.atSec >= now && plan.atSec < now + TICK_SEC) this.#send(plan);
    }
    for (const { message, plan, source } of this.sent) {
      const raisedAt = plan.raisedAfterSec === undefined ? -1 : plan.atSec + plan.raisedAfterSec;
      if (raisedAt >= now && raisedAt < now + TICK_SEC) {
        source.fund(message.commitment, this.toUnits(source, 50n * 10n ** 18n));
      }
    }
    for (const trouble of this.plan.troubles) {
      if (trouble.kind !== "fuse") this.#begin(trouble);
    }
    if (now === this.plan.calmAfterSec - this.plan.calmAfterSec % TICK_SEC) this.#calm();
    this.#loseWhilePending();
    this.#useNonces();
    this.#replaceHandlers();
    this.#runAhead();
    this.#produce();
    if (this.plan.hasCompetitor && now % 6 === 0) await compete(this.#random, this.#competitor, this.sent);
  }

  /** Loses the database just when something waits for a block. */
  #loseWhilePending(): void {
    for (const trouble of this.#losing) {
      if (trouble.whilePending !== undefined && this.nodes[trouble.whilePending].mempoolSize === 0) continue;
      this.#losing.delete(trouble);
      if (!this.isTroubled) continue;
      this.#startAtSec = this.#nowSec + trouble.downSec;
      this.program?.kill();
      this.#isLost = true;
    }
  }

  /** Somebody uses a nonce just when a transaction of ours waits for its block. */
  #useNonces(): void {
    for (const chain of this.#foreign) {
      if (this.nodes[chain].mempoolSize === 0) continue;
      this.#foreign.delete(chain);
      this.nodes[chain].useNonce(toHex(this.relayerOn(chainNames[chain])));
    }
  }

  /** Governance replaces a handler just when a transaction waits that calls it. */
  #replaceHandlers(): void {
    for (const chain of this.#governed) {
      if (this.isTroubled && this.nodes[chain].mempoolSize === 0) continue;
      this.#governed.delete(chain);
      if (this.isTroubled) this.nodes[chain].replaceHandler();
    }
  }

  /** Somebody delivers the last message of what we have in a pool, ahead of it in the same block. */
  #runAhead(): void {
    const { attack } = this.plan;
    if (attack === undefined || attack.frontRunPercent === 0) return;
    for (const node of this.nodes.slice(0, 2)) {
      for (const transaction of node.waiting) {
        const last = messagesOf(transaction).at(-1);
        if (last === undefined || this.#judged.has(transaction.hash)) continue;
        this.#judged.add(transaction.hash);
        if (!this.#chance(attack.frontRunPercent)) continue;
        const proofs = transaction.delivery.steps.filter(({ kind }) => kind === "consensus").length;
        const count = this.races.push({ node, message: last, proofs });
        const number = attack.kind === "front-running by many" ? count : 0;
        node.deliverFirst(last, keccak256(Uint8Array.of(9, number)).slice(0, 20));
      }
    }
  }

  /** Blocks, and what chains learn of each other. */
  #produce(): void {
    const now = this.#nowSec;
    const [one, two, hub] = this.nodes;
    const isTrouble = now < this.plan.calmAfterSec;
    for (const [node, everySec] of this.#intervals()) {
      if (now % everySec !== 0) continue;
      if (isTrouble && this.#chance(this.plan.reorgPercent)) this.#reorganise(node);
      node.produceBlock();
    }
    if (now % 12 === 0) {
      hub.accept(one);
      hub.accept(two);
      const isRotation = isTrouble && this.#chance(8);
      if (hub.finalHeight > this.#lastProof) {
        this.#lastProof = hub.finalHeight;
        hub.acceptProof(isRotation ? "rotation" : "messaging");
      }
    }
    if (now % 18 !== 0) return;
    for (const [index, { driver }] of this.plan.chains.entries()) {
      if (driver === "updates") this.nodes[index]?.accept(hub);
    }
  }

  #intervals(): readonly (readonly [MemoryNode, number])[] {
    const [one, two, hub] = this.nodes;
    const [first, second] = this.plan.chains;
    return [[one, first.blockSec], [two, second.blockSec], [hub, HUB_BLOCK_SEC]];
  }

  #reorganise(node: MemoryNode): void {
    const most = Number(node.head.height - node.finalHeight);
    if (most === 0) return;
    const depth = 1 + Math.floor(this.#random.fraction() * most);
    for (let block = 0; block < depth; block++) {
      const gone = node.block(node.head.height - BigInt(block));
      this.callsLost += gone?.mined.filter(({ transaction }) => transaction.call !== undefined).length ?? 0;
    }
    node.reorganise(depth, this.#chance(70) ? "repool" : "forget");
    // A new head comes at once, of the same height or higher.
    for (let block = 1; block < depth; block++) node.produceBlock();
  }

  /** Starts a process where none runs. */
  #supervise(): void {
    const last = this.programs.at(-1);
    if (last !== undefined && !last.isOver) return;
    if (last !== undefined && this.#startAtSec === 0) this.#startAtSec = this.#nowSec + RESPAWN_SEC;
    if (this.#nowSec < this.#startAtSec) return;
    this.#startAtSec = 0;
    if (this.#isLost) this.#loseDatabase();
    else this.#restore();
    this.#initialHeight = this.plan.startsFromNow || this.#hasCursors() ? undefined : 0n;
    if (this.#initialHeight !== undefined) this.freshStarts++;
    const fuse = this.#nowSec < this.plan.calmAfterSec ? this.#fuses.shift() : undefined;
    const program = new Program({
      clock: this.clock,
      machineClock: this.machineClock,
      diskFault: () => this.#diskFault,
      path: this.#path,
      config: this.#config(),
      seed: this.#seed + this.programs.length,
      fuse,
      onReplica: () => this.#replicate(),
      connect: (life) => this.#connect(life),
    });
    this.programs.push(program);
  }

  /** Removes the file of a process that is gone. */
  #loseDatabase(): void {
    this.#isLost = false;
    this.losses++;
    this.#removeDatabase();
  }

  #removeDatabase(): void {
    this.#replica = undefined;
    for (const end of ["", "-wal", "-shm"]) {
      const file = `${this.#path}${end}`;
      if (existsSync(file)) Deno.removeSync(file);
    }
  }

  /** Keeps the database as it is, in the middle of a transaction perhaps. */
  #replicate(): void {
    this.#replica = new Map(["", "-wal"].map((end) => [end, Deno.readFileSync(`${this.#path}${end}`)]));
  }

  /** Puts the replica in the place of the file of a process that is gone. */
  #restore(): void {
    const replica = this.#replica;
    if (replica === undefined) return;
    this.#removeDatabase();
    for (const [end, bytes] of replica) Deno.writeFileSync(`${this.#path}${end}`, bytes);
    this.losses++;
    this.restores++;
  }

  /** True when every leg has begun. */
  #hasCursors(): boolean {
    if (!existsSync(this.#path)) return false;
    const database = new DatabaseSync(this.#path);
    try {
      return database.prepare("SELECT * FROM cursor").all().length === 4;
    } catch {
      return false; // died before it made its tables
    } finally {
      database.close();
    }
  }

  #begin(trouble: Exclude<Trouble, { kind: "fuse" }>): void {
    const now = this.#nowSec;
    const isNow = (atSec: number): boolean => atSec >= now && atSec < now + TICK_SEC;
    if ("forSec" in trouble && isNow(trouble.atSec + trouble.forSec)) this.#endOf(trouble);
    if (!isNow(trouble.atSec)) return;
    switch (trouble.kind) {
      case "kill":
      case "stop":
        this.#startAtSec = now + trouble.downSec;
        if (trouble.kind === "stop") this.program?.stop();
        else this.program?.kill();
        return;
      case "lose":
        this.#losing.add(trouble);
        return;
      case "rush": {
        const node = this.nodes[trouble.chain];
        node.priceWei = node.priceWei * BigInt(trouble.percent) / 100n;
        node.minedFromWei = node.priceWei;
        return;
      }
      case "outage":
        this.#outages.add(trouble.chain);
        this.#drawFaults();
        return;
      case "newHandler":
        if (trouble.whilePending) this.#governed.add(trouble.chain);
        else this.nodes[trouble.chain].replaceHandler();
        return;
      case "foreignNonce":
        this.#foreign.add(trouble.chain);
        return;
      case "spike": {
        const node = this.nodes[trouble.chain];
        const times = BigInt(trouble.times);
        node.priceWei *= times;
        const waiting = node.minedFromWei;
        node.minedFromWei = node.priceWei;
        this.#spikes.set(trouble, () => {
          node.priceWei /= times;
          // Another rush may have come meanwhile.
          node.minedFromWei = waiting < node.priceWei ? waiting : node.priceWei;
        });
        return;
      }
      case "bandwidth":
        this.nodes[2].meter(SENDER, 0n);
        return;
      case "badProofs":
        this.#badProofs.add(trouble.chain);
        return;
      case "outOfStep":
        this.#outOfStep.set(trouble.chain, trouble.blocks);
        return;
      case "disk":
        this.#diskFault = trouble.fault;
        return;
      case "clockStep":
        this.machineClock.aheadMs += trouble.bySec * 1_000;
        return;
      case "endpoint":
        this.#phases.set(trouble, this.nodes[trouble.chain].head.height);
        return;
      case "priceGap":
        this.#priceGaps.add(trouble.chain);
        return;
      case "forgetPool":
        this.nodes[trouble.chain].clearMempool();
    }
  }

  /** What lasts for a while is over. */
  #endOf(trouble: Extract<Trouble, { readonly forSec: number }>): void {
    switch (trouble.kind) {
      case "outage":
        this.#outages.delete(trouble.chain);
        this.#drawFaults();
        return;
      case "spike":
        this.#spikes.get(trouble)?.();
        this.#spikes.delete(trouble);
        return;
      case "bandwidth":
        this.nodes[2].meter(SENDER, undefined);
        return;
      case "badProofs":
        this.#badProofs.delete(trouble.chain);
        return;
      case "outOfStep":
        this.#outOfStep.delete(trouble.chain);
        return;
      case "endpoint":
        this.#phases.delete(trouble);
        return;
      case "disk":
        this.#diskFault = undefined;
        return;
      case "clockStep":
        this.machineClock.aheadMs = 0;
        return;
      case "priceGap":
        this.#priceGaps.delete(trouble.chain);
    }
  }

  #calm(): void {
    for (const trouble of this.plan.troubles) if ("forSec" in trouble) this.#endOf(trouble);
    this.#drawFaults();
  }

  /** What the endpoint of a chain does with the next call. */
  #endpointOf(index: number): Endpoint {
    return {
      blocksBehind: () => {
        const most = this.#outOfStep.get(index);
        if (most === undefined || this.#chance(50)) return 0n;
        return BigInt(1 + Math.floor(this.#random.fraction() * most));
      },
      isProofBad: () => this.#badProofs.has(index) && this.#chance(50),
    };
  }

  /** How the next request to an endpoint of an EVM chain goes. */
  #moodOf(index: 0 | 1, endpoint: number): Mood {
    if (this.#outages.has(index)) return { view: HONEST, fault: { kind: "unreachable" } };
    const { blocksBehind, isProofBad } = this.#endpointOf(index);
    const isFirst = endpoint === 0;
    const found = [...this.#phases].find(([each]) => each.chain === index && each.endpoint === endpoint);
    if (found !== undefined) return this.#phaseMood(...found);
    const isAlone = [...this.#phases.keys()].some(({ chain }) => chain === index);
    if (isAlone) return { view: HONEST };
    const view = { behind: isFirst ? blocksBehind() : 0n, provesWell: !isFirst || !isProofBad() };
    if (!this.#isFaulty() || !this.#chance(this.plan.faultPercent)) return { view };
    return { view, fault: badWays[Math.floor(this.#random.fraction() * badWays.length)] };
  }

  /** How an endpoint answers in its phase, which began at a height. */
  #phaseMood({ chain, does }: EndpointPhase, since: bigint): Mood {
    switch (does.how) {
      case "lags":
        return { view: { ...HONEST, behind: BigInt(does.blocks) } };
      case "stands":
        return { view: { ...HONEST, behind: this.nodes[chain].head.height - since } };
      case "status":
        return { view: HONEST, fault: { kind: "status", status: does.status } };
      case "error":
        return { view: HONEST, fault: { kind: "error", code: does.code, message: does.message } };
      case "lies":
        return { view: { ...HONEST, lie: lieOf(does.about, does.size) } };
    }
  }

  #isFaulty(): boolean {
    return this.#nowSec < this.plan.calmAfterSec - TICK_SEC;
  }

  #drawFaults(): void {
    const percent = this.#isFaulty() ? this.plan.faultPercent : 0;
    const faults = this.#connectedHub?.faults;
    if (this.#outages.has(2)) faults?.draw(this.#random, 100, [{ kind: "throw", code: "unreachable" }]);
    else faults?.draw(this.#random, percent, badDay);
  }

  #send(plan: MessagePlan): void {
    const source = this.nodes[plan.from];
    const dest = this.nodes[1 - plan.from];
    if (dest === undefined) throw new Error("There are two chains");
    const nowSec = Math.floor(this.clock.now() / 1_000);
    const name = Uint8Array.of(7, plan.pair === "fresh" ? 1 + this.sent.length : 0);
    const pair = plan.pair === undefined ? undefined : keccak256(name).slice(0, 20);
    const ends = {
      source: source.id.stateMachine,
      dest: dest.id.stateMachine,
      nonce: BigInt(this.sent.filter((sent) => sent.source === source).length),
      from: pair ?? SENDER,
      timeoutTimestampSec: plan.timeoutSec === undefined ? 0n : BigInt(nowSec + plan.timeoutSec),
    };
    // No reorganisation takes that height from the hub again. Without one to ask about it becomes a post.
    const final = this.nodes[2].block(this.nodes[2].finalHeight);
    const hubKnows = final?.state.counterparties.get(stateMachineIdKey(dest.id))?.latest;
    const message = plan.kind === "post" || hubKnows === undefined
      ? postMessage({
        ...ends,
        to: pair?.toReversed() ?? (isMisbehaving(plan.module) ? DECEIVER : RECEIVER),
        body: bodyOf(plan.bodyBytes ?? 3),
      })
      : getMessage({
        ...ends,
        keys: [new Uint8Array(52).fill(3)],
        height: hubKnows,
        context: new Uint8Array(),
      });
    if (plan.module !== undefined) dest.behaviours.set(message.commitment, plan.module);
    if (plan.isUntraceable === true) dest.untraceable.add(message.commitment);
    source.dispatch(message, this.toUnits(source, plan.fee));
    this.sent.push({ plan, message, source, dest: message.kind === "post" ? dest : source });
  }

  #connect(life: Process): Connections {
    const latency = (): number => this.#chance(10) ? Math.floor(this.#random.fraction() * 2_000) : 0;
    const connection = { life, clock: this.machineClock, latencyMs: latency };
    const [one, two, hub] = this.nodes;
    const [firstAccount, secondAccount] = this.#accounts;
    const chains = new Map([[one.id.stateMachine, one], [two.id.stateMachine, two]]);
    const middle = new SimHub(
      hub,
      { ...connection, ...firstAccount, endpoint: this.#endpointOf(2) },
      chains,
    );
    for (const node of [one, two]) {
      middle.accounts.minimums.set(node.id.stateMachine, this.toUnits(node, MIN_PAYMENT));
    }
    this.#connectedHub = middle;
    this.#drawFaults();
    const entries = evmConfigsOf(this.#config()).map((config, index) => ({
      config,
      chain: connectEvm(index === 0 ? one : two, {
        ...connection,
        ...(index === 0 ? firstAccount : secondAccount),
        config,
        hub: hub.id,
        onSent: (hash) => this.onSent(config.stateMachine, hash),
        moodOf: (endpoint) => this.#moodOf(index === 0 ? 0 : 1, endpoint),
        price27: () => this.#priceGaps.has(index) ? undefined : PRICE_27,
        feeTokenDecimals: this.plan.settings.decimals[index] ?? 18,
      }),
    }));
    return { hub: middle, chains: entries };
  }

  #config(): MessagingConfig {
    const { maximumDailyLoss, minimumProfitPercent, pollSec, settings } = this.plan;
    const entries = [0, 1].flatMap((index) => {
      const node = this.nodes[index];
      const account = this.#accounts[index];
      return node === undefined || account === undefined ? [] : [{ id: node.id, key: account.key }];
    });
    const hub = this.nodes[2].id;
    return configOf({
      hub,
      entries,
      maximumDailyLoss,
      minimumProfitPercent,
      settings,
      senders: [SENDER],
      pollSec,
      initialHeight: this.#initialHeight,
    });
  }

  #evmNode(index: 0 | 1, consensus: string, plan: ChainPlan): MemoryNode {
    const { finalityLag, driver, priceWei, dataWeiPerByte } = plan;
    const node = new MemoryNode(this.clock, {
      id: { stateMachine: chainNames[index], consensusStateId: toConsensusStateId(consensus) },
      family: "evm",
      finalityLag,
      ...(driver === "proofs" ? { setId: 0n } : {}),
    });
    node.priceWei = priceWei;
    node.dataWeiPerByte = dataWeiPerByte;
    // What a plain message and a proof take at most, for the checks.
    node.messageGas = 165_000n;
    node.proofGas = 400_000n;
    return node;
  }

  #chance(percent: number): boolean {
    return this.#random.fraction() * 100 < percent;
  }
}
