/** Finds the outcomes of transactions that were sent, also before a restart. */
import { dropOldest } from "../../runtime/slices.ts";
import { getAbiItem, parseTransaction, toFunctionSelector } from "viem";
import { fromHex, type Hash256, type Hex, holdsBytes, toHex } from "../../encoding/bytes.ts";
import { toAddress } from "../../evm/address.ts";
import { decodeHandlerCall, type HandlerCall, HandlerCallError } from "../../evm/handler_calls.ts";
import { handlerV2Abi } from "../../evm/host_abi.ts";
import { decodeHostLogs } from "../../evm/host_events.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Outcomes, Refusal, SignedSubmission, SubmissionOutcome } from "../submission.ts";
import { fetchMinedDataCost } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import type { TransactionPlace } from "./queries.ts";
import { accountNonce, callResult, transactionPlace, transactionReceipt } from "./queries.ts";
import { RpcBatch } from "./rpc_batch.ts";
import type { Receipt } from "./rpc_schemas.ts";
import { faultToRefusal } from "./refusals.ts";
import { addFinalHeight } from "./reads.ts";

/** Age of the first sign that a nonce was used by another transaction at which one endpoint suffices, ms. */
const REPLACED_AFTER_MS = 15_000;
/** Timeout per endpoint; a slower one is ignored. */
const WITNESS_TIMEOUT_MS = 10_000;

/**
 * Time for which a node is believed that a transaction is in its mempool, ms: behind one URL may be one that has it in a
 * block.
 */
const MEMPOOL_BELIEVED_MS = 20_000;

/** Maximum number of transactions about which something is remembered. */
const MAX_REMEMBERED = 256;

