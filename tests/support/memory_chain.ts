/** A {@link MemoryNode} as one relayer sees it: the same interface as the real chains, with planned faults. */
import type { Chain, RuntimeChecks } from "../../src/core/chains/port.ts";
import type { ModuleGates } from "../../src/core/chains/reads.ts";
import type { ChainCapabilities, ChainLimits } from "../../src/core/chains/capabilities.ts";
import {
  type FeeProof,
  type MessageProof,
  type ProofChecks,
  type ProofVerifier,
  type ProvenBlock,
  type ReceiptProof,
  UnprovableKeyError,
} from "../../src/core/chains/proofs.ts";
import type { GasQuote, PaidFees } from "../../src/core/chains/fees.ts";
import type { CheckJob, CheckRow } from "../../src/core/checks/check_row.ts";
import {
  type AcceptedSimulation,
  type BroadcastResult,
  collectMessages,
  type Delivery,
  type SignedSubmission,
  type SigningInput,
  type SigningResult,
  type Simulation,
  type SubmissionOutcome,
} from "../../src/core/chains/submission.ts";
import { Sightings } from "../../src/core/runtime/refreshed.ts";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import type { SignedMessage } from "../../src/core/ismp/signed_messages.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import type { Replacement } from "../../src/core/chains/replacement.ts";
import type { HubLightClient } from "../../src/core/chains/hub_client.ts";
import type { Signature } from "../../src/core/ismp/fees.ts";
import { sealOfKeys } from "./memory_answers.ts";
import type { MemoryTransaction } from "./memory_block.ts";
import { sealOf } from "./memory_host.ts";
import type { MemoryNode } from "./memory_node.ts";
import { MemoryReads, type ReaderOptions } from "./memory_reads.ts";

/** How a relayer is connected to a chain. */
export interface MemoryChainOptions extends ReaderOptions {
  readonly limits?: Partial<ChainLimits>;
}

/** One chain for one relayer. */
export class MemoryChain extends MemoryReads implements Chain {
  // One object plays all parts; what a test overrides counts in each of them.
  readonly reads: this = this;
  readonly events: this = this;
  readonly certain: this = this;
  readonly simulator: this = this;
  readonly sender: this = this;
  readonly outcomes: this = this;
  readonly fees: this = this;
  readonly proofs: this = this;
  readonly limits: ChainLimits;
  /** Changes proofs before they leave. */
  alterProof: (proof: MessageProof) => MessageProof = (proof) => proof;
  /** Changes what simulations show. */
  alterSimulation: (simulation: Simulation, delivery: Delivery) => Simulation | Promise<Simulation> = (
    found,
  ) => found;
  /** Whether another relayer's delivery of a message waits in the pool that this relayer's node shows. */
  isContested: (message: Message) => boolean = () => false;
  /** False: who signs is not told that the host knows the proofs already. */
  reportsKnownProofs = true;
  proofChecks: ProofChecks | undefined;
  runtime: RuntimeChecks | undefined;
  gates: ModuleGates | undefined;
  /** Decimals of the fee token. */
  decimals = 18;
  /** What the host's router says; `undefined`: it has no pool. */
  routerPrice27: bigint | undefined = undefined;
  /** Keys whose value this chain cannot prove, lower-case hex. */
  readonly unprovable = new Set<Hex>();
  /** What the check of its configuration finds. */
  findings: readonly CheckRow[] = [];
  /** Proofs of others that wait in the mempool, as the EVM adapter remembers them. */
  readonly #sightings: Sightings;
  #signatures = 0;

  constructor(node: MemoryNode, clock: Clock, options: MemoryChainOptions) {
    super(node, clock, options);
    this.#sightings = new Sightings(clock);
    this.limits = {
      maxMessagesPerStep: node.family === "evm" ? 100 : 200,
      maxCallBytes: 100_000,
      blocksPerEventQuery: undefined,
      ...options.limits,
    };
  }

  get capabilities(): ChainCapabilities {
    const isEvm = this.family === "evm";
    return {
      challengeRule: isEvm ? "reached" : "strict",
      losesGasOnRace: isEvm,
      acceptsGetResponses: isEvm,
      hubProofs: isEvm ? "mmr" : "state",
      freezes: isEvm ? "host" : "client",
      hasNodeSizeLimit: isEvm,
    };
  }

  get gas(): this | undefined {
    return this.family === "evm" ? this : undefined;
  }

  get replacement(): Replacement | undefined {
    return undefined;
  }

