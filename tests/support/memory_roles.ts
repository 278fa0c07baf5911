/** Chains in memory with what the pipeline asks beside `chain.ts`: fees, set ids, accepted proofs, answers. */
import type {
  AcceptedProof,
  HubCallRefusal,
  RelayerHubCall,
  SenderLimit,
  SenderLimits,
} from "../../src/core/chains/hub.ts";
import type { ConsensusClientKind, HostConsensusView } from "../../src/core/chains/hub_client.ts";
import { type ProvenBlock, UnprovableKeyError } from "../../src/core/chains/proofs.ts";
import type {
  Delivery,
  SignedSubmission,
  SigningInput,
  SigningResult,
  Simulation,
} from "../../src/core/chains/submission.ts";
import type { HostParamsReader } from "../../src/core/chains/evm/host_params.ts";
import { type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import { type StateMachine, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import type { ProofSource } from "../../src/messaging/relay/deliver/proof_follower.ts";
import type { AnswerTaker, FeeReader, RotationRewards, StateProver } from "../../src/messaging/relay/leg.ts";
import { sealOfKeys } from "./memory_answers.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { MemoryChain, type MemoryChainOptions } from "./memory_chain.ts";
import { encodeProof, padProof, signerOf } from "./memory_consensus.ts";
import type { MemoryNode } from "./memory_node.ts";
import { hostParamsWith, memoryHostParams } from "./memory_params.ts";
import { RecordedLog } from "./recorded_log.ts";

/** A chain beside the hub: fees of its requests, proofs of its state, and a client of the hub. */
export class MemoryEvm extends MemoryChain implements FeeReader, StateProver {
  /** Decimals of the fee token. */
  decimals = 18;
  /** What the host's router says; `undefined`: it has no pool. */
  routerPrice27: bigint | undefined = undefined;
  /** True when the handler has `batchCall`. */
  hasBatchCall = true;
  /** Keys whose value this chain cannot prove, lower-case hex. */
  readonly unprovable = new Set<Hex>();
  readonly #params: HostParamsReader;
  #handler: Address | undefined;

  constructor(node: MemoryNode, clock: Clock, options: MemoryChainOptions) {
    super(node, clock, options);
    const log = options.log ?? new RecordedLog();
    const ask = (signal: AbortSignal): Promise<Address> =>
      this.call("fetchHostParams", signal, () => this.seenBlock.state.handler);
    this.#params = memoryHostParams(this.id.stateMachine, { clock, log }, ask);
  }

  /** The one that its endpoint named last. */
  protected override get handler(): Address {
    return this.#handler ?? super.handler;
  }

  /** What signs asks the host once more. */
  protected override hasOtherHandler(): boolean {
    const params = hostParamsWith(this.seenBlock.state.handler);
    this.#handler = params.handler;
    return this.#params.note(params);
  }

  override simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const simulate = async (): Promise<Simulation> => {
      this.#handler = (await this.#params.read(signal)).handler;
      return await super.simulate(delivery, signal);
    };
    return this.#params.simulate(simulate, signal);
  }

  override async sign(
    delivery: Delivery,
    input: SigningInput,
    signal: AbortSignal,
  ): Promise<SigningResult> {
    this.#handler = (await this.#params.read(signal)).handler;
    return await super.sign(delivery, input, signal);
  }

  override fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly (bigint | undefined)[]> {
    return this.call("fetchFees", signal, () => {
      const { fees } = this.seen;
      return commitments.map((commitment) => fees.get(commitment));
    });
  }

  override fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return this.call("fetchFeeTokenDecimals", signal, () => this.decimals);
  }

  override fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined> {
    return this.call("fetchRouterPrice", signal, () => this.routerPrice27);
  }

  override proveState(
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

  override get hubClient(): this {
    return this;
  }

  /** Hosts in memory take proofs of any kind; the consensus relayer has doubles of its own. */
  fetchConsensusView(): Promise<HostConsensusView> {
    return Promise.reject(new Error("No consensus relayer runs here"));
  }

  fetchClientKind(): Promise<ConsensusClientKind> {
    return Promise.resolve("router");
  }

  fetchAuthoritySetId(signal: AbortSignal): Promise<bigint | undefined> {
    return this.call("fetchAuthoritySetId", signal, () => this.node.head.state.setId);
  }

  fetchHasBatchCall(signal: AbortSignal): Promise<boolean> {
    return this.call("fetchHasBatchCall", signal, () => this.hasBatchCall);
  }
}

/** The hub with the proofs that it accepted and the answers that it takes. */
export class MemoryHub extends MemoryChain
  implements ProofSource, AnswerTaker, RotationRewards, SenderLimits {
  /** False: its node refuses unsafe calls, so proofs cannot be fetched. */
  hasOffchainStore = true;
  /** Bytes of each proof; at least as many as what it says. */
  proofBytes = 0;
  /** Heights whose proofs this node has not kept. */
  readonly missingProofs = new Set<bigint>();
  /** Rewards of the hub's modules, hex as the hub writes it. */
  readonly offeredRewards = new Map<string, bigint>();

  get acceptedProofs(): this {
    return this;
  }

  get hubCalls(): this {
    return this;
  }

  get rewards(): this {
    return this;
  }

  get senderLimits(): this {
    return this;
  }

  fetchAcceptedProofs(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly AcceptedProof[]> {
    return this.call(
      "fetchAcceptedProofs",
      signal,
      () =>
        this.blockAt(to, "fetchAcceptedProofs").state.proofs.list
          .filter(({ atBlock }) => atBlock >= from && atBlock <= to)
          .toSorted((a, b) => Number(a.height - b.height)),
    );
  }

  fetchProofBytes(
    proof: Pick<AcceptedProof, "height" | "newSetId">,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    return this.call("fetchProofBytes", signal, () => {
      if (!this.hasOffchainStore) throw this.fault("missing_method", "fetchProofBytes");
      if (this.missingProofs.has(proof.height)) return undefined;
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

  fetchRotations(signal: AbortSignal): Promise<ReadonlyMap<bigint, bigint>> {
    return this.call("fetchRotations", signal, () => new Map(this.node.head.state.proofs.rotations));
  }

  /** What it offers for a rotation, units of its token. */
  rotationReward = 0n;

  fetchRotationReward(
    _chain: StateMachine,
    _setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    return this.call("fetchRotationReward", signal, () => ({
      amount: this.rotationReward,
      isClaimed: false,
    }));
  }

  fetchSenderLimits(
    _source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]> {
    return this.call("fetchSenderLimits", signal, () => {
      const { bandwidth } = this.node.head.state;
      return senders.map((sender): SenderLimit => {
        const remainingBytes = bandwidth.get(toHex(sender));
        return remainingBytes === undefined ? { kind: "free" } : { kind: "metered", remainingBytes };
      });
    });
  }

  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    return this.call("fetchRewardedModules", signal, () => new Map(this.offeredRewards));
  }

  dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    return this.call("dryRunCall", signal, () => {
      const refusal = this.node.tryAnswer(answerOf(call));
      return refusal === undefined ? undefined : { ...refusal, error: undefined };
    });
  }

  prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    return this.call("prepareCall", signal, () => {
      const hints = { nonceAtLeast: undefined };
      return this.signed({ steps: [] }, { gasLimit: 0n }, hints, { answer: answerOf(call) });
    });
  }
}

/** These chains answer GET requests; claims and withdrawals are in `memory_fees.ts`. */
function answerOf(call: RelayerHubCall): GetRequestsWithProof {
  if (call.kind !== "answerGets") throw new Error(`This hub takes no call of kind ${call.kind}`);
  return call.answer;
}
