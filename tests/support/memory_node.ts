/**
 * A whole chain in memory: blocks, a pool of transactions and an ISMP host, for any number of relayers.
 * Nothing happens by itself: tests produce blocks, move commitments and reorganise.
 */
import type { ChainEvent } from "../../src/core/chains/reads.ts";
import type {
  BroadcastResult,
  Delivery,
  Refusal,
  SpentGas,
  SubmissionOutcome,
} from "../../src/core/chains/submission.ts";
import { type Hash256, type Hex, keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { MemoryActions } from "./memory_actions.ts";
import { refusalOfAnswer } from "./memory_answers.ts";
import {
  type Action,
  type EvmTerms,
  type MemoryBlock,
  type MemoryTransaction,
  messagesOf,
  type Mined,
  type PaidTransaction,
  spentGas,
} from "./memory_block.ts";
import { decodeProof } from "./memory_consensus.ts";
import { applyIn, type BlockRules, mineIn, refusalOfHandler, tryIn } from "./memory_execution.ts";
import {
  type CallTerms,
  dataGas,
  type GasRun,
  MAX_TRANSACTION_GAS,
  type Module,
  PLAIN_MODULE_GAS,
  runCall,
} from "./memory_gas.ts";
import { copyState, emptyState, type Execution, type HostState, tryDelivery } from "./memory_host.ts";
import { MemoryMempool } from "./memory_mempool.ts";

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

/** Largest transaction that pools take, bytes (ethereum/go-ethereum: core/txpool/legacypool, txMaxSize). */
const MAX_TRANSACTION_BYTES = 131_072;

/** One chain. */
export class MemoryNode extends MemoryActions {
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  readonly finalityLag: bigint;
  readonly failing = new Set<Hash256>();
  readonly quarrels: [Hash256, Hash256][] = [];
  /** Messages whose modules behave in simulations and make the whole transaction fail in a block. */
  readonly spoiling = new Set<Hash256>();
  /** What modules do with single messages, where transactions have call data. */
  readonly behaviours = new Map<Hash256, Module>();
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
  /** What every account had before it spent anything, wei. */
  fundWei = 10n ** 24n;
  /** What publishing a byte costs on an L2, wei. */
  dataWeiPerByte = 0n;
  /** Largest transaction that the node takes, bytes. */
  maxTransactionBytes = Infinity;
  readonly #isHub: boolean;
  readonly #clock: Pick<Clock, "now">;
  readonly #blocks: MemoryBlock[];
  readonly #known = new Map<Hash256, MemoryTransaction>();
  readonly #mempool = new MemoryMempool();
  #forks = 0;
  #finalHeight = 1n;

  constructor(clock: Pick<Clock, "now">, options: MemoryNodeOptions) {
    super();
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
    return this.#mempool.size;
  }

  block(height: bigint): MemoryBlock | undefined {
    return this.#blocks[Number(height) - 1];
  }

  /** Changes the newest state at once, without a block. */
  amend(change: (state: HostState) => void): void {
    change(this.head.state);
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
    const waiting = this.#mempool.transactions.flatMap(({ delivery }) => heightsOf(delivery));
    const isWaiting = wanted.some(({ source, height }) =>
      waiting.some((other) => other.source === source && other.height >= height)
    );
    return isWaiting ? "mempool" : undefined;
  }

  /** Makes the next block out of what was asked for and the pool. */
  produceBlock(): MemoryBlock {
    const height = this.head.height + 1n;
    const nowSec = this.#timeOfNext();
    const actions = this.planned.splice(0);
    const isQuiet = actions.length === 0 && (this.#mempool.size === 0 || this.isFull);
    const state = isQuiet ? this.head.state : copyState(this.head.state);
    const events = actions.flatMap((action) => action(state, { height, nowSec }) ?? []);
    const done = this.isFull ? undefined : this.#mine(state, this.#mempool, { height, nowSec });
    const mined = done?.mined ?? [];
    events.push(...done?.events ?? []);
    this.#mempool.prune(height, (account) => this.#nonceIn(state, account));
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
    const isKept = (action: Action): boolean => transactions === "repool" || !this.foreign.has(action);
    this.planned.unshift(...gone.flatMap(({ actions }) => actions).filter(isKept));
    if (transactions === "forget") return;
    const repooled = gone.flatMap(({ mined }) => mined.map(({ transaction }) => transaction));
    this.#mempool.putBack(repooled, this.head.height);
  }

  /** Takes everything out of the pool, as a restarted node does. */
  clearMempool(): void {
    this.#mempool.clear();
  }

  /** Makes signed bytes known, so that {@link MemoryNode.submit} can be handed them later. */
  register(transaction: MemoryTransaction): void {
    this.#known.set(transaction.hash, transaction);
  }

  /** Puts a transaction into the pool, or says why not. */
  submit(hash: Hash256): BroadcastResult {
    const transaction = this.transactionOf(hash);
    if (this.#mempool.has(hash)) return { kind: "alreadyKnown" };
    const problem = transaction.nonce === undefined
      ? this.#problemOfExtrinsic(transaction)
      : this.#problemOfTransaction(transaction, transaction.nonce);
    if (problem !== undefined) return problem;
    this.#mempool.add(transaction, this.head.height);
    return { kind: "sent" };
  }

  /** What became of a transaction. */
  outcomeOf(hash: Hash256): SubmissionOutcome {
    const found = this.find(hash);
    if (found === "mempool") return { kind: "pending" };
    if (found !== undefined) return this.#included(found.block, found.mined);
    const transaction = this.#known.get(hash);
    if (transaction?.nonce === undefined) return { kind: "unknown" };
    const isUsed = this.nonceOf(transaction.account) > transaction.nonce;
    return isUsed ? { kind: "replaced" } : { kind: "unknown" };
  }

  /** Base fee of the next block, wei: what the price is above it goes to whoever makes the block. */
  get baseFeeWei(): bigint {
    return this.priceWei * 9n / 10n;
  }

  /** What an account has, wei. */
  balanceOf(account: string, state = this.head.state): bigint {
    if (this.unfunded.has(account)) return 0n;
    const left = this.fundWei - (state.spentWei.get(account) ?? 0n);
    return left > 0n ? left : 0n;
  }

  /** Transactions that wait, in order. */
  get waiting(): readonly MemoryTransaction[] {
    return this.#mempool.transactions;
  }

  /** Where a transaction is. */
  find(hash: Hash256): { readonly block: MemoryBlock; readonly mined: Mined } | "mempool" | undefined {
    for (let index = this.#blocks.length - 1; index >= 0; index--) {
      const block = this.#blocks[index];
      const mined = block?.mined.find(({ transaction }) => transaction.hash === hash);
      if (block !== undefined && mined !== undefined) return { block, mined };
    }
    return this.#mempool.has(hash) ? "mempool" : undefined;
  }

  /** Block by its hash. */
  blockOf(hash: string): MemoryBlock | undefined {
    return this.#blocks.findLast((block) => block.hash === hash);
  }

  /** The state with everything on top that waits. */
  get pendingState(): HostState {
    const { height, state } = this.head;
    if (this.#mempool.size === 0) return state;
    const copy = copyState(state);
    this.#mine(copy, this.#mempool.copy(), { height: height + 1n, nowSec: this.#timeOfNext() });
    return copy;
  }

  /** What a call with such terms would do on top of a block. */
  runCall(delivery: Delivery, terms: CallTerms, at: MemoryBlock, state = at.state): GasRun {
    const plain: Module = { gas: PLAIN_MODULE_GAS, act: "ok" };
    const moduleOf = ({ commitment }: Message): Module => this.behaviours.get(commitment) ?? plain;
    const rules = { ...this.#rules(), moduleOf };
    return runCall(rules, { state, noted: { height: at.height, timeSec: at.timeSec } }, { delivery, terms });
  }

  /** Next nonce of an account, after the newest block. */
  nonceOf(account: string | undefined): bigint {
    return this.#nonceIn(this.head.state, account);
  }

  /** First nonce of an account that neither the newest block nor the pool uses. */
  pendingNonceOf(account: string): bigint {
    return this.#mempool.firstFreeNonce(account, this.nonceOf(account));
  }

  /** A transaction that a node has seen. */
  knownTransaction(hash: Hash256): MemoryTransaction | undefined {
    return this.#known.get(hash);
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
    return this.#blocks.flatMap(({ mined }) => mined).flatMap((each) => {
      const spent = each.transaction.account === account ? spentGas(each, this) : undefined;
      if (spent === undefined) return [];
      return [{
        hash: each.transaction.hash,
        handler: each.transaction.handler,
        refusal: each.execution.kind === "refused" ? each.execution.refusal.code : undefined,
        ...spent,
      }];
    });
  }

  /** Mined transactions, oldest first. */
  transactions(): readonly MemoryTransaction[] {
    return this.#blocks.flatMap(({ mined }) => mined.map(({ transaction }) => transaction));
  }

  /** Mined transactions that failed, with who paid for them. */
  reverted(): readonly MemoryTransaction[] {
    return this.#blocks.flatMap(({ mined }) =>
      mined.filter(({ execution }) => execution.kind === "refused").map(({ transaction }) => transaction)
    );
  }

  #rules(): BlockRules {
    return {
      id: this.id,
      family: this.family,
      isHub: this.#isHub,
      challengePeriodSec: this.challengePeriodSec,
      failing: this.failing,
      quarrels: this.quarrels,
      deceivers: this.deceivers,
      spoiling: this.spoiling,
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
    pool: MemoryMempool,
    block: { readonly height: bigint; readonly nowSec: bigint },
  ): { readonly events: readonly ChainEvent[]; readonly mined: readonly Mined[] } {
    const events: ChainEvent[] = [];
    const mined: Mined[] = [];
    const takeNext = (): MemoryTransaction | undefined =>
      pool.takeNext((account) => this.#nonceIn(state, account), (each) => this.#pays(each));
    for (let next = takeNext(); next !== undefined; next = takeNext()) {
      const { execution, spent } = this.#execute(state, next, block);
      if (next.account !== undefined && next.nonce !== undefined) {
        state.nonces.set(next.account, next.nonce + 1n);
      } else if (execution.kind === "refused") continue; // no block holds an invalid unsigned extrinsic
      if (spent !== undefined && next.account !== undefined) {
        const costWei = spent.gasUsed * spent.gasPriceWei + spent.dataCostWei;
        state.spentWei.set(next.account, (state.spentWei.get(next.account) ?? 0n) + costWei);
      }
      if (execution.kind === "refused") {
        mined.push({ transaction: next, execution, advancedClient: false, spent });
        continue;
      }
      const at = { height: block.height, transaction: next.hash };
      const by = { relayer: next.relayer, at, nowSec: block.nowSec };
      const before = knowledgeOf(state);
      const unhandled = messagesOf(next).filter((_, index) => execution.handled[index] !== true);
      const rules = next.evm === undefined
        ? this.#rules()
        : { ...this.#rules(), failing: new Set(unhandled.map(({ commitment }) => commitment)) };
      events.push(...applyIn(rules, state, next, by));
      mined.push({ transaction: next, execution, advancedClient: knowledgeOf(state) !== before, spent });
    }
    return { events, mined };
  }

  /** What a transaction does in a block, and what it costs where its bytes say what gas it has. */
  #execute(
    state: HostState,
    transaction: MemoryTransaction,
    { height, nowSec }: { readonly height: bigint; readonly nowSec: bigint },
  ): Pick<Mined, "execution" | "spent"> {
    const { evm, delivery, handler, account = "" } = transaction;
    if (evm === undefined) return { execution: mineIn(this.#rules(), state, transaction, nowSec) };
    const gasPriceWei = this.#paidPrice(transaction);
    const spentOn = (gasUsed: bigint): SpentGas => ({
      gasUsed,
      gasPriceWei,
      dataCostWei: this.dataWeiPerByte * BigInt(evm.bytes),
    });
    const refused = refusalOfHandler(state, handler);
    if (refused !== undefined) {
      return { execution: refused, spent: spentOn(dataGas(evm.data).intrinsic + 30_000n) };
    }
    if (delivery.steps.length === 0) {
      return { execution: { kind: "done", handled: [] }, spent: spentOn(dataGas(evm.data).intrinsic) };
    }
    const { data, gasLimit } = evm;
    const balanceWei = this.balanceOf(account, state);
    const terms = { data, gasLimit, gasPriceWei, balanceWei, number: height, nowSec, isBlock: true };
    const { execution, gasUsed } = this.runCall(delivery, terms, this.head, state);
    return { execution, spent: spentOn(gasUsed) };
  }

  /** Price for a unit of gas in a block now, wei. */
  #paidPrice({ evm, priceWei }: MemoryTransaction): bigint {
    if (evm === undefined) return priceWei;
    const withTip = this.baseFeeWei + evm.tipWei;
    return withTip < priceWei ? withTip : priceWei;
  }

  #pays(transaction: MemoryTransaction): boolean {
    const isAboveBase = transaction.evm === undefined || transaction.priceWei >= this.baseFeeWei;
    return isAboveBase && this.#paidPrice(transaction) >= this.minedFromWei;
  }

  #problemOfExtrinsic(transaction: MemoryTransaction): BroadcastResult | undefined {
    if (this.#mempool.hasEqual(transaction)) return { kind: "alreadyKnown" };
    const execution = tryIn(this.#rules(), this.head.state, transaction, this.head.timeSec);
    return execution.kind === "refused" ? execution : undefined;
  }

  #problemOfTransaction(transaction: MemoryTransaction, nonce: bigint): BroadcastResult | undefined {
    const { account } = transaction;
    if (nonce < this.nonceOf(account)) return { kind: "nonceUsed" };
    if (account !== undefined && this.unfunded.has(account)) {
      return { kind: "refused", refusal: { code: "insufficient_funds", detail: "insufficient funds" } };
    }
    const refusal = transaction.evm === undefined
      ? undefined
      : this.#problemOfBytes(transaction, transaction.evm);
    if (refusal !== undefined) return { kind: "refused", refusal };
    if (transaction.evm === undefined && transaction.priceWei < this.priceWei) return { kind: "underpriced" };
    return this.#mempool.makeRoom(transaction) ? undefined : { kind: "underpriced" };
  }

  #problemOfBytes(
    { account = "", priceWei }: MemoryTransaction,
    { gasLimit, bytes }: EvmTerms,
  ): Refusal | undefined {
    if (gasLimit > MAX_TRANSACTION_GAS) {
      return { code: "too_large", detail: "transaction gas limit too high" };
    }
    if (bytes > MAX_TRANSACTION_BYTES) return { code: "too_large", detail: "oversized data" };
    const neededWei = gasLimit * priceWei + this.dataWeiPerByte * BigInt(bytes);
    return this.balanceOf(account) < neededWei
      ? { code: "insufficient_funds", detail: "insufficient funds for gas * price + value" }
      : undefined;
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
      spent: spentGas(mined, this),
      refusal: execution.kind === "refused" ? execution.refusal : undefined,
    };
  }
}

/** What the clients of a host know, as text to compare. */
function knowledgeOf({ counterparties, setId }: HostState): string {
  return [...counterparties].map(([key, { latest }]) => `${key} ${latest}`).join() + String(setId);
}