  get hubClient(): HubLightClient | undefined {
    return undefined;
  }

  fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<PaidFees> {
    return this.call("fetchFees", signal, () => ({
      units: commitments.map((each) => this.feeTold(each)),
      decimals: this.decimals,
    }));
  }

  /** The fee as the endpoint tells it that is asked first. */
  protected feeTold(commitment: Hash256): bigint | undefined {
    return this.seen.fees.get(commitment);
  }

  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined> {
    return this.call("fetchRouterPrice", signal, () => this.routerPrice27);
  }

  proveState(
    keys: readonly Uint8Array[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    return this.call("proveState", signal, () => {
      const bad = keys.find((key) => this.unprovable.has(toHex(key)));
      if (bad !== undefined) throw new UnprovableKeyError("account_not_present", bad);
      return sealOfKeys(this.blockAt(height, "proveState").hash, keys);
    });
  }

  proveFees(_commitments: readonly Hash256[], _at: ProvenBlock, _signal: AbortSignal): Promise<FeeProof> {
    return this.#lacks("proofs of fees");
  }

  proveReceipts(
    _commitments: readonly Hash256[],
    _at: ProvenBlock,
    _signal: AbortSignal,
  ): Promise<ReceiptProof> {
    return this.#lacks("proofs of receipts");
  }

  fetchGasQuote(_signal: AbortSignal): Promise<GasQuote> {
    return Promise.resolve({ gasPriceWei: this.node.priceWei });
  }

  fetchBalance(_signal: AbortSignal): Promise<bigint> {
    return this.#lacks("balance");
  }

  signMessage(_message: SignedMessage, _signal: AbortSignal): Promise<Signature> {
    return this.#lacks("key");
  }

  #lacks(what: string): Promise<never> {
    return Promise.reject(new Error(`${this.id.stateMachine} in memory has no ${what}`));
  }

  /** Account that pays; `undefined` where extrinsics are unsigned. */
  get account(): string | undefined {
    return this.family === "evm" ? toHex(this.relayer) : undefined;
  }

  /** The handler that transactions call. */
  protected get handler(): Address {
    return this.node.head.state.handler;
  }

  /** True when the endpoint that signs names another handler than the one of the simulation. */
  protected hasOtherHandler(_handler: Address): boolean {
    return false;
  }

  planChecks(): readonly CheckJob[] {
    return [];
  }

  check(_hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckRow[]> {
    return this.call("check", signal, () => this.findings);
  }

  proveMessages(
    messages: readonly Message[],
    { height, target }: { readonly height: bigint; readonly target: Pick<ProofVerifier, "capabilities"> },
    signal: AbortSignal,
  ): Promise<MessageProof> {
    return this.call("proveMessages", signal, () => {
      const { state, hash } = this.blockAt(height, "proveMessages");
      const leafIndices = messages.map(({ commitment }) => {
        const index = state.sent.get(commitment);
        if (index === undefined) throw this.fault("not_found", "proveMessages");
        return index;
      });
      const at = { id: this.id, height };
      const seal = sealOf(hash, messages);
      return this.alterProof(
        target.capabilities.hubProofs === "mmr" && this.family === "substrate"
          ? { kind: "mmr", height: at, leafCount: BigInt(state.sent.size), items: [seal], leafIndices }
          : { kind: "state", height: at, proof: fromHex(seal) },
      );
    });
  }

  async simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const found = await this.call("simulate", signal, (): Simulation => {
      if (collectMessages(delivery).some(({ commitment }) => this.node.untraceable.has(commitment))) {
        return { kind: "refused", refusal: { code: "untraceable", detail: "the trace is too large" } };
      }
      const execution = this.node.simulate(delivery, this.handler);
      if (execution.kind === "refused") return execution;
      const { handled } = execution;
      const isEvm = this.family === "evm";
      const messageGas = handled.map((): bigint => isEvm ? this.node.messageGas : 0n);
      const proofs = delivery.steps.filter(({ kind }) => kind === "consensus").length;
      const proofGas = isEvm ? BigInt(proofs) * this.node.proofGas : 0n;
      const gasUsed = messageGas.reduce((sum, gas) => sum + gas, proofGas);
      const gasPriceWei = isEvm ? this.node.priceWei : 0n;
      return {
        kind: "accepted",
        handled,
        gasUsed,
        gasLimit: gasUsed * 2n,
        messageGas,
        gasPriceWei,
        dataCostWei: 0n,
      };
    });
    return await this.alterSimulation(found, delivery);
  }

