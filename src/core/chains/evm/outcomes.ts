/** Finds the outcomes of transactions that were sent, also before a restart. */
import { parseTransaction } from "viem";
import { toHex } from "../../encoding/bytes.ts";
import { toAddress } from "../../evm/address.ts";
import { namesOfCalls } from "../../evm/handler_calls.ts";
import { decodeHostLog } from "../../evm/host_events.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Outcomes, Refusal, SignedSubmission, SubmissionOutcome } from "../submission.ts";
import { EvmPart } from "./evm_context.ts";
import { Sightings } from "../../runtime/refreshed.ts";
import { fetchMinedDataCost } from "./fees.ts";
import { accountNonce, blockAt, callResult, isTransactionKnown, transactionReceipt } from "./queries.ts";
import { addFinalHeight } from "./reads.ts";
import { faultToRefusal } from "./refusals.ts";
import { askWitnesses, callAll, callOne, orFault, RpcBatch, WITNESS_TIMEOUT_MS } from "./rpc_batch.ts";
import type { Receipt } from "./rpc_schemas.ts";

/**
 * Time for which all endpoints asked have seen the nonce used and nothing of the transaction before another one counts
 * as its user, ms: some show a block's transactions a minute late.
 */
const REPLACED_AFTER_MS = 90_000;
/** Time after which one endpoint's word counts against another's, ms: that one may be behind, or on a branch, for good. */
const DISPUTED_AFTER_MS = 30 * 60_000;

type Included = Extract<SubmissionOutcome, { kind: "included" }>;

/** Search for our transactions. */
export class EvmOutcomes extends EvmPart implements Outcomes {
  readonly #doubts = new Sightings(this.context.at.clock);

  /**
   * Fetches the outcome of a submission: one request while it waits for its block, then one more to each of two
   * endpoints for that block. Where an endpoint has nothing of it, or says that it was reverted, others are asked before
   * that counts: a success at one of them outweighs it.
   */
  async fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    const { endpoints } = this.context.at;
    const first = await this.#look(endpoints, submission, signal);
    const isFound = hasSucceeded(first) || first.kind === "pending";
    const others = isFound || endpoints.hosts.length === 1
      ? []
      : await askWitnesses(endpoints.each(), (endpoint) => this.#look(endpoint, submission, signal));
    const outcomes = [first, ...others];
    const found = outcomes.find(hasSucceeded) ?? outcomes.find(({ kind }) => kind === "included") ??
      outcomes.find(({ kind }) => kind === "pending");
    if (found === undefined && outcomes.some(({ kind }) => kind === "replaced")) {
      const isAgreed = outcomes.every(({ kind }) => kind === "replaced");
      const afterMs = isAgreed ? REPLACED_AFTER_MS : DISPUTED_AFTER_MS;
      return { kind: this.#doubts.ageMs(submission.hash) >= afterMs ? "replaced" : "pending" };
    }
    this.#doubts.forget(submission.hash);
    return found ?? { kind: "unknown" };
  }

  /** Outcome of a transaction as these endpoints show it; `replaced`: its nonce is used, and they have nothing of it. */
  async #look(
    endpoints: RpcEndpointSet,
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<SubmissionOutcome> {
    const { account, nonce, hash } = submission;
    if (account === undefined || nonce === undefined) {
      throw new Error("A submission without account or nonce");
    }
    const [found, isKnown, used] = await callAll(
      endpoints,
      [transactionReceipt(hash), isTransactionKnown(hash), accountNonce(toAddress(account))],
      { signal, timeoutMs: WITNESS_TIMEOUT_MS },
    );
    const finality = found && await this.#judgeBlock(found, signal);
    if (found !== undefined && (finality === "open" || finality === "final")) {
      return await this.#included(submission, { found, isFinal: finality === "final" }, signal);
    }
    // Receipts may come a little later than their block, and blocks later than what is in them.
    if (finality === "unknown" || (found === undefined && isKnown)) return { kind: "pending" };
    return { kind: used > nonce ? "replaced" : "unknown" };
  }

  /**
   * Compares the block of a receipt with the chain, at two endpoints: `orphaned`: it has another block there; `unknown`:
   * none at all yet. One request to each.
   */
  async #judgeBlock(
    { blockNumber, blockHash }: Receipt,
    signal: AbortSignal,
  ): Promise<"orphaned" | "unknown" | "open" | "final"> {
    const blocks = await askWitnesses(this.context.at.endpoints.each(), async (endpoint) => {
      const batch = new RpcBatch(endpoint);
      const block = batch.add(blockAt(blockNumber));
      const final = addFinalHeight(this.context, batch);
      await batch.send({ signal, timeoutMs: WITNESS_TIMEOUT_MS });
      const found = block();
      return found && { isSame: found.hash === blockHash, isFinal: blockNumber <= final() };
    });
    if (blocks.length === 0) return "unknown";
    if (!blocks.some(({ isSame }) => isSame)) return "orphaned";
    const final = blocks.filter(({ isSame, isFinal }) => isSame && isFinal);
    if (final.length === 0) return "open";
    const isAgreed = final.length === blocks.length;
    return isAgreed || this.#doubts.ageMs(`end of ${blockHash}`) >= DISPUTED_AFTER_MS ? "final" : "open";
  }