/** Search for our transactions. */
export class EvmOutcomes implements Outcomes {
  readonly #context: EvmContext;
  /** Transactions seen in a block that is not final yet: whether they are pending need not be asked. */
  readonly #mined = new Set<Hash256>();
  /** Transactions that wait for their block, with the time of the last whole look, or of the first one. */
  readonly #lookedAtMs = new Map<Hash256, number>();

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /**
   * Fetches the outcome of a submission. While it waits for its block, one call; then its receipt. More requests when
   * it reverted, seems to be replaced, or is not in its block any more.
   */
  async fetchOutcome(
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<SubmissionOutcome> {
    const { account, nonce, hash } = submission;
    if (account === undefined || nonce === undefined) {
      throw new Error("A submission without account or nonce");
    }
    const again = this.#mined.has(hash) ? await this.#fetchMined(submission, signal) : undefined;
    if (again !== undefined) return again;
    const asked = this.#noteLook(hash) ? undefined : { place: await this.#fetchPlace(hash, signal) };
    if (asked?.place === "mempool") return { kind: "pending" };
    if (asked?.place === "block") {
      // Receipts may come a little later than their block.
      return await this.#fetchMined(submission, signal) ?? { kind: "pending" };
    }
    const batch = new RpcBatch(this.#context.at.endpoints);
    const used = batch.add(accountNonce(toAddress(account)));
    const place = asked === undefined ? batch.add(transactionPlace(hash)) : () => asked.place;
    const receipt = batch.add(transactionReceipt(hash));
    const final = addFinalHeight(this.#context, batch);
    await batch.send({ signal });
    const found = receipt();
    if (found !== undefined) {
      this.#noteMined(hash);
      return await this.#included(submission, { found, final: final.height() }, signal);
    }
    if (place() !== undefined) return { kind: "pending" };
    if (used() <= nonce) return { kind: "unknown" };
    return await this.#afterNonceWasUsed(submission, signal);
  }

  #noteMined(hash: Hash256): void {
    this.#lookedAtMs.delete(hash);
    this.#mined.add(hash);
    dropOldest(this.#mined, MAX_REMEMBERED);
  }

  /** Asks where a transaction is, and nothing else. */
  async #fetchPlace(hash: Hash256, signal: AbortSignal): Promise<TransactionPlace> {
    const batch = new RpcBatch(this.#context.at.endpoints);
    const place = batch.add(transactionPlace(hash));
    await batch.send({ signal });
    return place();
  }

  /** Records a look at a transaction; true when it has to be a whole one. */
  #noteLook(hash: Hash256): boolean {
    const nowMs = this.#context.at.clock.now();
    const lastMs = this.#lookedAtMs.get(hash) ?? nowMs;
    const isWhole = Math.abs(nowMs - lastMs) >= MEMPOOL_BELIEVED_MS;
    this.#lookedAtMs.delete(hash);
    this.#lookedAtMs.set(hash, isWhole ? nowMs : lastMs);
    dropOldest(this.#lookedAtMs, MAX_REMEMBERED);
    return isWhole;
  }

  /** Outcome of a transaction that was in a block; `undefined` when it is in none any more. One request. */
  async #fetchMined(
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<SubmissionOutcome | undefined> {
    const batch = new RpcBatch(this.#context.at.endpoints);
    const receipt = batch.add(transactionReceipt(submission.hash));
    const final = addFinalHeight(this.#context, batch);
    await batch.send({ signal });
    const found = receipt();
    if (found === undefined) {
      this.#mined.delete(submission.hash);
      return undefined;
    }
    this.#noteMined(submission.hash);
    const outcome = await this.#included(submission, { found, final: final.height() }, signal);
    if (outcome.kind === "included" && outcome.isFinal) this.#mined.delete(submission.hash);
    return outcome;
  }

  /**
   * Handles a used nonce of an unknown transaction. The calls of a batch may fall on both sides of a new block, and
   * endpoints may lag, alone or behind one URL: all are queried again, and the transaction counts as replaced only when
   * two of them report it, or one does twice some time apart. Until then it may be in a block.
   */
  async #afterNonceWasUsed(
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<SubmissionOutcome> {
    const { hash } = submission;
    let witnesses = 0;
    for (const endpoint of this.#context.at.endpoints.each()) {
      const say = await this.#fetchOutcomeAt(endpoint, submission, signal);
      if (say === undefined) continue;
      if (say.kind !== "replaced") {
        this.#context.forgetReplaced(hash);
        return say;
      }
      witnesses++;
    }
    const isLasting = witnesses > 0 && this.#context.noteReplaced(hash) >= REPLACED_AFTER_MS;
    return witnesses >= 2 || isLasting ? { kind: "replaced" } : { kind: "pending" };
  }

  /** Outcome of a transaction at one endpoint; `undefined` when it does not answer, or has not seen the nonce used. */
  async #fetchOutcomeAt(
    endpoint: RpcEndpointSet,
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<SubmissionOutcome | undefined> {
    const { account, nonce, hash } = submission;
    if (account === undefined || nonce === undefined) {
      throw new Error("A submission without account or nonce");
    }
    const batch = new RpcBatch(endpoint);
    const used = batch.add(accountNonce(toAddress(account)));
    const receipt = batch.add(transactionReceipt(hash));
    const place = batch.add(transactionPlace(hash));
    const final = addFinalHeight(this.#context, batch);
    try {
      await batch.send({ signal, timeoutMs: WITNESS_TIMEOUT_MS });
    } catch (fault) {
      if (fault instanceof RpcFault) return undefined;
      throw fault;
    }
    const found = receipt();
    if (found !== undefined) {
      return await this.#included(submission, { found, final: final.height() }, signal);
    }
    if (place() !== undefined) return { kind: "pending" };
    return used() > nonce ? { kind: "replaced" } : undefined;
  }

  async #included(
    submission: SignedSubmission,
    facts: { readonly found: Receipt; readonly final: bigint },
    signal: AbortSignal,
  ): Promise<SubmissionOutcome> {
    const { found, final } = facts;
    const succeeded = found.status !== 0n;
    const logs = decodeHostLogs(found.logs, this.#context.at.host);
    return {
      kind: "included",
      block: { height: found.blockNumber, hash: found.blockHash },
      isFinal: found.blockNumber <= final,
      succeeded,
      handled: succeeded ? handledIn(logs) : [],
      advancedClient: carriesProofs(submission)
        ? logs.some(({ decoded }) => decoded.kind === "event" && CLIENT_ADVANCING.has(decoded.event.tag))
        : undefined,
      spent: {
        gasUsed: found.gasUsed,
        // Nodes older than London do not report it; then the offered price counts.
        gasPriceWei: found.effectiveGasPrice ?? submission.gasPriceWei ?? 0n,
        dataCostWei: await fetchMinedDataCost(this.#context, found, signal),
      },
      refusal: succeeded ? undefined : await this.#reasonOf(submission, found, signal),
    };
  }

  /** Reason of a revert, as far as calling it again on top of its block shows. */
  async #reasonOf(
    submission: SignedSubmission,
    found: Receipt,
    signal: AbortSignal,
  ): Promise<Refusal> {
    const { to, data, gas } = parseTransaction(toHex(submission.raw));
    const calldata = data ?? "0x";
    if (gas !== undefined && found.gasUsed * 64n >= gas * 63n) {
      return { code: "unspecified", detail: `ran out of gas (limit ${gas})` };
    }
    const batch = new RpcBatch(this.#context.at.endpoints);
    const call = {
      from: toAddress(submission.account ?? ""),
      to: toAddress(to ?? ""),
      data: calldata,
      gas,
    };
    const replayed = batch.addOptional(callResult(call, found.blockNumber));
    await batch.send({ signal });
    const result = replayed();
    if (!(result instanceof RpcFault)) {
      return { code: "unspecified", detail: "reverted, but not when called on top of its block" };
    }
    return faultToRefusal(result, stepsOf(calldata)) ??
      { code: "unspecified", detail: `reverted; the reason could not be read: ${result.code}` };
  }
}

function carriesProofs({ raw }: SignedSubmission): boolean {
  // Hardly any transaction has proofs: without the function's selector nothing has to be decoded.
  if (!holdsBytes(raw, PROOF_SELECTOR)) return false;
  const call = callOf(parseTransaction(toHex(raw)).data ?? "0x");
  const calls = call?.tag === "batchCall" ? call.value.calls : [call];
  return calls.some((one) => one?.tag === "handleConsensus");
}

const PROOF_SELECTOR = fromHex(
  toFunctionSelector(getAbiItem({ abi: handlerV2Abi, name: "handleConsensus" })),
);

/** Events of a host when hub proofs advanced its client. */
const CLIENT_ADVANCING: ReadonlySet<string> = new Set(["StateMachineUpdated", "NewEpoch"]);

function handledIn(
  logs: ReturnType<typeof decodeHostLogs>,
): Extract<SubmissionOutcome, { kind: "included" }>["handled"] {
  return logs.flatMap(({ decoded }) => {
    if (decoded.kind !== "event") return [];
    const { event } = decoded;
    if (event.tag !== "PostRequestHandled" && event.tag !== "GetRequestHandled") return [];
    return [{ commitment: event.value.commitment, relayer: fromHex(event.value.relayer) }];
  });
}

/** Number of steps of a delivery; 1 for other transactions, such as cancellations. */
function stepsOf(calldata: Hex): number {
  const call = callOf(calldata);
  return call?.tag === "batchCall" ? call.value.calls.length : 1;
}

/** Decodes the handler's call; `undefined`: the transaction is none, such as a cancellation. */
function callOf(calldata: Hex): HandlerCall | undefined {
  try {
    return decodeHandlerCall(calldata);
  } catch (error) {
    if (error instanceof HandlerCallError) return undefined;
    throw error;
  }
}
