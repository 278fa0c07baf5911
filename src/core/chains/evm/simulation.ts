/**
 * Simulates a delivery. There are three methods, and the first that the endpoints support is used: a trace, which
 * shows everything; `eth_simulateV1`, which shows what is handled; a plain call, which shows refusals only. Source:
 * docs/protocol/evm-host.md sections 1 (traps 1 and 2) and 9. Start reading at {@link EvmSimulator}; one method is run in
 * `simulation_method.ts`.
 */
import { RpcFault } from "../../rpc/call.ts";
import { Limit } from "../../runtime/limit.ts";
import {
  type AcceptedSimulation,
  collectMessages,
  type Delivery,
  type Refusal,
  type Simulation,
  type Simulator,
} from "../submission.ts";
import { encodeDelivery } from "./calldata.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";
import { Sightings } from "../../runtime/refreshed.ts";
import { addCallCosts, type Costs } from "./fees.ts";
import {
  chainGasLimit,
  gasLimitFor,
  type GasPrice,
  gasPriceFor,
  highestPriceWei,
  lowest,
  untracedGasLimit,
} from "./gas.ts";
import { attributeGas } from "./message_gas.ts";
import { callResult, gasEstimate, type SimulatedCall } from "./queries.ts";
import { revertToRefusal } from "./refusals.ts";
import { RpcBatch } from "./rpc_batch.ts";
import type { DeliveryCall } from "./signing_facts.ts";
import {
  handledBy,
  type MethodResult,
  type Outcome,
  refusedBy,
  type SimulationInput,
  SimulationRuns,
} from "./simulation_method.ts";

/**
 * Pauses before a delivery is simulated again where a node does not know the height of its proof, ms: of several nodes
 * behind one URL the next one may know it, and one that is a block behind will soon.
 */
const BEHIND_PAUSES_MS: readonly number[] = [100, 300, 600, 1_000];

/** Time for which a plain call is not made while an endpoint that may trace does not answer, ms. */
const BLIND_PATIENCE_MS = 5 * 60_000;

/** Simulation of deliveries. */
export class EvmSimulator extends EvmPart implements Simulator {
  readonly #traces: Limit;
  readonly #runs: SimulationRuns;
  /** Times in which no endpoint shows a delivery while one that may does not answer. */
  readonly #blind = new Sightings(this.context.at.clock);

  /** @param tracesAtOnce maximum number of concurrent simulations */
  constructor(context: EvmContext, tracesAtOnce: number) {
    super(context);
    this.#traces = new Limit(tracesAtOnce);
    this.#runs = new SimulationRuns(context);
  }

  /**
   * Simulates again if governance has replaced the handler since the host's parameters were read, and while the endpoints
   * do not know the height of the proof, which the caller has read from the chain. Consensus proofs in front bring it.
   */
  async simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const { hostParams, at: { clock } } = this.context;
    const once = (): Promise<Simulation> =>
      this.#traces.run(() => this.#simulateOnce(delivery, signal), signal);
    const [step, second] = delivery.steps;
    const mayWait = step?.kind === "messages" && second === undefined;
    for (const pauseMs of mayWait ? BEHIND_PAUSES_MS : []) {
      const simulation = await hostParams.simulate(once, signal);
      if (simulation.kind === "accepted" || simulation.refusal.code !== "not_ready") return simulation;
      await clock.sleep(pauseMs, signal);
    }
    return await hostParams.simulate(once, signal);
  }

  /**
   * Simulates a delivery on top of the newest block, with exactly the gas limit and the price that the transaction will
   * have, so that no contract can distinguish them. Two requests (with cached host parameters), each of which also reads
   * the costs: the first one, with all the gas that there is, finds out the limit. One more for each method that turns
   * out to be missing, every ten minutes, and a few over two seconds where a node does not know the proof's height.
   */
  async #simulateOnce(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const { hostParams, at } = this.context;
    const { handler } = await hostParams.read(signal);
    const data = encodeDelivery(delivery, at.host);
    const call = { from: at.sender, to: handler, data, ...await this.context.traceOptions(signal) };
    const messages = collectMessages(delivery);
    const input = { delivery, messages, call, isFirst: true };
    const traced = await this.#simulateBy({ ...input, method: "tracing" }, signal);
    if (traced.kind !== "missing") return traced;
    const ran = await this.#simulateBy({ ...input, method: "simulating" }, signal);
    if (ran.kind !== "missing") return ran;
    if (messages.length > 0) this.#refuseToGuess(traced.isSilent === true || ran.isSilent === true);
    return await this.#simulateCalled(input, signal);
  }

  /** @throws {RpcFault} while an endpoint that may show what is delivered does not answer; for a few minutes at most */
  #refuseToGuess(isSilent: boolean): void {
    if (!isSilent) this.#blind.forget("all");
    else if (this.#blind.ageMs("all") < BLIND_PATIENCE_MS) {
      throw this.context.fault("lagging", "debug_traceCall", "the endpoints that may trace do not answer");
    }
  }

  /** Simulates by one method. */
  async #simulateBy(input: SimulationInput, signal: AbortSignal): Promise<Simulation | Missing> {
    const first = await this.#runs.runMethod(input, signal);
    if (first.kind !== "shown") return first;
    this.#blind.forget("all");
    const { costs, layer1Gas } = first;
    const wideGas = first.outcome.gasUsed + layer1Gas;
    const refusal = refusalOf(this.context, input, { ...first.outcome, gasUsed: wideGas });
    if (refusal !== undefined) return { kind: "refused", refusal };
    const gasLimit = lowest(gasLimitFor(wideGas), input.call.gas);
    const wide = accept(input, first.outcome, { gasUsed: wideGas, gasLimit, costs });
    // Without receiving modules nothing can behave differently; if some fail, the caller tries without them.
    if (input.messages.length === 0 || !wide.handled.every((handled) => handled)) return wide;
    const terms = exactTerms(this.context, first, gasLimit);
    const exactInput = { ...input, call: { ...input.call, ...terms }, isFirst: false };
    const exact = await this.#runs.runMethod(exactInput, signal);
    if (exact.kind !== "shown") return exact;
    const { outcome } = exact;
    if (outcome.revertData !== undefined) {
      return { kind: "refused", refusal: revertToRefusal(outcome.revertData, input.delivery.steps.length) };
    }
    // Only a trace shows what each message uses: without one, all the gas that may be paid for counts.
    const gasUsed = input.method === "tracing" ? outcome.gasUsed + layer1Gas : gasLimit;
    return accept(input, outcome, { gasUsed, gasLimit, costs });
  }

  /**
   * Simulates by a plain call: every message of a call that does not revert counts as handled, which may be wrong. A
   * module may use all the gas that it is given, so all of it counts as used.
   */
  async #simulateCalled(input: DeliveryCall, signal: AbortSignal): Promise<Simulation> {
    const { delivery, messages, call } = input;
    const batch = new RpcBatch(this.context.at.endpoints);
    const called = batch.addOptional(callResult(call));
    const estimated = batch.addOptional(gasEstimate(call));
    const read = addCallCosts(this.context, batch, call);
    await batch.send({ signal });
    const [result, estimate] = [called(), estimated()];
    if (result instanceof RpcFault) {
      const { refusal } = refusedBy(result, delivery);
      // A trace would tell whose fault it is.
      const code = refusal.code === "unspecified" ? "untraceable" : refusal.code;
      return { kind: "refused", refusal: { ...refusal, code } };
    }
    const known = estimate instanceof RpcFault ? undefined : estimate;
    const gasLimit = untracedGasLimit(call.gas, messages.length, known);
    const gasUsed = messages.length === 0 ? known ?? gasLimit : gasLimit;
    const costs = await this.context.prices.bound(read(), batch.host, signal);
    return accept(input, undefined, { gasUsed, gasLimit, costs });
  }
}

