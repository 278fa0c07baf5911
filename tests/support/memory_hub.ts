/**
 * The hub in memory, for everybody who delivers messages: a {@link MemoryChain} with the accounts, rewards, calls and
 * consensus proofs that only a hub has. All of it stands in the state of the node's blocks.
 */
import type { PaidFees } from "../../src/core/chains/fees.ts";
import type { CheckRow } from "../../src/core/checks/check_row.ts";
import type {
  AcceptedProof,
  AcceptedProofIndex,
  ClaimStatus,
  HubCallRefusal,
  HubChain,
  RelayerHubCall,
  SenderLimit,
} from "../../src/core/chains/hub.ts";
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import type { BroadcastResult, SignedSubmission } from "../../src/core/chains/submission.ts";
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Signature } from "../../src/core/ismp/fees.ts";
import { type Message, postMessage } from "../../src/core/ismp/message.ts";
import { type SignedMessage, toSignerBytes } from "../../src/core/ismp/signed_messages.ts";
import {
  type StateMachine,
  type StateMachineId,
  stateMachineIdKey,
} from "../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import type { MemoryCall } from "./memory_block.ts";
import { MemoryChain, type MemoryChainOptions } from "./memory_chain.ts";
import { encodeProof, padProof, signerOf } from "./memory_consensus.ts";
import type { HostState } from "./memory_host.ts";
import type { MemoryNode } from "./memory_node.ts";
import {
  accountKey,
  accumulate,
  claimError,
  credit,
  type Evidence,
  orderError,
  type PalletView,
  paymentRequest,
  raiseNonce,
  withdraw,
} from "./relayer_pallet.ts";

/** Settings of a {@link MemoryHub}. */
export interface MemoryHubOptions extends MemoryChainOptions {
  /** What proofs of the other chains show, with what the hub knows in a state; absent: no fees and no receipts. */
  readonly evidence?: (state: HostState) => Evidence;
  /** Smallest payment to chains without one of their own, units of the fee token. */
  readonly minimumPayment?: bigint;
  /** Signs for the account of the relayer; absent: it has none. */
  readonly sign?: (digest: Hash256) => Signature;
}

/** Calls that this file does itself; the node knows answers. */
type OwnCall = Exclude<RelayerHubCall, { readonly kind: "answerGets" }>;
type RewardCall = Extract<RelayerHubCall, { readonly kind: "claimRotation" | "claimRequest" }>;

const nothingShown: Evidence = { feeOf: () => 0n, receiptAt: () => undefined, isProven: () => false };

/** The hub for one relayer. */
export class MemoryHub extends MemoryChain implements HubChain {
  // As on other chains, one object plays all parts.
  readonly accounts: this = this;
  readonly rewards: this = this;
  readonly hubCalls: this = this;
  readonly acceptedProofs: this = this;
  readonly counterparties: this = this;
  readonly senderLimits: this = this;
  /** Smallest payments of chains that have one of their own. */
  readonly minimums = new Map<StateMachine, bigint>();
  /** Rewards of the hub's modules, hex as the hub writes it. */
  readonly modules = new Map<string, bigint>();
  /** Rewards of single rotations, by `rotation EVM-1 7`, units of the hub's token. */
  readonly rotations = new Map<string, bigint>();
  /** Reward of every other rotation. */
  everyRotation = 0n;
  /** What the runtime says to any call, when it says the same to all. */
  refusesAll: HubCallRefusal | undefined;
  /** Calls that only the pool refuses. */
  refusesAtPool: (call: RelayerHubCall) => boolean = () => false;
  /** False: its node refuses unsafe calls, so proofs cannot be fetched. */
  hasOffchainStore = true;
  /** Bytes of each proof; at least as many as what it says. */
  proofBytes = 0;
  /** Heights whose proofs this node has not kept. */
  readonly missing = new Set<bigint>();
  /** Heights whose proofs are of a kind that comes later. */
  readonly unknownKinds = new Set<bigint>();
  /** What it finds wrong about every other chain. */
  counterpartyFindings: readonly CheckRow[] = [];
  readonly #options: MemoryHubOptions;
  readonly #made = new Map<Hash256, RelayerHubCall>();

  constructor(node: MemoryNode, clock: Clock, options: MemoryHubOptions) {
    super(node, clock, options);
    this.#options = options;
  }

  checkCounterparty(
    _entry: { readonly id: StateMachineId },
    signal: AbortSignal,
  ): Promise<readonly CheckRow[]> {
    return this.call("checkCounterparty", signal, () => this.counterpartyFindings);
  }