  #isWorthWaiting({ steps }: Delivery): boolean {
    const [first] = steps.flatMap((step) => step.kind === "consensus" ? [step.proof] : []);
    return first !== undefined && this.#sightings.ageMs(toHash256(keccak256(first))) < 60_000;
  }

  sign(
    delivery: Delivery,
    input: SigningInput,
    signal: AbortSignal,
  ): Promise<SigningResult> {
    return this.call("sign", signal, () => this.#judge(delivery, input));
  }

  #judge(delivery: Delivery, input: SigningInput): SigningResult {
    const messages = collectMessages(delivery);
    const receipts = this.receipts(messages);
    const from = this.reportsKnownProofs ? this.node.knowsProofsOf(delivery) : undefined;
    const contested = messages.flatMap((message, index) => this.isContested(message) ? [index] : []);
    if (receipts.some((receipt) => receipt !== undefined)) return { kind: "overtaken", receipts };
    // A transaction that nobody mines is not waited for without end.
    if (from === "blocks" || (from === "mempool" && this.#isWorthWaiting(delivery))) {
      return { kind: "proofs_known", from };
    }
    if (this.hasOtherHandler(this.seenBlock.state.handler)) {
      const detail = "the host has another handler since the simulation";
      return { kind: "refused", refusal: { code: "not_ready", detail } };
    }
    if (contested.length > 0) {
      const detail = "a delivery of it is pending in the mempool";
      return { kind: "refused", refusal: { code: "duplicate", detail, messages: contested } };
    }
    if (this.account !== undefined && this.node.unfunded.has(this.account)) {
      return { kind: "refused", refusal: { code: "insufficient_funds", detail: "insufficient funds" } };
    }
    if (input.maxGasPriceWei !== undefined && this.node.priceWei > input.maxGasPriceWei) {
      return { kind: "refused", refusal: { code: "too_expensive", detail: "gas costs too much" } };
    }
    return { kind: "signed", submission: this.signed(delivery, input.simulation, input) };
  }

  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    return this.call("broadcast", signal, () => {
      if (toHash256(keccak256(submission.raw)) !== submission.hash) {
        throw new Error("These are not the bytes that were signed");
      }
      const { length } = submission.raw;
      const { maxTransactionBytes: limit } = this.node;
      if (length > limit) {
        const detail = `oversized data: transaction size ${length}, limit ${limit}`;
        return { kind: "refused", refusal: { code: "too_large", detail } };
      }
      return this.node.submit(submission.hash);
    });
  }

  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return this.call("fetchOutcome", signal, () => this.node.outcomeOf(submission.hash));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  protected signed(
    delivery: Delivery,
    simulation: Pick<AcceptedSimulation, "gasLimit">,
    { nonceAtLeast = 0n, heldNonces }: Pick<SigningInput, "nonceAtLeast" | "heldNonces">,
    call: Pick<MemoryTransaction, "answer" | "call"> = {},
  ): SignedSubmission {
    const { account } = this;
    // What an endpoint counts that is behind is compared with another one.
    const known = this.node.nonceOf(account);
    let nonce = account === undefined
      ? undefined
      : heldNonces === undefined && nonceAtLeast > known
      ? nonceAtLeast
      : known;
    while (nonce !== undefined && heldNonces?.includes(nonce) === true) nonce++;
    const priceWei = this.node.priceWei;
    const commitments = collectMessages(delivery).map(({ commitment }) => commitment);
    const named = [this.id.stateMachine, toHex(this.relayer), nonce, priceWei, this.clock.now()];
    const proofs = delivery.steps.flatMap((step) => step.kind === "consensus" ? [step.proof] : []);
    const text = new TextEncoder().encode([...named, this.#signatures++, ...commitments].join());
    // Messages have a size only where somebody asks for it.
    const messageBytes = Number.isFinite(this.node.maxTransactionBytes) ? 1_000 * commitments.length : 0;
    const raw = concatBytes(text, ...proofs, new Uint8Array(messageBytes));
    const hash = toHash256(keccak256(raw));
    const handler = account === undefined ? undefined : this.handler;
    this.node.register({ hash, delivery, relayer: this.relayer, account, nonce, priceWei, handler, ...call });
    return {
      hash,
      chain: this.id.stateMachine,
      raw,
      account,
      nonce,
      gasPriceWei: account === undefined ? undefined : priceWei,
      gasLimit: account === undefined ? undefined : simulation.gasLimit,
      madeAtHeight: this.node.head.height,
    };
  }
}
