/**
 * Money on chains in memory: fees that senders put up, receipts by height, and a hub that keeps relayer accounts by
 * the rules of its pallet. Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{accumulate,withdrawal}.rs.
 */
import type { CheckFinding } from "../../src/core/chains/check_finding.ts";
import type {
  AcceptedProof,
  AcceptedProofIndex,
  ClaimStatus,
  HubCallRefusal,
  HubChain,
  RelayerHubCall,
  SenderLimit,
} from "../../src/core/chains/hub.ts";
import type { Chain } from "../../src/core/chains/port.ts";
import type { FeeProof, ProvenBlock, ReceiptProof } from "../../src/core/chains/proofs.ts";
import type { Certain, ReadSince } from "../../src/core/chains/reads.ts";
import type {
  BroadcastResult,
  SignedSubmission,
  SubmissionOutcome,
} from "../../src/core/chains/submission.ts";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { keccak256 } from "../../src/core/encoding/hash.ts";
import type { Signature, WithdrawalInputData } from "../../src/core/ismp/fees.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { postMessage } from "../../src/core/ismp/commitment.ts";
import {
  sr25519PublicKey,
  sr25519Signature,
  toEvmAddress,
  toSignerBytes,
} from "../../src/core/ismp/signed_messages.ts";
import { type StateMachine, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import { reactionTo, RpcFault, type RpcFaultCode } from "../../src/core/rpc/fault.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { doFaulty } from "./fault_plan.ts";
import { MemoryChain } from "./memory_chain.ts";
import type { MemoryNode } from "./memory_node.ts";
import {
  accountKey,
  accumulate,
  claimError,
  credit,
  orderError,
  type PalletView,
  paymentRequest,
  raiseNonce,
  withdraw,
} from "./relayer_pallet.ts";
import { evmSignature } from "../../devnet/hub/signatures.ts";

/** A receipt that holds from one block on, and until a reorganisation takes it (exclusive). */
export interface MemoryReceipt {
  readonly relayer: Uint8Array;
  readonly from: bigint;
  readonly until?: bigint;
}

/** What a proof of these chains says: which commitments, where, at which height. */
interface ProofText {
  readonly of: "fees" | "receipts" | "state";
  readonly chain: string;
  readonly height: string;
}

function proofBytes(proof: ProofText): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(proof));
}

/** Settings of a {@link MemoryFeeChain}. */
export interface MemoryFeeOptions {
  /** secp256k1 key of the relayer, 32 bytes. */
  readonly key: Uint8Array;
  readonly decimals?: number;
}

/** A chain with fees; receipts for claims are kept apart from those of its host. */
export class MemoryFeeChain extends MemoryChain implements Chain {
  readonly paidFees = new Map<Hash256, bigint>();
  /** Fees as the endpoint tells them that is asked first: it is behind. */
  staleFees: ReadonlyMap<Hash256, bigint> = new Map();
  /** Fees before a raise, with the block of the raise. */
  readonly feesBefore = new Map<Hash256, { readonly fee: bigint; readonly until: bigint }>();
  readonly proved = new Map<Hash256, MemoryReceipt>();
  balanceWei = 10n ** 18n;
  readonly #node: MemoryNode;
  readonly #wall: Clock;
  readonly #key: Uint8Array;
  readonly #decimals: number;

  constructor(node: MemoryNode, clock: Clock, { key, decimals = 18 }: MemoryFeeOptions) {
    super(node, clock, { relayer: toEvmAddress(key) });
    this.#node = node;
    this.#wall = clock;
    this.#key = key;
    this.#decimals = decimals;
  }

