/** Chains in memory with everything that the whole relayer asks of them; each call may be the last one of a process. */
import type { GasQuote } from "../../../src/core/chains/fees.ts";
import type {
  AcceptedProofIndex,
  ClaimStatus,
  HubCallRefusal,
  HubChain,
  RelayerHubCall,
} from "../../../src/core/chains/hub.ts";
import type { FeeProof, ProvenBlock, ReceiptProof } from "../../../src/core/chains/proofs.ts";
import type { AccountNonces, ReplacementState } from "../../../src/core/chains/replacement.ts";
import type {
  BroadcastResult,
  SignedSubmission,
  SubmissionOutcome,
} from "../../../src/core/chains/submission.ts";
import type { EvmChain } from "../../../src/core/chains/evm/evm_chain.ts";
import type { GasPrice } from "../../../src/core/chains/evm/gas.ts";
import { type Hash256, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { keccak256 } from "../../../src/core/encoding/hash.ts";
import { postMessage } from "../../../src/core/ismp/commitment.ts";
import type { Signature } from "../../../src/core/ismp/fees.ts";
import { toSignerBytes } from "../../../src/core/ismp/signed_messages.ts";
import {
  type StateMachine,
  type StateMachineHeight,
  stateMachineIdKey,
} from "../../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import type { Log } from "../../../src/core/telemetry/log.ts";
import { forge, type HostState } from "../../support/memory_host.ts";
import type { MemoryCall, MemoryNode } from "../../support/memory_node.ts";
import { MemoryReplacing } from "../../support/memory_replacing.ts";
import { MemoryEvm, MemoryHub } from "../../support/memory_roles.ts";
import {
  accountKey,
  accumulate,
  claimError,
  orderError,
  type PalletView,
  paymentRequest,
  withdraw,
} from "../../support/relayer_pallet.ts";
import { evmSignature } from "../../../devnet/hub/signatures.ts";

/** A process of the relayer, as its connections see it. */
export interface Process {
  /** Where it tells what happens. */
  readonly log: Log;
  /** Passed before and after everything that leaves a trace. @throws when the process is dead or dies here. */
  step(): void;
  /** Looks at bytes on their way out. @throws when an invariant does not hold. */
  leaving(submission: SignedSubmission, call: RelayerHubCall | undefined): void;
  /** The source has told it a fee. */
  reportFee(commitment: Hash256, fee: bigint): void;
  /** A claim leaves whose proof shows that fee. */
  claiming(commitment: Hash256, fee: bigint): void;
}

/** What a chain's endpoint does wrong. */
export interface Endpoint {
  /** Blocks by which the node that answers the next call is behind. */
  readonly blocksBehind: () => bigint;
  /** Whether the next proof does not verify. */
  readonly isProofBad: () => boolean;
}

/** How a process is connected to a chain. */
export interface SimConnection {
  readonly life: Process;
  readonly clock: Clock;
  /** secp256k1 key, 32 bytes, and its address. */
  readonly key: Uint8Array;
  readonly relayer: Uint8Array;
  readonly latencyMs: () => number;
  readonly endpoint: Endpoint;
}

/** Smallest payment of the hub, units of the fee token. */
const MIN_PAYMENT = 10n ** 18n;

function seal(what: string, root: Hash256, keys: readonly string[]): Uint8Array {
  return keccak256(new TextEncoder().encode([what, root, ...keys].join()));
}

/** A chain beside the hub. */
export class SimEvm extends MemoryEvm implements EvmChain {
  override readonly family = "evm";
  readonly #life: Process;
  readonly #key: Uint8Array;
  readonly #endpoint: Endpoint;
  override readonly proofChecks = {
    checkProofs: (): Promise<readonly []> => Promise.resolve([]),
    requireProofs: (): Promise<void> => Promise.resolve(),
  };
  readonly #replacing: MemoryReplacing;

  constructor(node: MemoryNode, { life, clock, key, relayer, latencyMs, endpoint }: SimConnection) {
    super(node, clock, { relayer, latencyMs, log: life.log.with({ chain: node.id.stateMachine }) });
    this.#life = life;
    this.#endpoint = endpoint;
    this.alterProof = (proof) => endpoint.isProofBad() ? forge(proof) : proof;
    this.#key = key;
    this.#replacing = new MemoryReplacing(node, this, clock);
  }

  override get gas(): this {
    return this;
  }

  override get replacement(): this {
    return this;
  }

  override broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    this.#life.leaving(submission, undefined);
    return super.broadcast(submission, signal);
  }

  override async fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly (bigint | undefined)[]> {
    const fees = await super.fetchFees(commitments, signal);
    for (const [index, commitment] of commitments.entries()) {
      this.#life.reportFee(commitment, fees[index] ?? 0n);
    }
    return fees;
  }

  override fetchGasQuote(signal: AbortSignal): Promise<GasQuote> {
    return this.call("fetchGasQuote", signal, () => ({ gasPriceWei: this.node.priceWei }));
  }

  override fetchDataCost(_callData: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return this.call("fetchDataCost", signal, () => 0n);
  }

  override proveFees(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<FeeProof> {
    return this.call("proveFees", signal, () => {
      const { hash, state } = this.blockAt(height, "proveFees");
      return {
        proof: this.#sealed("fees", hash, commitments),
        fees: commitments.map((each) => state.fees.get(each) ?? 0n),
      };
    });
  }

  override proveReceipts(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    return this.call("proveReceipts", signal, () => {
      const { hash, state } = this.blockAt(height, "proveReceipts");
      return {
        proof: this.#sealed("receipts", hash, commitments),
        relayers: commitments.map((each) => state.receipts.get(each)),
      };
    });
  }

  #sealed(what: string, root: Hash256, keys: readonly string[]): Uint8Array {
    return seal(this.#endpoint.isProofBad() ? `no ${what}` : what, root, keys);
  }

  override signDigest(digest: Uint8Array): Promise<Signature> {
    return Promise.resolve(evmSignature(toHash256(digest), this.#key));
  }

  override fetchBalance(signal: AbortSignal): Promise<bigint> {
    return this.call("fetchBalance", signal, () => 10n ** 24n);
  }

  fetchReplacementState(submission: SignedSubmission, signal: AbortSignal): Promise<ReplacementState> {
    this.#life.step();
    return this.#replacing.fetchReplacementState(submission, signal);
  }

  fetchNonces(signal: AbortSignal): Promise<AccountNonces> {
    this.#life.step();
    return this.#replacing.fetchNonces(signal);
  }

  resign(submission: SignedSubmission, price: GasPrice): Promise<SignedSubmission> {
    this.#life.step();
    return this.#replacing.resign(submission, price);
  }

  cancel(submission: SignedSubmission, price: GasPrice, signal: AbortSignal): Promise<SignedSubmission> {
    this.#life.step();
    return this.#replacing.cancel(submission, price, signal);
  }

  protected override call<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
    return super.call(method, signal, () => {
      this.blocksBehind = this.#endpoint.blocksBehind();
      return stepped(this.#life, work);
    });
  }
}

/** The hub with relayer accounts. */
export class SimHub extends MemoryHub implements HubChain {
  readonly #life: Process;
  readonly #key: Uint8Array;
  readonly #chains: ReadonlyMap<StateMachine, MemoryNode>;
  readonly #endpoint: Endpoint;
  readonly #made = new Map<Hash256, RelayerHubCall>();

  constructor(
    node: MemoryNode,
    { life, clock, key, relayer, latencyMs, endpoint }: SimConnection,
    chains: ReadonlyMap<StateMachine, MemoryNode>,
  ) {
    super(node, clock, { relayer, latencyMs });
    this.#endpoint = endpoint;
    this.alterProof = (proof) => endpoint.isProofBad() ? forge(proof) : proof;
    this.#life = life;
    this.#key = key;
    this.#chains = chains;
  }

  override get outcomes(): this {
    return this;
  }

  get counterparties(): this {
    return this;
  }

  get accounts(): this {
    return this;
  }

  checkCounterparty(_entry: unknown, signal: AbortSignal): Promise<readonly []> {
    return this.call("checkCounterparty", signal, () => []);
  }

  findUnlisted(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  override broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const call = this.#made.get(submission.hash);
    this.#life.leaving(submission, call);
    if (call?.kind === "accumulate") {
      const { commitments, sourceProof: { height: { id, height } } } = call.proof;
      const fees = this.#chains.get(id.stateMachine)?.block(height)?.state.fees;
      for (const each of commitments) this.#life.claiming(each, fees?.get(each) ?? 0n);
    }
    return super.broadcast(submission, signal);
  }

  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]> {
    return this.call("fetchClaimStatus", signal, () => {
      const { sent, accounts } = this.node.head.state;
      return commitments.map((each) =>
        !sent.has(each) ? "unknown" : accounts.claimed.has(each) ? "claimed" : "unclaimed"
      );
    });
  }

  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return this.call(
      "fetchFeeBalance",
      signal,
      () => this.node.head.state.accounts.balances.get(accountKey(chain, address)) ?? 0n,
    );
  }

  fetchMinimumWithdrawal(_chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.call("fetchMinimumWithdrawal", signal, () => MIN_PAYMENT);
  }

  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return this.call(
      "fetchRelayerNonce",
      signal,
      () => this.node.head.state.accounts.nonces.get(accountKey(chain, address)) ?? 0n,
    );
  }

  override fetchRotationReward(
    _chain: StateMachine,
    _setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    return this.call("fetchRotationReward", signal, () => ({ amount: 0n, isClaimed: false }));
  }

  fetchIsRequestClaimed(_commitment: Hash256, signal: AbortSignal): Promise<boolean> {
    return this.call("fetchIsRequestClaimed", signal, () => false);
  }

  override dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    if (call.kind === "answerGets") return super.dryRunCall(call, signal);
    return this.call("dryRunCall", signal, () => {
      const { state, timeSec } = this.node.head;
      return refusalOf(this.#errorIn(call, state, timeSec));
    });
  }

  override async prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    const submission = call.kind === "answerGets"
      ? await super.prepareCall(call, signal)
      : await this.call("prepareCall", signal, () => {
        const hints = { nonceAtLeast: undefined };
        return this.signed({ steps: [] }, { gasLimit: 0n }, hints, { call: this.#executable(call) });
      });
    this.#made.set(submission.hash, call);
    return submission;
  }

  fetchAcceptedIndex(): Promise<AcceptedProofIndex> {
    return Promise.reject(new Error("No consensus relayer runs here"));
  }

  fetchCallOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return this.call("fetchCallOutcome", signal, () => this.node.outcomeOf(submission.hash));
  }

  override fetchFees(commitments: readonly Hash256[]): Promise<readonly undefined[]> {
    return Promise.resolve(commitments.map(() => undefined));
  }

  override fetchFeeTokenDecimals(): Promise<number> {
    return Promise.resolve(18);
  }

  override proveFees(): Promise<FeeProof> {
    return Promise.reject(new Error("The hub has no fees of its own"));
  }

  override proveReceipts(): Promise<ReceiptProof> {
    return Promise.reject(new Error("Nobody claims for deliveries to the hub"));
  }

  override proveState(): Promise<Uint8Array> {
    return Promise.reject(new Error("Nobody asks the hub about itself"));
  }

  override signDigest(digest: Uint8Array): Promise<Signature> {
    return Promise.resolve(evmSignature(toHash256(digest), this.#key));
  }

  protected override call<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
    return super.call(method, signal, () => {
      this.blocksBehind = this.#endpoint.blocksBehind();
      return stepped(this.#life, work);
    });
  }

  #executable(call: RelayerHubCall): MemoryCall {
    return {
      tag: textOf(call),
      refusalIn: (state, nowSec) => refusalOf(this.#errorIn(call, state, nowSec)),
      apply: (state, at) => {
        if (call.kind === "accumulate") accumulate(this.#view(state, 0n), call.proof);
        if (call.kind !== "withdraw") return [];
        const { destChain, beneficiary, signature } = call.data;
        const amount = withdraw(state.accounts, call.data);
        const message = postMessage(paymentRequest({
          hub: this.id.stateMachine,
          chain: destChain,
          nonce: state.accounts.payments++,
          payee: beneficiary ?? toSignerBytes(signature),
          amount,
        }));
        state.sent.set(message.commitment, BigInt(state.sent.size));
        return [{ kind: "message", message, at }];
      },
    };
  }

  #errorIn(call: RelayerHubCall, state: HostState, nowSec: bigint): string | undefined {
    const view = this.#view(state, nowSec);
    if (call.kind === "accumulate") return claimError(view, call.proof);
    if (call.kind === "withdraw") return orderError(view, call.data);
    return "NothingOffered";
  }

  #view(state: HostState, nowSec: bigint): PalletView {
    const { accounts, counterparties, sent } = state;
    const stored = ({ id, height }: StateMachineHeight): ReturnType<MemoryNode["block"]> => {
      const known = counterparties.get(stateMachineIdKey(id))?.heights.get(height);
      const block = this.#chains.get(id.stateMachine)?.block(height);
      return known !== undefined && block?.hash === known.root ? block : undefined;
    };
    return {
      balances: accounts.balances,
      nonces: accounts.nonces,
      isClaimed: (each) => sent.has(each) ? accounts.claimed.has(each) : undefined,
      setClaimed: (each) => void accounts.claimed.add(each),
      feeOf: (source, each) => stored(source)?.state.fees.get(each) ?? 0n,
      receiptAt: (dest, each) => stored(dest)?.state.receipts.get(each),
      isMatured: ({ id, height }) => {
        const known = counterparties.get(stateMachineIdKey(id))?.heights.get(height);
        const period = this.node.challengePeriodSec;
        return known !== undefined && (period === 0n || nowSec - known.updatedAtSec > period);
      },
      isProven: ({ commitments, sourceProof, destProof }) => {
        const source = stored(sourceProof.height);
        const dest = stored(destProof.height);
        // Heights that are not known are told as not ready.
        if (source === undefined || dest === undefined) return true;
        return toHex(sourceProof.proof) === toHex(seal("fees", source.hash, commitments)) &&
          toHex(destProof.proof) === toHex(seal("receipts", dest.hash, commitments));
      },
      minimumOf: () => MIN_PAYMENT,
    };
  }
}

function stepped<T>(life: Process, work: () => T): T {
  life.step();
  const result = work();
  life.step();
  return result;
}

function refusalOf(error: string | undefined): HubCallRefusal | undefined {
  if (error === undefined) return undefined;
  const code = error === "NotReady" ? "not_ready" : "unspecified";
  return { code, detail: error, error: `Relayer.${error}` };
}

function textOf(call: RelayerHubCall): string {
  return JSON.stringify(call, (_, value) => {
    if (typeof value === "bigint") return value.toString();
    return value instanceof Uint8Array ? toHex(value) : value;
  });
}