  async #included(
    submission: SignedSubmission,
    { found, isFinal }: { readonly found: Receipt; readonly isFinal: boolean },
    signal: AbortSignal,
  ): Promise<Included> {
    const succeeded = found.status !== 0n;
    const events = found.logs.flatMap((log) => {
      const decoded = decodeHostLog(log, this.context.at.host);
      return decoded.kind === "event" ? [decoded.event] : [];
    });
    return {
      kind: "included",
      block: { height: found.blockNumber, hash: found.blockHash },
      isFinal,
      succeeded,
      handled: events.flatMap((event) =>
        succeeded && event.kind === "handled"
          ? [{ commitment: event.commitment, relayer: event.relayer }]
          : []
      ),
      advancedClient: carriesProofs(submission)
        ? events.some(({ kind }) => CLIENT_ADVANCING.has(kind))
        : undefined,
      spent: {
        gasUsed: found.gasUsed,
        // Nodes older than London do not report it; then the offered price counts.
        gasPriceWei: found.effectiveGasPrice ?? submission.gasPriceWei ?? 0n,
        dataCostWei: await fetchMinedDataCost(this.context, found, signal),
      },
      refusal: succeeded ? undefined : await this.#reasonOf(submission, found, signal),
    };
  }

  /** Reason of a revert, as far as calling it again on top of its block shows. */
  async #reasonOf(submission: SignedSubmission, found: Receipt, signal: AbortSignal): Promise<Refusal> {
    const { to, data, gas } = parseTransaction(toHex(submission.raw));
    const calldata = data ?? "0x";
    if (gas !== undefined && found.gasUsed * 64n >= gas * 63n) {
      return { code: "unspecified", detail: `ran out of gas (limit ${gas})` };
    }
    const from = toAddress(submission.account ?? "");
    const replay = callResult({ from, to: toAddress(to ?? ""), data: calldata, gas }, found.blockNumber);
    const result = await callOne(this.context.at.endpoints, orFault(replay), { signal });
    if (!(result instanceof RpcFault)) {
      return { code: "unspecified", detail: "reverted, but not when called on top of its block" };
    }
    return faultToRefusal(result, Math.max(1, namesOfCalls(calldata).length)) ??
      { code: "unspecified", detail: `reverted; the reason could not be read: ${result.code}` };
  }
}

function hasSucceeded(outcome: SubmissionOutcome): boolean {
  return outcome.kind === "included" && outcome.succeeded;
}

function carriesProofs({ raw }: SignedSubmission): boolean {
  return namesOfCalls(parseTransaction(toHex(raw)).data ?? "0x").includes("handleConsensus");
}

/** Events of a host when hub proofs advanced its client. */
const CLIENT_ADVANCING: ReadonlySet<string> = new Set(["updated", "newEpoch"]);