  override fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly (bigint | undefined)[]> {
    return this.#asked(
      "fetchFees",
      signal,
      () => commitments.map((each) => this.staleFees.get(each) ?? this.paidFees.get(each)),
    );
  }

  override fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    const { height, state } = this.#node.head;
    const receipts = messages.map((message) =>
      this.receiptAt(message.commitment, height) ?? state.receipts.get(toReceiptKey(message))
    );
    return this.#asked("fetchCertainReceipts", signal, () => this.confirmed(since, receipts));
  }

  override fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    return this.#asked(
      "fetchCertainFees",
      signal,
      () => this.confirmed(since, commitments.map((each) => this.paidFees.get(each))),
    );
  }

  override fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return this.#asked("fetchFeeTokenDecimals", signal, () => this.#decimals);
  }

  override fetchRouterPrice(): Promise<bigint | undefined> {
    return Promise.resolve(undefined);
  }

  override proveFees(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<FeeProof> {
    return this.#asked("proveFees", signal, () => {
      if (commitments.length === 0) throw new Error("Nothing to prove");
      return {
        proof: proofBytes({ of: "fees", chain: this.id.stateMachine, height: height.toString() }),
        fees: commitments.map((each) => this.feeAt(each, height)),
      };
    });
  }

  override proveReceipts(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    return this.#asked("proveReceipts", signal, () => ({
      proof: proofBytes({ of: "receipts", chain: this.id.stateMachine, height: height.toString() }),
      relayers: commitments.map((each) => this.receiptAt(each, height)),
    }));
  }

  override proveState(
    _keys: readonly Uint8Array[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    return this.#asked(
      "proveState",
      signal,
      () => proofBytes({ of: "state", chain: this.id.stateMachine, height: height.toString() }),
    );
  }

  override signDigest(digest: Uint8Array): Promise<Signature> {
    return Promise.resolve(evmSignature(toHash256(digest), this.#key));
  }

  override fetchBalance(signal: AbortSignal): Promise<bigint> {
    return this.#asked("fetchBalance", signal, () => this.balanceWei);
  }

  /** The fee in the state of a block of this chain. */
  feeAt(commitment: Hash256, height: bigint): bigint {
    const before = this.feesBefore.get(commitment);
    return before !== undefined && height < before.until ? before.fee : this.paidFees.get(commitment) ?? 0n;
  }

  /** Somebody adds to a fee in the next block. */
  raise(commitment: Hash256, more: bigint): void {
    const fee = this.paidFees.get(commitment) ?? 0n;
    this.feesBefore.set(commitment, { fee, until: this.#node.head.height + 1n });
    this.paidFees.set(commitment, fee + more);
  }

  /** The relayer that a block of this chain names. */
  receiptAt(commitment: Hash256, height: bigint): Uint8Array | undefined {
    const receipt = this.proved.get(commitment);
    if (receipt === undefined || receipt.from > height) return undefined;
    return receipt.until !== undefined && height >= receipt.until ? undefined : receipt.relayer;
  }

  async #asked<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
    signal.throwIfAborted();
    this.calls.push(method);
    await Promise.resolve();
    const where = { chain: this.id.stateMachine, method, clock: this.#wall };
    return await doFaulty(this.faults.take(method), where, work, signal);
  }
}

/** A call that a block of the hub holds or will hold. */
interface PendingCall {
  readonly call: RelayerHubCall;
  readonly hash: Hash256;
  readonly inBlock: bigint;
}

/** The hub with relayer accounts. */
export class MemoryFeeHub extends MemoryChain implements HubChain {
  /** `Relayer.Fees`, by chain and address. */
  readonly balances = new Map<string, bigint>();
  readonly nonces = new Map<string, bigint>();
  readonly minimums = new Map<StateMachine, bigint>();
  /** Requests that the hub has routed: true once their fee is claimed. */
  readonly routed = new Map<Hash256, boolean>();
  /** Requests that spoil every claim with them. */
  readonly spoilt = new Set<Hash256>();
  /** What the runtime says to any call, when it says the same to all. */
  refusesAll: HubCallRefusal | undefined;
  /** Calls that only the pool refuses. */
  refusesAtPool: (call: RelayerHubCall) => boolean = () => false;
  /** While true, calls wait in the pool. */
  isStalled = false;
  /** Rewards of the treasury, by `rotation EVM-1 7` or `request 0x..`; 0: none offered. */
  readonly offeredRewards = new Map<string, bigint>();
  readonly paidRewards = new Set<string>();
  readonly listed = new Map<string, bigint>();
  readonly #node: MemoryNode;
  readonly #wall: Clock;
  readonly #chains: ReadonlyMap<StateMachine, MemoryFeeChain>;
  readonly #key: Uint8Array;
  readonly #made = new Map<Hash256, RelayerHubCall>();
  readonly #applied = new Map<Hash256, bigint>();
  #transactionPool: PendingCall[] = [];
  #posts = 0n;

  constructor(
    node: MemoryNode,
    clock: Clock,
    options: { readonly chains: ReadonlyMap<StateMachine, MemoryFeeChain>; readonly key: Uint8Array },
  ) {
    super(node, clock, { relayer: sr25519PublicKey(options.key) });
    this.#node = node;
    this.#wall = clock;
    this.#chains = options.chains;
    this.#key = options.key;
  }

  override get outcomes(): this {
    return this;
  }

  get counterparties(): this {
    return this;
  }

  get senderLimits(): this {
    return this;
  }

  get accounts(): this {
    return this;
  }

  get rewards(): this {
    return this;
  }

  get hubCalls(): this {
    return this;
  }

  get acceptedProofs(): this {
    return this;
  }

  checkCounterparty(): Promise<readonly CheckFinding[]> {
    return Promise.resolve([]);
  }

  findUnlisted(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]> {
    return this.#asked("fetchClaimStatus", signal, () =>
      commitments.map((each) => {
        const isClaimed = this.routed.get(each);
        return isClaimed === undefined ? "unknown" : isClaimed ? "claimed" : "unclaimed";
      }));
  }

  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return this.#asked("fetchFeeBalance", signal, () => this.balances.get(accountKey(chain, address)) ?? 0n);
  }

  fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.#asked("fetchMinimumWithdrawal", signal, () => this.minimums.get(chain) ?? 10n ** 19n);
  }

  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.#asked("fetchRelayerNonce", signal, () => this.nonces.get(accountKey(chain, address)) ?? 0n);
  }

  fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    const name = `rotation ${chain} ${setId}`;
    return this.#asked("fetchRotationReward", signal, () => ({
      amount: this.offeredRewards.get(name) ?? 0n,
      isClaimed: this.paidRewards.has(name),
    }));
  }

  /** Nobody is limited here. */
  fetchSenderLimits(_source: StateMachine, senders: readonly Uint8Array[]): Promise<readonly SenderLimit[]> {
    return Promise.resolve(senders.map(() => ({ kind: "free" })));
  }

  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    return this.#asked("fetchRewardedModules", signal, () => this.listed);
  }

  fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean> {
    return this.#asked("fetchIsRequestClaimed", signal, () => this.paidRewards.has(`request ${commitment}`));
  }

  dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    return this.#asked("dryRunCall", signal, () => this.#check(call));
  }

  prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    return this.#asked("prepareCall", signal, () => {
      const text = JSON.stringify(call, (_, value) => typeof value === "bigint" ? `${value}` : value);
      const raw = new TextEncoder().encode(text);
      const hash = toHash256(keccak256(raw));
      this.#made.set(hash, call);
      const { stateMachine: chain } = this.id;
      const unsigned = { account: undefined, nonce: undefined, gasPriceWei: undefined, gasLimit: undefined };
      return { hash, chain, raw, ...unsigned, madeAtHeight: this.#node.head.height };
    });
  }

  override broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const call = this.#made.get(submission.hash);
    if (call === undefined) return super.broadcast(submission, signal);
    return this.#asked("broadcast", signal, (): BroadcastResult => {
      if (this.#transactionPool.some(({ hash }) => hash === submission.hash)) return { kind: "alreadyKnown" };
      const refusal = this.refusesAtPool(call)
        ? { code: "unspecified" as const, detail: "pool" }
        : this.#check(call);
      if (refusal !== undefined) return { kind: "refused", refusal };
      const inBlock = this.#node.head.height + 1n;
      this.#transactionPool.push({ call, hash: submission.hash, inBlock });
      if (call.kind === "withdraw" && !this.isStalled) this.#dispatchPayment(call.data);
      return { kind: "sent" };
    });
  }

  fetchCallOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return this.#asked("fetchCallOutcome", signal, () => {
      const at = this.#applied.get(submission.hash);
      if (at !== undefined) {
        const hash = this.#node.block(at)?.hash;
        if (hash === undefined) throw new Error("A block is missing");
        const isFinal = at <= this.#node.finalHeight;
        const block = { height: at, hash };
        return { kind: "included", block, isFinal, succeeded: true, handled: [], refusal: undefined };
      }
      return this.#transactionPool.some(({ hash }) => hash === submission.hash)
        ? { kind: "pending" }
        : { kind: "unknown" };
    });
  }

  fetchAcceptedProofs(): Promise<readonly AcceptedProof[]> {
    return Promise.resolve([]);
  }

  fetchProofBytes(): Promise<Uint8Array | undefined> {
    return Promise.resolve(undefined);
  }

  fetchAcceptedIndex(): Promise<AcceptedProofIndex> {
    return Promise.resolve({ rotations: new Map(), messaging: [] });
  }

  fetchRotations(): Promise<ReadonlyMap<bigint, bigint>> {
    return Promise.resolve(new Map());
  }

  override signDigest(digest: Uint8Array): Promise<Signature> {
    return Promise.resolve(sr25519Signature(toHash256(digest), this.#key, new Uint8Array(32).fill(7)));
  }

  /** Takes everything out of the pool, as a restarted node does. */
  forgetCalls(): void {
    this.#transactionPool = [];
  }

  /** Credit of an address for a chain. */
  balanceOf(chain: StateMachine, address: Uint8Array): bigint {
    this.#apply();
    return this.balances.get(accountKey(chain, address)) ?? 0n;
  }

  /** Puts fees on an account. */
  credit(chain: StateMachine, address: Uint8Array, amount: bigint): void {
    credit(this, accountKey(chain, address), amount);
  }

  /** Another relayer uses the next nonce of an account. */
  useNonceOf(chain: StateMachine, address: Uint8Array): void {
    raiseNonce(this, accountKey(chain, address));
  }

  /** Pays out as if somebody had ordered it elsewhere. */
  payOut(chain: StateMachine, payee: Uint8Array, amount: bigint): void {
    this.#post(chain, payee, amount);
  }

  /** Applies the calls whose block is there. */
  #apply(): void {
    if (this.isStalled) {
      const next = this.#node.head.height + 1n;
      this.#transactionPool = this.#transactionPool.map((entry) => ({ ...entry, inBlock: next }));
      return;
    }
    const due = this.#transactionPool.filter(({ inBlock }) => inBlock <= this.#node.head.height);
    this.#transactionPool = this.#transactionPool.filter((entry) => !due.includes(entry));
    for (const { call, hash, inBlock } of due) {
      if (this.#check(call) !== undefined) continue; // no block holds an invalid unsigned extrinsic
      this.#applied.set(hash, inBlock);
      if (call.kind === "accumulate") accumulate(this.#view(), call.proof);
      if (call.kind === "withdraw") withdraw(this, call.data);
      if (call.kind === "claimRotation") {
        const chain = call.claim.stateProof.height.id.stateMachine;
        this.paidRewards.add(`rotation ${chain} ${call.claim.setId}`);
      }
      if (call.kind === "claimRequest") {
        this.paidRewards.add(`request ${postMessage(call.claim.request).commitment}`);
      }
    }
  }

  #check(call: RelayerHubCall): HubCallRefusal | undefined {
    if (this.refusesAll !== undefined) return this.refusesAll;
    const error = this.#errorOf(call);
    return error === undefined ? undefined : {
      code: error === "NotReady" ? "not_ready" : "unspecified",
      detail: error,
      error: `Relayer.${error}`,
    };
  }

  #errorOf(call: RelayerHubCall): string | undefined {
    switch (call.kind) {
      case "accumulate":
        return claimError(this.#view(), call.proof);
      case "withdraw":
        return orderError(this.#view(), call.data);
      case "claimRotation": {
        const { stateProof, setId, signature } = call.claim;
        const name = `rotation ${stateProof.height.id.stateMachine} ${setId}`;
        if (this.paidRewards.has(name)) return "OutboundRotationAlreadyClaimed";
        if ((this.offeredRewards.get(name) ?? 0n) === 0n) return "OutboundNoRewardConfigured";
        return signature.tag === "Evm" ? undefined : "OutboundSignatureNotEvm";
      }
      case "claimRequest": {
        const { commitment } = postMessage(call.claim.request);
        return this.paidRewards.has(`request ${commitment}`) ? "OutboundRequestAlreadyClaimed" : undefined;
      }
      case "answerGets":
        return undefined;
    }
  }

  /** What the pallet's rules depend on, as of now. */
  #view(): PalletView {
    const { state, timeSec } = this.#node.head;
    return {
      balances: this.balances,
      nonces: this.nonces,
      isClaimed: (each) => this.routed.get(each),
      setClaimed: (each) => void this.routed.set(each, true),
      feeOf: ({ id, height }, each) => this.#chain(id.stateMachine).feeAt(each, height),
      receiptAt: ({ id, height }, each) => this.#chain(id.stateMachine).receiptAt(each, height),
      isMatured: ({ id, height }) => {
        const stored = state.counterparties.get(stateMachineIdKey(id))?.heights.get(height);
        const period = this.#node.challengePeriodSec;
        return stored !== undefined && (period === 0n || timeSec - stored.updatedAtSec > period);
      },
      isProven: ({ commitments }) => !commitments.some((each) => this.spoilt.has(each)),
      minimumOf: (chain) => this.minimums.get(chain) ?? 10n ** 19n,
    };
  }

  /** The request leaves in the block that holds the order. */
  #dispatchPayment({ signature, destChain, beneficiary }: WithdrawalInputData): void {
    const address = toSignerBytes(signature);
    this.#post(destChain, beneficiary ?? address, this.balances.get(accountKey(destChain, address)) ?? 0n);
  }

  #post(chain: StateMachine, payee: Uint8Array, amount: bigint): void {
    const facts = { hub: this.id.stateMachine, chain, nonce: this.#posts++, payee, amount };
    this.#node.dispatch(postMessage(paymentRequest(facts)));
  }

  #chain(name: StateMachine): MemoryFeeChain {
    const chain = this.#chains.get(name);
    if (chain === undefined) throw new Error(`The hub does not know ${name}`);
    return chain;
  }

  async #asked<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
    signal.throwIfAborted();
    this.calls.push(method);
    await Promise.resolve();
    this.#apply();
    const where = { chain: this.id.stateMachine, method, clock: this.#wall };
    return await doFaulty(this.faults.take(method), where, work, signal);
  }
}

/** A fault of an endpoint, for tests. */
export function faultOf(code: RpcFaultCode, chain: Pick<Chain, "id">): RpcFault {
  const where = { chain: chain.id.stateMachine, endpointHost: "memory", method: "any" };
  return new RpcFault(code, reactionTo(code), where);
}
