/**
 * Accounts of relayers on the hub in memory: fees that claims prove are credited, and paid out on request.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/{accumulate,withdrawal}.rs.
 */
import type { ClaimStatus, RelayerAccounts, RelayerHubCall } from "../../src/core/chains/hub.ts";
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { type Message, postMessage } from "../../src/core/ismp/message.ts";
import { toSignerBytes } from "../../src/core/ismp/signed_messages.ts";
import { type StateMachine, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import type { Ask } from "./memory_reads.ts";
import type { HostState } from "./memory_host.ts";
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

/** What a claim's proofs show about the other chains. */
export type Evidence = Pick<PalletView, "feeOf" | "receiptAt" | "isProven">;

/** Reads proofs with what the hub knows in a state. */
export type ReadEvidence = (state: HostState) => Evidence;

/** A part of the hub: its node, and how its endpoint answers. */
export class HubPart {
  constructor(protected readonly node: MemoryNode, protected readonly ask: Ask) {}
}

/** Claims and withdrawals. */
export type AccountCall = Extract<RelayerHubCall, { readonly kind: "accumulate" | "withdraw" }>;

/** Smallest payment where nothing else is said, units of the fee token. */
const MIN_PAYMENT = 10n ** 19n;

const nothingShown: Evidence = {
  feeOf: () => 0n,
  receiptAt: () => undefined,
  isProven: () => false,
};

/** The accounts, and the calls that change them. */
export class MemoryAccounts extends HubPart implements RelayerAccounts {
  /** Smallest payments of chains that have one of their own. */
  readonly minimums = new Map<StateMachine, bigint>();
  readonly #evidence: ReadEvidence;
  readonly #minimumPayment: bigint;

  constructor(
    node: MemoryNode,
    ask: Ask,
    { evidence = (): Evidence => nothingShown, minimumPayment = MIN_PAYMENT }: {
      readonly evidence?: ReadEvidence;
      readonly minimumPayment?: bigint;
    },
  ) {
    super(node, ask);
    this.#evidence = evidence;
    this.#minimumPayment = minimumPayment;
  }

  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]> {
    return this.ask("fetchClaimStatus", signal, () => {
      const { sent, accounts } = this.node.block(this.node.finalHeight)?.state ?? this.node.head.state;
      return commitments.map((each) =>
        !sent.has(each) ? "unknown" : accounts.claimed.has(each) ? "claimed" : "unclaimed"
      );
    });
  }

  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return this.ask("fetchFeeBalance", signal, () => this.balanceOf(chain, address));
  }

  fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.ask("fetchMinimumWithdrawal", signal, () => this.#minimumOf(chain));
  }

  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.ask(
      "fetchRelayerNonce",
      signal,
      () => this.node.head.state.accounts.nonces.get(accountKey(chain, address)) ?? 0n,
    );
  }

  /** Credit of an address for a chain. */
  balanceOf(chain: StateMachine, address: Uint8Array): bigint {
    return this.node.head.state.accounts.balances.get(accountKey(chain, address)) ?? 0n;
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

  /** Name of the error with which the hub refuses a call; `undefined`: it takes it. */
  errorOf(call: AccountCall, state: HostState, nowSec: bigint): string | undefined {
    const view = this.#view(state, nowSec);
    return call.kind === "accumulate" ? claimError(view, call.proof) : orderError(view, call.data);
  }

  /** Writes what a call does that {@link MemoryAccounts.errorOf} lets pass; returns the events. */
  apply(call: AccountCall, state: HostState, at: EventPosition): readonly ChainEvent[] {
    if (call.kind === "accumulate") {
      accumulate(this.#view(state, 0n), call.proof);
      return [];
    }
    const { destChain: chain, beneficiary, signature } = call.data;
    const amount = withdraw(state.accounts, call.data);
    const payee = beneficiary ?? toSignerBytes(signature);
    const message = this.#payment(state, { chain, payee, amount });
    state.sent.set(message.commitment, BigInt(state.sent.size));
    return [{ kind: "message", message, at }];
  }

  #payment(
    { accounts }: HostState,
    order: { readonly chain: StateMachine; readonly payee: Uint8Array; readonly amount: bigint },
  ): Message {
    const hub = this.node.id.stateMachine;
    return postMessage(paymentRequest({ hub, nonce: accounts.payments++, ...order }));
  }

  #minimumOf(chain: StateMachine): bigint {
    return this.minimums.get(chain) ?? this.#minimumPayment;
  }

  /** What the pallet's rules depend on. */
  #view(state: HostState, nowSec: bigint): PalletView {
    const { accounts, counterparties, sent } = state;
    return {
      ...this.#evidence(state),
      balances: accounts.balances,
      nonces: accounts.nonces,
      isClaimed: (each) => sent.has(each) ? accounts.claimed.has(each) : undefined,
      setClaimed: (each) => void accounts.claimed.add(each),
      isMatured: ({ id, height }) => {
        const known = counterparties.get(stateMachineIdKey(id))?.heights.get(height);
        const period = this.node.challengePeriodSec;
        return known !== undefined && (period === 0n || nowSec - known.updatedAtSec > period);
      },
      minimumOf: (chain) => this.#minimumOf(chain),
    };
  }
}
