/**
 * A whole chain in memory: blocks, a pool of transactions and an ISMP host, for any number of relayers.
 * Nothing happens by itself: tests produce blocks, move commitments and reorganise.
 */
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import type {
  BroadcastResult,
  Delivery,
  Refusal,
  SpentGas,
  SubmissionOutcome,
} from "../../src/core/chains/submission.ts";
import { type Hash256, type Hex, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import { keccak256 } from "../../src/core/encoding/hash.ts";
import { getMessage } from "../../src/core/ismp/commitment.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { type StateMachineId, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { applyAnswer, refusalOfAnswer } from "./memory_answers.ts";
import { decodeProof, noteAccepted } from "./memory_consensus.ts";
import {
  applyDelivery,
  copyState,
  emptyState,
  type Execution,
  handlerAfter,
  type HostRules,
  type HostState,
  tryDelivery,
} from "./memory_host.ts";

/** A transaction (with account and nonce) or extrinsic (without). */
export interface MemoryTransaction {
  readonly hash: Hash256;
  readonly delivery: Delivery;
  readonly relayer: Uint8Array;
  readonly account: string | undefined;
  readonly nonce: bigint | undefined;
  readonly priceWei: bigint;
  /** The handler that it calls; absent where there is none, and in transfers. */
  readonly handler?: Address | undefined;
  /** An answer to GET requests, which only the hub takes; `delivery` is empty then. */
  readonly answer?: GetRequestsWithProof | undefined;
  /** Another call that only the hub takes; `delivery` is empty then. */
  readonly call?: MemoryCall | undefined;
}

/** A call of the hub beside messages. */
export interface MemoryCall {
  /** What two equal calls have in common: the pool takes one of them. */
  readonly tag: string;
  /** Why the hub would refuse it in that state. */
  readonly refusalIn: (state: HostState, nowSec: bigint) => Refusal | undefined;
  /** Writes its effect and tells its events. */
  readonly apply: (state: HostState, at: EventPosition) => readonly ChainEvent[];
}

interface Mined {
  readonly transaction: MemoryTransaction;
  readonly execution: Execution;
  /** Whether the client of the hub learned something. */
  readonly advancedClient: boolean;
}

/** A transaction of an account in a block, with what it cost. */
export interface PaidTransaction extends SpentGas {
  readonly hash: Hash256;
  readonly blockTimeSec: bigint;
  /** The handler that it called, where it called one. */
  readonly handler: Address | undefined;
  readonly isReverted: boolean;
}

/** Gas of a transfer, and of a transaction that is refused. */
const TRANSFER_GAS = 21_000n;

/** Something that the test wants to happen in the next block. */
type Action = (state: HostState, block: { readonly height: bigint; readonly nowSec: bigint }) => ChainEvent[];

/** A block with the state after it. */
export interface MemoryBlock {
  readonly height: bigint;
  readonly hash: Hash256;
  readonly timeSec: bigint;
  readonly events: readonly ChainEvent[];
  readonly mined: readonly Mined[];
  readonly actions: readonly Action[];
  readonly state: HostState;
}

/** Settings of a chain. */
export interface MemoryNodeOptions {
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  readonly isHub?: boolean;
  readonly challengePeriodSec?: bigint;
  /** Blocks from the head that may still be reorganised; 2 when absent. */
  readonly finalityLag?: bigint;
  /** First authority set of the hub that the host's client knows; absent where it has another client. */
  readonly setId?: bigint;
}

/** Blocks after which an extrinsic leaves the pool. Source: polytope-labs/hyperbridge: pallet-ismp (longevity). */
const LONGEVITY = 25n;

/** Commitments of one counterparty that are kept. */
const KEPT_HEIGHTS = 64;

/** Rise in percent that a transaction needs to replace another one of the same nonce. */
const BUMP_PERCENT = 10n;

/** One chain. */
export class MemoryNode {
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  readonly finalityLag: bigint;
  readonly failing = new Set<Hash256>();
  readonly quarrels: [Hash256, Hash256][] = [];
  /** Messages whose modules behave in simulations and make the whole transaction fail in a block. */
  readonly spoiling = new Set<Hash256>();
  /** Modules, hex, that behave in simulations and fail in blocks. */
  readonly deceivers = new Set<Hex>();
  /** Messages of which no simulation shows what they do. */
  readonly untraceable = new Set<Hash256>();
  /** Accounts that cannot pay. */
  readonly unfunded = new Set<string>();
  challengePeriodSec: bigint;
  /** Price of gas now, and the least that the pool takes. */
  priceWei = 100n;
  /** Least price that blocks have room for; what offers less waits. */
  minedFromWei = 0n;
  /** What the node reckons for each message, and for each consensus proof. */
  messageGas = 100_000n;
  proofGas = 300_000n;
  /** While true no transaction is mined. */
  isFull = false;
  /** Largest transaction that the node takes, bytes. */
  maxTransactionBytes = Infinity;
  readonly #isHub: boolean;
  readonly #clock: Pick<Clock, "now">;
  readonly #blocks: MemoryBlock[];
  readonly #known = new Map<Hash256, MemoryTransaction>();
  #mempool: { readonly transaction: MemoryTransaction; readonly sinceHeight: bigint }[] = [];
  #actions: Action[] = [];
  /** What other accounts sent: a reorganisation may make everybody forget it. */
  readonly #strangers = new WeakSet<Action>();
  #forks = 0;
  #finalHeight = 1n;

  constructor(clock: Pick<Clock, "now">, options: MemoryNodeOptions) {
    this.#clock = clock;
    this.id = options.id;
    this.family = options.family;
    this.#isHub = options.isHub ?? false;
    this.challengePeriodSec = options.challengePeriodSec ?? 0n;
    this.finalityLag = options.finalityLag ?? 2n;
    const first: HostState = { ...emptyState(), setId: options.setId };
    this.#blocks = [this.#seal(1n, first, { events: [], mined: [], actions: [] })];
  }

  /** Newest block. */
  get head(): MemoryBlock {
    const head = this.#blocks.at(-1);
    if (head === undefined) throw new Error("A chain has a first block");
    return head;
  }

  /** Newest height that no reorganisation removes; never goes down. */
  get finalHeight(): bigint {
    return this.#finalHeight;
  }

  /** Transactions that wait. */
  get mempoolSize(): number {
    return this.#mempool.length;
  }

  block(height: bigint): MemoryBlock | undefined {
    return this.#blocks[Number(height) - 1];
  }

  /** Changes the newest state at once, without a block. */
  amend(change: (state: HostState) => void): void {
    change(this.head.state);
  }

  /** A message leaves from an application of this chain in the next block, with a fee in units of the fee token. */
  dispatch(message: Message, fee = 0n): void {
    this.#actions.push((state, { height }) => {
      state.sent.set(message.commitment, BigInt(state.sent.size));
      state.fees.set(message.commitment, fee);
      return [{ kind: "message", message, at: { height, transaction: undefined } }];
    });
  }

  /** On the hub: a sender may send that many bytes; `undefined`: as many as it likes. */
  meter(sender: Uint8Array, bytes: bigint | undefined): void {
    this.#actions.push(({ bandwidth }) => {
      if (bytes === undefined) bandwidth.delete(toHex(sender));
      else bandwidth.set(toHex(sender), bytes);
      return [];
    });
  }

  /** Somebody adds to the fee of a request. */
  fund(commitment: Hash256, more: bigint): void {
    this.#actions.push((state, { height }) => {
      const fee = (state.fees.get(commitment) ?? 0n) + more;
      state.fees.set(commitment, fee);
      return [{ kind: "funded", commitment, fee, at: { height, transaction: undefined } }];
    });
  }

  /** The chain forgets a request, as after its timeout was handled. */
  forget(commitment: Hash256): void {
    this.#actions.push((state) => {
      state.fees.delete(commitment);
      state.sent.delete(commitment);
      return [];
    });
  }

  /** The hub accepts a proof of its own `height` (the final one when absent) in the next block. */
  acceptProof(kind: "messaging" | "rotation", height: bigint = this.finalHeight): void {
    this.#actions.push((state, { height: atBlock }) => {
      noteAccepted(state.proofs, { height, atBlock, isRotation: kind === "rotation" });
      return [];
    });
  }

  /** The hub does not keep the rotation to that set any more. */
  dropRotation(setId: bigint): void {
    this.#actions.push((state) => {
      state.proofs.rotations.delete(setId);
      return [];
    });
  }

  /** The consensus client stores `height` of `source` (its final height when absent) in the next block. */
  accept(source: MemoryNode, height: bigint = source.finalHeight): void {
    const root = source.block(height)?.hash;
    if (root === undefined) throw new Error(`No block ${height}`);
    const key = stateMachineIdKey(source.id);
    this.#actions.push((state, { height: at, nowSec }) => {
      const old = state.counterparties.get(key) ?? { latest: 0n, heights: new Map() };
      if (height <= old.latest) return [];
      const heights = [...old.heights, [height, { root, updatedAtSec: nowSec }] as const];
      state.counterparties.set(key, { latest: height, heights: new Map(heights.slice(-KEPT_HEIGHTS)) });
      const { stateMachine } = source.id;
      return [{
        kind: "updated",
        stateMachine,
        id: source.id,
        height,
        at: { height: at, transaction: undefined },
      }];
    });
  }

  /** A fisherman takes the newest height of `source` away: EVM hosts fall to 1, others to the height before. */
  veto(source: MemoryNode): void {
    const key = stateMachineIdKey(source.id);
    this.#actions.push((state, { height }) => {
      const old = state.counterparties.get(key);
      if (old === undefined) return [];
      const heights = new Map([...old.heights].filter(([stored]) => stored !== old.latest));
      const before = [...heights.keys()].reduce((a, b) => a > b ? a : b, 0n);
      state.counterparties.set(key, { latest: this.family === "evm" ? 1n : before, heights });
      return [{
        kind: "vetoed",
        stateMachine: source.id.stateMachine,
        height: old.latest,
        at: { height, transaction: undefined },
      }];
    });
  }

  /** The client forgets the newest height of `source`, which it still names as the newest. */
  evict(source: MemoryNode): void {
    const key = stateMachineIdKey(source.id);
    this.#actions.push((state) => {
      const old = state.counterparties.get(key);
      if (old === undefined) return [];
      const heights = new Map([...old.heights].filter(([stored]) => stored !== old.latest));
      state.counterparties.set(key, { ...old, heights });
      return [];
    });
  }

  /** Whether the host knows a height that a proof of the delivery brings, or will when the pool is mined. */
  knowsProofsOf(delivery: Delivery): "blocks" | "mempool" | undefined {
    const heightsOf = (
      { steps }: Delivery,
    ): readonly { readonly source: string; readonly height: bigint }[] =>
      steps.flatMap((step) => step.kind === "consensus" ? decodeProof(step.proof) ?? [] : []);
    const wanted = heightsOf(delivery);
    const { counterparties } = this.head.state;
    const isStored = wanted.some(({ source, height }) =>
      (counterparties.get(source)?.latest ?? 0n) >= height
    );
    if (isStored) return "blocks";
    const waiting = this.#mempool.flatMap(({ transaction }) => heightsOf(transaction.delivery));
    const isWaiting = wanted.some(({ source, height }) =>
      waiting.some((other) => other.source === source && other.height >= height)
    );
    return isWaiting ? "mempool" : undefined;
  }

  /** The host refuses (or takes) messages from the next block on. */
  freeze(isFrozen: boolean): void {
    this.#actions.push((state) => {
      state.isFrozen = isFrozen;
      return [];
    });
  }

  /** Governance puts another handler in the place of the host's in the next block: what calls the old one reverts. */
  replaceHandler(): void {
    this.#actions.push((state) => {
      state.handler = handlerAfter(state.handler);
      return [];
    });
  }

  /** An account of ours uses its next nonce for something else. */
  useNonce(account: string): void {
    const action: Action = (state) => {
      state.nonces.set(account, (state.nonces.get(account) ?? 0n) + 1n);
      return [];
    };
    this.#strangers.add(action);
    this.#actions.push(action);
  }

  /** Makes the next block out of what was asked for and the pool. */
  produceBlock(): MemoryBlock {
    const height = this.head.height + 1n;
    const nowSec = this.#timeOfNext();
    const actions = this.#actions.splice(0);
    const isQuiet = actions.length === 0 && (this.#mempool.length === 0 || this.isFull);
    const state = isQuiet ? this.head.state : copyState(this.head.state);
    const events = actions.flatMap((action) => action(state, { height, nowSec }));
    const mined: Mined[] = [];
    if (!this.isFull) this.#mine(state, { height, nowSec }, events, mined);
    this.#mempool = this.#mempool.filter(({ transaction, sinceHeight }) =>
      transaction.nonce === undefined
        ? height < sinceHeight + LONGEVITY
        : transaction.nonce >= this.#nonceIn(state, transaction.account)
    );
    const block = this.#seal(height, state, { events, mined, actions });
    this.#blocks.push(block);
    if (height - this.finalityLag > this.#finalHeight) this.#finalHeight = height - this.finalityLag;
    return block;
  }

  /** Removes the newest `depth` blocks; what was in them goes back to the pool, or is forgotten by all nodes. */
  reorganise(depth: number, transactions: "repool" | "forget" = "repool"): void {
    if (BigInt(depth) > this.head.height - this.finalHeight) {
      throw new RangeError("Final blocks stay");
    }
    const gone = this.#blocks.splice(this.#blocks.length - depth);
    this.#forks++;
    const isKept = (action: Action): boolean => transactions === "repool" || !this.#strangers.has(action);
    this.#actions.unshift(...gone.flatMap(({ actions }) => actions).filter(isKept));
    if (transactions === "forget") return;
    const sinceHeight = this.head.height;
    this.#mempool.unshift(
      ...gone.flatMap(({ mined }) => mined).map(({ transaction }) => ({ transaction, sinceHeight })),
    );
  }

  /** Takes everything out of the pool, as a restarted node does. */
  clearMempool(): void {
    this.#mempool = [];
  }

  /** Makes signed bytes known, so that {@link MemoryNode.submit} can be handed them later. */
  register(transaction: MemoryTransaction): void {
    this.#known.set(transaction.hash, transaction);
  }

  /** Puts a transaction into the pool, or says why not. */
  submit(hash: Hash256): BroadcastResult {
    const transaction = this.#known.get(hash);
    if (transaction === undefined) throw new Error(`Nobody signed ${hash}`);
    if (this.#mempool.some((entry) => entry.transaction.hash === hash)) return { kind: "alreadyKnown" };
    const problem = transaction.nonce === undefined
      ? this.#problemOfExtrinsic(transaction)
      : this.#problemOfTransaction(transaction, transaction.nonce);
    if (problem !== undefined) return problem;
    this.#mempool.push({ transaction, sinceHeight: this.head.height });
    return { kind: "sent" };
  }

  /** What became of a transaction. */
  outcomeOf(hash: Hash256): SubmissionOutcome {
    for (let index = this.#blocks.length - 1; index >= 0; index--) {
      const block = this.#blocks[index];
      const mined = block?.mined.find(({ transaction }) => transaction.hash === hash);
      if (block !== undefined && mined !== undefined) return this.#included(block, mined);
    }
    if (this.#mempool.some((entry) => entry.transaction.hash === hash)) return { kind: "pending" };
    const transaction = this.#known.get(hash);
    if (transaction?.nonce === undefined) return { kind: "unknown" };
    const isUsed = this.nonceOf(transaction.account) > transaction.nonce;
    return isUsed ? { kind: "replaced" } : { kind: "unknown" };
  }

  /** Next nonce of an account, after the newest block. */
  nonceOf(account: string | undefined): bigint {
    return this.#nonceIn(this.head.state, account);
  }

  /** First nonce of an account that neither the newest block nor the pool uses. */
  pendingNonceOf(account: string): bigint {
    const held = new Set(
      this.#mempool.filter(({ transaction }) => transaction.account === account).map(({ transaction }) =>
        transaction.nonce
      ),
    );
    let nonce = this.nonceOf(account);
    while (held.has(nonce)) nonce++;
    return nonce;
  }

  /** What was signed with that hash. */
  transactionOf(hash: Hash256): MemoryTransaction {
    const transaction = this.#known.get(hash);
    if (transaction === undefined) throw new Error(`Nobody signed ${hash}`);
    return transaction;
  }

  /** What a delivery through a handler would do now; through the host's own when absent. */
  simulate(delivery: Delivery, handler: Address = this.head.state.handler): Execution {
    const { state, timeSec } = this.head;
    return refusalOfHandler(state, handler) ?? tryDelivery(this.#rules(), state, delivery, timeSec);
  }

  /** Why an answer to GET requests would be refused now. */
  tryAnswer(answer: GetRequestsWithProof): Refusal | undefined {
    return refusalOfAnswer({ ...this.#rules(), nowSec: this.head.timeSec }, this.head.state, answer);
  }

  /** Deliveries on the chain as it is now: commitment and relayer, in order. */
  deliveries(): readonly { readonly commitment: Hash256; readonly relayer: Uint8Array }[] {
    return this.#blocks.flatMap(({ events }) =>
      events.flatMap((event) =>
        event.kind === "handled" ? [{ commitment: event.commitment, relayer: event.relayer }] : []
      )
    );
  }

  /** What an account paid for on the chain as it is now, in order. */
  paidBy(account: string): readonly PaidTransaction[] {
    const mined = this.#blocks.flatMap((block) => block.mined.map((each) => ({ ...each, block })));
    return mined.flatMap((each) => {
      const spent = each.transaction.account === account ? this.#spent(each) : undefined;
      if (spent === undefined) return [];
      return [{
        hash: each.transaction.hash,
        blockTimeSec: each.block.timeSec,
        handler: each.transaction.handler,
        isReverted: each.execution.kind === "refused",
        ...spent,
      }];
    });
  }

  /** Mined transactions that failed, with who paid for them. */
  reverted(): readonly MemoryTransaction[] {
    return this.#blocks.flatMap(({ mined }) =>
      mined.filter(({ execution }) => execution.kind === "refused").map(({ transaction }) => transaction)
    );
  }

  /** What counts when a delivery is paid for. */
  #blockRules(delivery: Delivery): HostRules {
    if (this.deceivers.size === 0) return this.#rules();
    const deceived = delivery.steps.flatMap((step) => step.kind === "messages" ? step.messages : [])
      .filter((message) => message.kind === "post" && this.deceivers.has(toHex(message.request.to)))
      .map(({ commitment }) => commitment);
    return { ...this.#rules(), failing: new Set([...this.failing, ...deceived]) };
  }

  #rules(): HostRules {
    return {
      id: this.id,
      family: this.family,
      isHub: this.#isHub,
      challengePeriodSec: this.challengePeriodSec,
      failing: this.failing,
      quarrels: this.quarrels,
    };
  }

  #timeOfNext(): bigint {
    const nowSec = BigInt(Math.floor(this.#clock.now() / 1000));
    return nowSec > this.head.timeSec ? nowSec : this.head.timeSec;
  }

  #seal(
    height: bigint,
    state: HostState,
    content: Pick<MemoryBlock, "events" | "mined" | "actions">,
  ): MemoryBlock {
    const text = `${this.id.stateMachine} ${height} ${this.#forks}`;
    const hash = toHash256(keccak256(new TextEncoder().encode(text)));
    const timeSec = height === 1n ? BigInt(Math.floor(this.#clock.now() / 1000)) : this.#timeOfNext();
    return { height, hash, timeSec, state, ...content };
  }

  #nonceIn(state: HostState, account: string | undefined): bigint {
    return account === undefined ? 0n : state.nonces.get(account) ?? 0n;
  }

  #mine(
    state: HostState,
    block: { readonly height: bigint; readonly nowSec: bigint },
    events: ChainEvent[],
    mined: Mined[],
  ): void {
    for (let next = this.#takeNext(state); next !== undefined; next = this.#takeNext(state)) {
      const execution = this.#isSpoilt(next)
        ? { kind: "refused", refusal: { code: "unspecified", detail: "ran out of gas" } } as const
        : this.#tryIn(state, next, block.nowSec);
      if (next.account !== undefined && next.nonce !== undefined) {
        state.nonces.set(next.account, next.nonce + 1n);
      } else if (execution.kind === "refused") continue; // no block holds an invalid unsigned extrinsic
      if (execution.kind === "refused") {
        mined.push({ transaction: next, execution, advancedClient: false });
        continue;
      }
      const at = { height: block.height, transaction: next.hash };
      const by = { relayer: next.relayer, at, nowSec: block.nowSec };
      const before = knowledgeOf(state);
      events.push(...this.#apply(state, next, by));
      mined.push({ transaction: next, execution, advancedClient: knowledgeOf(state) !== before });
    }
  }

  #isSpoilt(transaction: MemoryTransaction): boolean {
    return messagesOf(transaction).some(({ commitment }) => this.spoiling.has(commitment));
  }

  #apply(
    state: HostState,
    { answer, call, delivery }: MemoryTransaction,
    by: Parameters<typeof applyDelivery>[3],
  ): readonly ChainEvent[] {
    if (call !== undefined) return call.apply(state, by.at);
    if (answer !== undefined) return applyAnswer(state, answer, by);
    return applyDelivery(this.#blockRules(delivery), state, delivery, by);
  }

  #tryIn(
    state: HostState,
    { answer, call, delivery, handler }: MemoryTransaction,
    nowSec: bigint,
  ): Execution {
    if (call !== undefined) {
      const refusal = call.refusalIn(state, nowSec);
      return refusal === undefined ? { kind: "done", handled: [] } : { kind: "refused", refusal };
    }
    if (answer === undefined) {
      return refusalOfHandler(state, handler) ??
        tryDelivery(this.#blockRules(delivery), state, delivery, nowSec);
    }
    const refusal = refusalOfAnswer({ ...this.#rules(), nowSec }, state, answer);
    if (refusal !== undefined) return { kind: "refused", refusal };
    return { kind: "done", handled: answer.requests.map(() => true) };
  }

  /** Takes the first transaction out of the pool whose turn it is. */
  #takeNext(state: HostState): MemoryTransaction | undefined {
    const index = this.#mempool.findIndex(({ transaction }) =>
      transaction.nonce === undefined ||
      (transaction.nonce === this.#nonceIn(state, transaction.account) &&
        transaction.priceWei >= this.minedFromWei)
    );
    return index < 0 ? undefined : this.#mempool.splice(index, 1)[0]?.transaction;
  }

  #problemOfExtrinsic(transaction: MemoryTransaction): BroadcastResult | undefined {
    const tag = tagOf(transaction);
    if (this.#mempool.some((entry) => tagOf(entry.transaction) === tag)) return { kind: "alreadyKnown" };
    const execution = this.#tryIn(this.head.state, transaction, this.head.timeSec);
    return execution.kind === "refused" ? execution : undefined;
  }

  #problemOfTransaction(transaction: MemoryTransaction, nonce: bigint): BroadcastResult | undefined {
    const { account } = transaction;
    if (nonce < this.nonceOf(account)) return { kind: "nonceUsed" };
    if (account !== undefined && this.unfunded.has(account)) {
      return { kind: "refused", refusal: { code: "insufficient_funds", detail: "insufficient funds" } };
    }
    if (transaction.priceWei < this.priceWei) return { kind: "underpriced" };
    const competitor = this.#mempool.findIndex((entry) =>
      entry.transaction.account === account && entry.transaction.nonce === nonce
    );
    const old = this.#mempool[competitor]?.transaction;
    if (old === undefined) return undefined;
    if (transaction.priceWei * 100n < old.priceWei * (100n + BUMP_PERCENT)) return { kind: "underpriced" };
    this.#mempool.splice(competitor, 1);
    return undefined;
  }

  /** Extrinsics are free. */
  #spent({ transaction, execution }: Mined): SpentGas | undefined {
    if (transaction.account === undefined) return undefined;
    const messages = BigInt(messagesOf(transaction).length);
    const proofs = BigInt(transaction.delivery.steps.filter(({ kind }) => kind === "consensus").length);
    const work = execution.kind === "refused" ? 0n : messages * this.messageGas + proofs * this.proofGas;
    return {
      gasUsed: work > TRANSFER_GAS ? work : TRANSFER_GAS,
      gasPriceWei: transaction.priceWei,
      dataCostWei: 0n,
    };
  }

  #included(block: MemoryBlock, mined: Mined): SubmissionOutcome {
    const { transaction, execution, advancedClient } = mined;
    const handled = execution.kind === "refused" ? [] : messagesOf(transaction)
      .filter((_, index) => execution.handled[index] === true)
      .map((message) => ({ commitment: toReceiptKey(message), relayer: transaction.relayer }));
    return {
      kind: "included",
      block: { height: block.height, hash: block.hash },
      isFinal: block.height <= this.finalHeight,
      succeeded: execution.kind === "done",
      handled,
      advancedClient: transaction.delivery.steps.some(({ kind }) => kind === "consensus")
        ? advancedClient
        : undefined,
      spent: this.#spent(mined),
      refusal: execution.kind === "refused" ? execution.refusal : undefined,
    };
  }
}

/** The host takes messages from its handler alone; `undefined`: from that one. */
function refusalOfHandler(state: HostState, handler: Address | undefined): Execution | undefined {
  if (handler === undefined || handler === state.handler) return undefined;
  return { kind: "refused", refusal: { code: "handler_replaced", detail: "UnauthorizedAction" } };
}

/** What the clients of a host know, as text to compare. */
function knowledgeOf({ counterparties, setId }: HostState): string {
  return [...counterparties].map(([key, { latest }]) => `${key} ${latest}`).join() + String(setId);
}

/** The messages that a transaction carries or answers, in order. */
function messagesOf({ answer, delivery }: MemoryTransaction): readonly Message[] {
  if (answer !== undefined) return answer.requests.map(getMessage);
  return delivery.steps.flatMap((step) => step.kind === "messages" ? step.messages : []);
}

/** What two equal batches of different relayers have in common. */
function tagOf(transaction: MemoryTransaction): string {
  return transaction.call?.tag ?? messagesOf(transaction).map(({ commitment }) => commitment).sort().join();
}