/** Gas and price of an accepted delivery. */
interface AcceptedTerms {
  readonly gasUsed: bigint;
  readonly gasLimit: bigint;
  readonly costs: Costs;
}

type Shown = Extract<MethodResult, { kind: "shown" }>;
type Missing = Extract<MethodResult, { kind: "missing" }>;

/** Gas and price of a transaction. */
type ExactTerms = Pick<SimulatedCall, "baseFeeWei" | "balanceWei"> & {
  readonly gas: bigint;
  readonly price: GasPrice;
};

/**
 * Gas and price of the transaction that would be signed now. The sender's balance is overridden only if it could not
 * pay for it.
 */
function exactTerms(
  { at: { gasPriceBufferPercent } }: EvmContext,
  { costs, balanceWei }: Pick<Shown, "costs" | "balanceWei">,
  gasLimit: bigint,
): ExactTerms {
  const price = gasPriceFor(costs, gasPriceBufferPercent);
  const neededWei = gasLimit * highestPriceWei(price);
  const missing = balanceWei < neededWei ? { balanceWei: neededWei } : {};
  return { gas: gasLimit, price, baseFeeWei: costs.baseFeeWei, ...missing };
}

/** Reason why the delivery as a whole fails; `undefined` when it does not. */
function refusalOf(
  context: EvmContext,
  { delivery, call: { gas: limit } }: SimulationInput,
  { revertData, gasUsed }: Pick<Outcome, "revertData" | "gasUsed">,
): Refusal | undefined {
  if (gasUsed >= limit || (revertData === "0x" && gasUsed * 64n >= limit * 63n)) {
    return limit === chainGasLimit(context.at.chainId)
      ? { code: "too_large", detail: `needs more than the ${limit} gas of a transaction of this chain` }
      : { code: "insufficient_funds", detail: `needs more than the ${limit} gas that the account can pay` };
  }
  return revertData === undefined ? undefined : revertToRefusal(revertData, delivery.steps.length);
}

/** What the host would take, at these terms. */
function accept(
  { delivery, messages }: DeliveryCall,
  outcome: Outcome | undefined,
  { gasUsed, gasLimit, costs }: AcceptedTerms,
): AcceptedSimulation {
  return {
    kind: "accepted",
    handled: messages.map((message) => outcome === undefined || handledBy(outcome, message)),
    gasUsed,
    gasLimit,
    messageGas: attributeGas(delivery, { gasUsed, steps: outcome?.steps }),
    gasPriceWei: costs.gasPriceWei,
    dataCostWei: costs.dataCostWei(gasUsed),
    ...outcome === undefined ? { isBlind: true } : {},
    maxDataCostWei: costs.dataCostWei(gasLimit),
  };
}
