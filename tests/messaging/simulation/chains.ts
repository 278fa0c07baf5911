/** Chains in memory with everything that the whole relayer asks of them; each call may be the last one of a process. */
import type { Certain, ReadSince } from "../../../src/core/chains/reads.ts";
import type { FeeProof, ProvenBlock, ReceiptProof } from "../../../src/core/chains/proofs.ts";
import type { GasQuote, PaidFees } from "../../../src/core/chains/fees.ts";
import type { RelayerHubCall } from "../../../src/core/chains/hub.ts";
import type { AccountNonces, ReplacementState } from "../../../src/core/chains/replacement.ts";
import type { BroadcastResult, SignedSubmission } from "../../../src/core/chains/submission.ts";
import type { EvmChain } from "../../../src/core/chains/evm/evm_chain.ts";
import type { GasPrice } from "../../../src/core/chains/evm/gas.ts";
import { type Hash256, keccak256, toHex } from "../../../src/core/encoding/bytes.ts";
import type { Signature } from "../../../src/core/ismp/fees.ts";
import type { SignedMessage } from "../../../src/core/ismp/signed_messages.ts";
import type { StateMachine, StateMachineHeight } from "../../../src/core/ismp/state_machine.ts";
import { stateMachineIdKey } from "../../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import type { Log } from "../../../src/core/telemetry/log.ts";
import type { Evidence } from "../../support/memory_accounts.ts";
import { MemoryEvm } from "../../support/memory_evm.ts";
import { forge, type HostState } from "../../support/memory_host.ts";
import { MemoryHub } from "../../support/memory_hub.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import { MemoryReplacing } from "../../support/memory_replacing.ts";
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
    requireProofs: (): Promise<void> => Promise.resolve(),
  };
  readonly #replacing: MemoryReplacing;

  constructor(node: MemoryNode, { life, clock, key, relayer, latencyMs, endpoint }: SimConnection) {
    const log = life.log.with({ chain: node.id.stateMachine });
    super(node, clock, { relayer, latencyMs, log, readsAlong: true });
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

  override async fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    const fees = await super.fetchCertainFees(commitments, since, signal);
    for (const [index, commitment] of commitments.entries()) {
      const fee = fees[index];
      if (fee?.kind === "certain") this.#life.reportFee(commitment, fee.value ?? 0n);
    }
    return fees;
  }

  override async fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<PaidFees> {
    const fees = await super.fetchFees(commitments, signal);
    for (const [index, commitment] of commitments.entries()) {
      this.#life.reportFee(commitment, fees.units[index] ?? 0n);
    }
    return fees;
  }

  override fetchGasQuote(signal: AbortSignal): Promise<GasQuote> {
    return this.call("fetchGasQuote", signal, () => ({ gasPriceWei: this.node.priceWei }));
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

  override signMessage({ digest }: SignedMessage): Promise<Signature> {
    return Promise.resolve(evmSignature(digest, this.#key));
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
export class SimHub extends MemoryHub {
  readonly #life: Process;
  readonly #chains: ReadonlyMap<StateMachine, MemoryNode>;
  readonly #endpoint: Endpoint;

  constructor(
    node: MemoryNode,
    { life, clock, key, relayer, latencyMs, endpoint }: SimConnection,
    chains: ReadonlyMap<StateMachine, MemoryNode>,
  ) {
    super(node, clock, {
      relayer,
      latencyMs,
      readsAlong: true,
      evidence: (state) => sealedEvidence(state, chains),
      minimumPayment: MIN_PAYMENT,
      sign: (digest) => evmSignature(digest, key),
    });
    this.#endpoint = endpoint;
    this.alterProof = (proof) => endpoint.isProofBad() ? forge(proof) : proof;
    this.#life = life;
    this.#chains = chains;
  }

  override broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const call = this.hubCalls.find(submission.hash);
    this.#life.leaving(submission, call);
    if (call?.kind === "accumulate") {
      const { commitments, sourceProof: { height: { id, height } } } = call.proof;
      const fees = this.#chains.get(id.stateMachine)?.block(height)?.state.fees;
      for (const each of commitments) this.#life.claiming(each, fees?.get(each) ?? 0n);
    }
    return super.broadcast(submission, signal);
  }

  protected override call<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
    return super.call(method, signal, () => {
      this.blocksBehind = this.#endpoint.blocksBehind();
      return stepped(this.#life, work);
    });
  }
}

/** What sealed proofs of blocks show whose hash the hub has stored. */
function sealedEvidence(
  { counterparties }: HostState,
  chains: ReadonlyMap<StateMachine, MemoryNode>,
): Evidence {
  const stored = ({ id, height }: StateMachineHeight): ReturnType<MemoryNode["block"]> => {
    const known = counterparties.get(stateMachineIdKey(id))?.heights.get(height);
    const block = chains.get(id.stateMachine)?.block(height);
    return known !== undefined && block?.hash === known.root ? block : undefined;
  };
  return {
    feeOf: (source, each) => stored(source)?.state.fees.get(each) ?? 0n,
    receiptAt: (dest, each) => stored(dest)?.state.receipts.get(each),
    isProven: ({ commitments, sourceProof, destProof }) => {
      const source = stored(sourceProof.height);
      const dest = stored(destProof.height);
      // Heights that are not known are told as not ready.
      if (source === undefined || dest === undefined) return true;
      return toHex(sourceProof.proof) === toHex(seal("fees", source.hash, commitments)) &&
        toHex(destProof.proof) === toHex(seal("receipts", dest.hash, commitments));
    },
  };
}

function stepped<T>(life: Process, work: () => T): T {
  life.step();
  const result = work();
  life.step();
  return result;
}
