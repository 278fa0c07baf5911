/** Chains with everything that the whole relayer asks of them; each request may be the last one of a process. */
import type { RelayerHubCall } from "../../../src/core/chains/hub.ts";
import type { BroadcastResult, SignedSubmission } from "../../../src/core/chains/submission.ts";
import { assembleEvmChain, createEvmContext, type EvmChain } from "../../../src/core/chains/evm/evm_chain.ts";
import { type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import {
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
} from "../../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import type { Log } from "../../../src/core/telemetry/log.ts";
import type { EvmChainConfig } from "../../../src/messaging/config/schema.ts";
import type { Evidence } from "../../support/relayer_pallet.ts";
import { forge, type HostState } from "../../support/memory_host.ts";
import { MemoryHub } from "../../support/memory_hub.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import { MemoryRpc } from "../../support/memory_rpc.ts";
import { sealOfClaims, SealProver } from "../../support/memory_slots.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { evmSignature } from "../../../devnet/hub/signatures.ts";
import { simFetch, type SimNetwork } from "./endpoints.ts";

/** A process of the relayer, as its connections see it. */
export interface Process {
  /** Where it tells what happens. */
  readonly log: Log;
  /** Passed before and after everything that leaves a trace. @throws when the process is dead or dies here. */
  step(): void;
  /** Looks at bytes on their way out. @throws when an invariant does not hold. */
  leaving(submission: Pick<SignedSubmission, "hash" | "chain">, call: RelayerHubCall | undefined): void;
  /** A request to an EVM chain was made. */
  requested(): void;
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

/** Smallest payment of the hub, 18 decimals. */
export const MIN_PAYMENT = 10n ** 18n;

/** How a process is connected to an EVM chain. */
export interface EvmConnection
  extends
    Pick<SimConnection, "life" | "clock" | "key" | "relayer" | "latencyMs">,
    Pick<SimNetwork, "moodOf" | "onSent"> {
  readonly config: EvmChainConfig;
  readonly hub: StateMachineId;
  readonly price27: () => bigint | undefined;
  readonly feeTokenDecimals: number;
}

/** A chain beside the hub: the adapter of the program, over a network in memory. */
export function connectEvm(node: MemoryNode, connection: EvmConnection): EvmChain {
  const { life, clock, config, relayer } = connection;
  const chain = node.id.stateMachine;
  const host = toAddress(config.ismpHost);
  const rpc = new MemoryRpc({ ...connection, node, host });
  const fetch = simFetch({ ...connection, chain, rpc });
  const randomness = seededRandomness(relayer[0] ?? 1);
  const context = createEvmContext({ fetch, clock, randomness, log: life.log }, config);
  const { fees, certain, ...parts } = assembleEvmChain(context, config, {
    prover: new SealProver(context),
    probe: () => Promise.resolve([]),
  });
  const report = (commitment: Hash256, fee: bigint | undefined): void => {
    const offered = node.head.state.fees.get(commitment) ?? 0n;
    life.reportFee(commitment, fee === undefined || fee > offered ? offered : fee);
  };
  return {
    ...parts,
    fees: {
      fetchFees: async (commitments, signal) => {
        const found = await fees.fetchFees(commitments, signal);
        commitments.forEach((each, index) => report(each, found.units[index]));
        return found;
      },
    },
    certain: {
      fetchCertainReceipts: (messages, since, signal) =>
        certain.fetchCertainReceipts(messages, since, signal),
      fetchCertainFees: async (commitments, since, signal) => {
        const found = await certain.fetchCertainFees(commitments, since, signal);
        commitments.forEach((each, index) => {
          const fee = found[index];
          if (fee?.kind === "certain") report(each, fee.value);
        });
        return found;
      },
    },
  };
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

  override call<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
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
      return toHex(sourceProof.proof) === toHex(sealOfClaims("fees", source.hash, commitments)) &&
        toHex(destProof.proof) === toHex(sealOfClaims("receipts", dest.hash, commitments));
    },
  };
}

function stepped<T>(life: Process, work: () => T): T {
  life.step();
  const result = work();
  life.step();
  return result;
}
