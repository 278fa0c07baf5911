/**
 * One seed from its first block to the end: chains in memory, the whole relayer as a process that dies and comes
 * back, and a competitor. Time jumps from one thing to the next. Start reading at {@link Course.run}.
 */
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
import type { Connections } from "../../../src/messaging/session.ts";
import { FakeClock, WrongClock } from "../../support/fake_clock.ts";
import { messagesOf } from "../../support/memory_block.ts";
import { MemoryChain } from "../../support/memory_chain.ts";
import { MemoryNode } from "../../support/memory_node.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { connectEvm, MIN_PAYMENT, type Process, SimHub } from "./chains.ts";
import { compete } from "./competitor.ts";
import { configOf, evmConfigsOf, SENDER } from "./config.ts";
import type { AttackCost } from "./money_checks.ts";
import { type ChainPlan, isMisbehaving, type MessagePlan, type Plan } from "./plan.ts";
import { Lives } from "./lives.ts";
import type { Program } from "./program.ts";
import { TICK_SEC, Troubles } from "./troubles.ts";

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

/** Seconds between blocks of the hub. */
const HUB_BLOCK_SEC = 6;
/** 2,000 dollars for a native token. */
export const PRICE_27 = 2_000n * 10n ** 27n;
/** Maximum of seconds after the trouble until everything has ended. */
const MAX_CALM_SEC = 3 * 3_600;
/** Seconds after the trouble when pools drop what was not mined, as full ones do: a database that was lost may know nothing of it. */
const FULL_POOL_SEC = 1_200;
/** A module that receives, and one that misbehaves. */
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
  /** The processes of the relayer, one after the other, on one database. */
  readonly lives: Lives;
  readonly plan: Plan;
  readonly #accounts: readonly [typeof first, typeof first];
  readonly #random: Randomness;
  readonly #troubles: Troubles;
  readonly #competitor: readonly [MemoryChain, MemoryChain, MemoryChain];
  #connectedHub: MemoryChain | undefined;
  /** Called when a transaction of ours has left for a chain. */
  onSent: (chain: StateMachine, hash: Hash256) => void = () => {};
  /** Claims and orders of ours in blocks of the hub that were reorganised away. */
  callsLost = 0;
  /** What the attack in it cost both sides. */
  attacked: AttackCost | undefined;
  /** Messages that somebody delivered on purpose ahead of a transaction of ours, with the proofs of the hub in it. */
  readonly races: { readonly node: MemoryNode; readonly message: Message; readonly proofs: number }[] = [];
  /** Transactions of which somebody has decided whether to run ahead of them. */
  readonly #judged = new Set<Hash256>();
  #nowSec = 0;
  #lastProof = 0n;
  constructor(seed: number, plan: Plan, path: string) {
    this.plan = plan;
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
    this.#troubles = new Troubles({
      plan,
      nodes: this.nodes,
      machineClock: this.machineClock,
      random: this.#random,
      endProcess: (how, downSec) => this.lives.end(how, this.#nowSec + downSec),
      useNonce: (chain) => this.nodes[chain].useNonce(toHex(this.relayerOn(chainNames[chain]))),
    });
    this.lives = new Lives({
      seed,
      plan,
      path,
      clock: this.clock,
      machineClock: this.machineClock,
      isTroubled: () => this.isTroubled,
      diskFault: () => this.#troubles.diskFault,
      configOf: () => this.#config(),
      connect: (life) => this.#connect(life),
    });
  }

  /** Where our deliveries to a chain are credited from: our name there. */
  relayerOn(chain: StateMachine): Uint8Array {
    return chain === chainNames[1] ? this.#accounts[1].relayer : this.#accounts[0].relayer;
  }

  /** The process that runs now, if any. */
  get program(): Program | undefined {
    return this.lives.running;
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

  /** Most that the clock of the relayer's machine is ahead of the chains' at any time, ms. */
  get clockAheadMs(): number {
    const steps = this.plan.troubles.map((each) => each.kind === "clockStep" ? each.bySec : 0);
    return Math.max(0, ...steps) * 1_000;
  }

  /** True while things go wrong. */
  get isTroubled(): boolean {
    return this.#troubles.isOn;
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
    const last = this.lives.programs.at(-1);
    last?.stop();
    if (last !== undefined) await this.clock.run(last.ended);
  }

  async #tick(): Promise<void> {
    const now = this.#nowSec;
    this.lives.supervise(now);
    for (const plan of [...this.plan.messages, ...this.plan.attack?.messages ?? []]) {
      if (plan.atSec >= now && plan.atSec < now + TICK_SEC) this.#send(plan);
    }
    for (const { message, plan, source } of this.sent) {
      const raisedAt = plan.raisedAfterSec === undefined ? -1 : plan.atSec + plan.raisedAfterSec;
      if (raisedAt >= now && raisedAt < now + TICK_SEC) {
        source.fund(message.commitment, this.toUnits(source, 50n * 10n ** 18n));
      }
    }
    this.#troubles.advance(now);
    const fullSec = this.plan.calmAfterSec + FULL_POOL_SEC;
    if (fullSec >= now && fullSec < now + TICK_SEC) this.nodes.forEach((node) => node.clearMempool());
    if (this.#connectedHub !== undefined) this.#troubles.drawFaults(this.#connectedHub.faults);
    this.#runAhead();
    this.#produce();
    if (this.plan.hasCompetitor && now % 6 === 0) await compete(this.#random, this.#competitor, this.sent);
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
        if (!this.#troubles.chance(attack.frontRunPercent)) continue;
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
    const isTrouble = this.isTroubled;
    for (const [node, everySec] of this.#intervals()) {
      if (now % everySec !== 0) continue;
      if (isTrouble && this.#troubles.chance(this.plan.reorgPercent)) this.#reorganise(node);
      node.produceBlock();
    }
    if (now % 12 === 0) {
      hub.accept(one);
      hub.accept(two);
      const isRotation = isTrouble && this.#troubles.chance(this.plan.rotationPercent);
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
    node.reorganise(depth, this.#troubles.chance(70) ? "repool" : "forget");
    // A new head comes at once, of the same height or higher.
    for (let block = 1; block < depth; block++) node.produceBlock();
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
    const latency = (): number => this.#troubles.chance(10) ? Math.floor(this.#random.fraction() * 2_000) : 0;
    const connection = { life, clock: this.machineClock, latencyMs: latency };
    const [one, two, hub] = this.nodes;
    const [firstAccount, secondAccount] = this.#accounts;
    const chains = new Map([[one.id.stateMachine, one], [two.id.stateMachine, two]]);
    const middle = new SimHub(
      hub,
      { ...connection, ...firstAccount, endpoint: this.#troubles.endpointOf(2) },
      chains,
    );
    for (const node of [one, two]) {
      middle.accounts.minimums.set(node.id.stateMachine, this.toUnits(node, MIN_PAYMENT));
    }
    this.#connectedHub = middle;
    this.#troubles.drawFaults(middle.faults);
    const entries = evmConfigsOf(this.#config()).map((config, index) => ({
      config,
      chain: connectEvm(index === 0 ? one : two, {
        ...connection,
        ...(index === 0 ? firstAccount : secondAccount),
        config,
        hub: hub.id,
        onSent: (hash) => this.onSent(config.stateMachine, hash),
        moodOf: (endpoint) => this.#troubles.moodOf(index === 0 ? 0 : 1, endpoint),
        price27: () => this.#troubles.priceGaps.has(index) ? undefined : PRICE_27,
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
      pollSec,
      initialHeight: this.lives.initialHeight,
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
}