  findUnlisted(_id: StateMachineId, _signal: AbortSignal): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  fetchSenderLimits(
    _source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]> {
    return this.call("fetchSenderLimits", signal, () =>
      senders.map((sender) => {
        const remainingBytes = this.node.head.state.bandwidth.get(toHex(sender));
        return remainingBytes === undefined ? { kind: "free" } : { kind: "metered", remainingBytes };
      }));
  }

  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]> {
    return this.call("fetchClaimStatus", signal, () => {
      const { sent, accounts } = this.#finalState;
      return commitments.map((each) =>
        !sent.has(each) ? "unknown" : accounts.claimed.has(each) ? "claimed" : "unclaimed"
      );
    });
  }

  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return this.call("fetchFeeBalance", signal, () => this.balanceOf(chain, address));
  }

  fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.call("fetchMinimumWithdrawal", signal, () => this.#minimumOf(chain));
  }

  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    const { nonces } = this.#books;
    return this.call("fetchRelayerNonce", signal, () => nonces.get(accountKey(chain, address)) ?? 0n);
  }

  /** Credit of an address for a chain. */
  balanceOf(chain: StateMachine, address: Uint8Array): bigint {
    return this.#books.balances.get(accountKey(chain, address)) ?? 0n;
  }

  /** Puts fees on an account, at once. */
  credit(chain: StateMachine, address: Uint8Array, amount: bigint): void {
    this.node.amend(({ accounts }) => credit(accounts, accountKey(chain, address), amount));
  }

  /** Another relayer uses the next nonce of an account, at once. */
  useNonceOf(chain: StateMachine, address: Uint8Array): void {
    this.node.amend(({ accounts }) => raiseNonce(accounts, accountKey(chain, address)));
  }

  /** The hub has routed a request, whose fee may be claimed from now on. */
  noteRouted(commitment: Hash256): void {
    this.node.amend(({ sent }) => void sent.set(commitment, BigInt(sent.size)));
  }

  /** Somebody has claimed the fee of a request. */
  noteClaimed(commitment: Hash256): void {
    this.node.amend(({ accounts }) => void accounts.claimed.add(commitment));
  }

  /** Pays out in the next block, as if somebody had ordered it elsewhere. */
  payOut(chain: StateMachine, payee: Uint8Array, amount: bigint): void {
    this.node.amend((state) => this.node.dispatch(this.#payment(state, { chain, payee, amount })));
  }

  /** What was paid as rewards, by `rotation EVM-1 7` or `request 0x..`. */
  get paid(): Set<string> {
    return this.#books.rewarded;
  }

  fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    const name = rotationName(chain, setId);
    return this.call("fetchRotationReward", signal, () => ({
      amount: this.#rewardOf(name),
      isClaimed: this.#finalState.accounts.rewarded.has(name),
    }));
  }

  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    return this.call("fetchRewardedModules", signal, () => new Map(this.modules));
  }

  fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean> {
    const work = (): boolean => this.#finalState.accounts.rewarded.has(`request ${commitment}`);
    return this.call("fetchIsRequestClaimed", signal, work);
  }

  /** The call that was made with that hash. */
  find(hash: Hash256): RelayerHubCall | undefined {
    return this.#made.get(hash);
  }

  dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    return this.call("dryRunCall", signal, () => {
      if (call.kind !== "answerGets") {
        const { state, timeSec } = this.node.head;
        return this.#refusalOf(call, state, timeSec);
      }
      const refusal = this.node.tryAnswer(call.answer);
      return refusal === undefined ? undefined : { ...refusal, error: undefined };
    });
  }

  prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    return this.call("prepareCall", signal, () => {
      const content = call.kind === "answerGets" ? { answer: call.answer } : { call: this.#executable(call) };
      const submission = this.signed({ steps: [] }, { gasLimit: 0n }, { nonceAtLeast: undefined }, content);
      this.#made.set(submission.hash, call);
      return submission;
    });
  }

  override broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const call = this.find(submission.hash);
    if (call === undefined || !this.refusesAtPool(call)) return super.broadcast(submission, signal);
    const refusal = { code: "unspecified", detail: "pool" } as const;
    return this.call("broadcast", signal, () => ({ kind: "refused", refusal }));
  }

  fetchProofBytes(proof: AcceptedProof, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.call("fetchProofBytes", signal, () => {
      if (!this.hasOffchainStore) throw this.fault("missing_method", "fetchProofBytes");
      if (this.missing.has(proof.height)) return undefined;
      if (this.unknownKinds.has(proof.height)) return Uint8Array.of(2, 1, 2, 3);
      const statement = encodeProof({
        source: stateMachineIdKey(this.id),
        height: proof.height,
        root: this.blockAt(proof.height, "fetchProofBytes").hash,
        signedBy: signerOf(this.node.head.state.proofs, proof),
        newSetId: proof.newSetId,
      });
      return this.proofBytes > statement.length ? padProof(statement, this.proofBytes) : statement;
    });
  }

  fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex> {
    return this.call("fetchAcceptedIndex", signal, () => {
      const { list, rotations } = this.blockAt(this.node.finalHeight, "fetchAcceptedIndex").state.proofs;
      const messaging = list.flatMap(({ height, newSetId }) => newSetId === undefined ? [height] : []);
      return { rotations: new Map(rotations), messaging: messaging.toSorted((a, b) => Number(a - b)) };
    });
  }

  /** Nobody pays a fee on the hub itself. */
  override fetchFees(commitments: readonly Hash256[]): Promise<PaidFees> {
    return Promise.resolve({ units: commitments.map(() => undefined), decimals: 18 });
  }

  override signMessage(message: SignedMessage, signal: AbortSignal): Promise<Signature> {
    const { sign } = this.#options;
    return sign === undefined ? super.signMessage(message, signal) : Promise.resolve(sign(message.digest));
  }

  get #books(): HostState["accounts"] {
    return this.node.head.state.accounts;
  }

  get #finalState(): HostState {
    return (this.node.block(this.node.finalHeight) ?? this.node.head).state;
  }

  #minimumOf(chain: StateMachine): bigint {
    return this.minimums.get(chain) ?? this.#options.minimumPayment ?? 10n ** 19n;
  }

  #rewardOf(name: string): bigint {
    return this.rotations.get(name) ?? this.everyRotation;
  }

  #executable(call: OwnCall): MemoryCall {
    return {
      tag: textOf(call),
      refusalIn: (state, nowSec) => this.#refusalOf(call, state, nowSec),
      apply: (state, at) => this.#apply(call, state, at),
    };
  }

  #refusalOf(call: OwnCall, state: HostState, nowSec: bigint): HubCallRefusal | undefined {
    if (this.refusesAll !== undefined) return this.refusesAll;
    const error = this.#errorOf(call, state, nowSec);
    if (error === undefined) return undefined;
    const code = error === "NotReady" ? "not_ready" : "unspecified";
    return { code, detail: error, error: `Relayer.${error}` };
  }

  /** Name of the error with which the hub refuses a call; `undefined`: it takes it. */
  #errorOf(call: OwnCall, state: HostState, nowSec: bigint): string | undefined {
    const { accounts } = state;
    if (call.kind === "accumulate") return claimError(this.#view(state, nowSec), call.proof);
    if (call.kind === "withdraw") {
      return orderError(accounts, call.data, this.#minimumOf(call.data.destChain));
    }
    const isPaid = accounts.rewarded.has(nameOf(call));
    if (call.kind === "claimRequest") return isPaid ? "OutboundRequestAlreadyClaimed" : undefined;
    if (isPaid) return "OutboundRotationAlreadyClaimed";
    if (this.#rewardOf(nameOf(call)) === 0n) return "OutboundNoRewardConfigured";
    return call.claim.signature.tag === "Evm" ? undefined : "OutboundSignatureNotEvm";
  }

  #apply(call: OwnCall, state: HostState, at: EventPosition): readonly ChainEvent[] {
    const { accounts, sent } = state;
    if (call.kind === "accumulate") accumulate(this.#view(state, 0n), call.proof);
    else if (call.kind !== "withdraw") accounts.rewarded.add(nameOf(call));
    if (call.kind !== "withdraw") return [];
    const { destChain: chain, beneficiary, signature } = call.data;
    const amount = withdraw(accounts, call.data);
    const payee = beneficiary ?? toSignerBytes(signature);
    const message = this.#payment(state, { chain, payee, amount });
    sent.set(message.commitment, BigInt(sent.size));
    return [{ kind: "message", message, at }];
  }

  #payment(
    { accounts }: HostState,
    order: { readonly chain: StateMachine; readonly payee: Uint8Array; readonly amount: bigint },
  ): Message {
    return postMessage(paymentRequest({ hub: this.id.stateMachine, nonce: accounts.payments++, ...order }));
  }

  /** What the pallet's rules depend on. */
  #view(state: HostState, nowSec: bigint): PalletView {
    const { evidence = (): Evidence => nothingShown } = this.#options;
    return {
      ...evidence(state),
      state,
      isMatured: ({ id, height }) => {
        const known = state.counterparties.get(stateMachineIdKey(id))?.heights.get(height);
        const period = this.node.challengePeriodSec;
        return known !== undefined && (period === 0n || nowSec - known.updatedAtSec > period);
      },
    };
  }
}

function nameOf(call: RewardCall): string {
  if (call.kind === "claimRequest") return `request ${postMessage(call.claim.request).commitment}`;
  const { stateProof, setId } = call.claim;
  return rotationName(stateProof.height.id.stateMachine, setId);
}

function rotationName(chain: StateMachine, setId: bigint): string {
  return `rotation ${chain} ${setId}`;
}

/** What two equal calls have in common. */
function textOf(call: RelayerHubCall): string {
  return JSON.stringify(call, (_, value) => {
    if (typeof value === "bigint") return value.toString();
    return value instanceof Uint8Array ? toHex(value) : value;
  });
}
