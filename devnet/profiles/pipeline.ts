/**
 * The behaviours of a profile in a row: a request goes through them to the node and its answer back. No network, no
 * clock. Start reading at {@link Pipeline.answer}.
 */
import { changedStage, loglessTracesStage, nullBlocksStage, oddHexStage } from "./answer_stages.ts";
import { lowestTipStage } from "./gas_stages.ts";
import { lateLogsStage, logRangeStage, logResultsStage, slowLogsStage } from "./log_stages.ts";
import { RefusedRequest, refuseRequest, type Reply } from "./refusal.ts";
import {
  batchStage,
  codeCallsStage,
  hiccupsStage,
  missingStage,
  quotaStage,
  rateStage,
  requestBytesStage,
  responseBytesStage,
} from "./request_stages.ts";
import type { Answer, Ask, RpcBehaviour } from "./rpc_behaviour.ts";
import type { RequestStage, Stage, Strike } from "./stage.ts";
import { fleetStage, standingStage, statesStage } from "./state_stages.ts";
import { readCalls, writeAnswers } from "./wire.ts";

/** The behaviours of one node at work, with what they remember. */
export class Pipeline {
  readonly #stages: readonly Stage[];
  readonly #strikes = new Map<RpcBehaviour["kind"], number>();

  constructor(behaviours: readonly RpcBehaviour[]) {
    this.#stages = behaviours.flatMap((behaviour) => {
      this.#strikes.set(behaviour.kind, 0);
      return this.#stageOf(behaviour, () => this.strike(behaviour.kind)) ?? [];
    });
  }

  /** How often each behaviour has changed what a client got. */
  get strikes(): ReadonlyMap<RpcBehaviour["kind"], number> {
    return this.#strikes;
  }

  /** Counts that a behaviour has struck. */
  strike(kind: RpcBehaviour["kind"]): void {
    this.#strikes.set(kind, (this.#strikes.get(kind) ?? 0) + 1);
  }

  /** Answers the text of a request; calls of a batch one after the other, as nodes do. */
  async answer(
    text: string,
    { transport, ask, nowMs }: {
      readonly transport: "http" | "socket";
      readonly ask: Ask;
      readonly nowMs: number;
    },
  ): Promise<Reply> {
    const { calls, isBatch } = readCalls(text);
    try {
      const begun: RequestStage[] = [];
      for (const stage of this.#stages) {
        begun.push(await stage({ transport, calls, isBatch, bytes: text.length, ask, nowMs }));
      }
      const answerOne = begun.reduceRight<Ask>(
        (next, { answer }) => answer === undefined ? next : (call) => answer(call, next),
        ask,
      );
      const answers: Answer[] = [];
      for (const call of calls) answers.push(await answerOne(call));
      const body = writeAnswers(answers, isBatch);
      for (const { close } of begun) close?.(body);
      return { status: 200, headers: { "content-type": "application/json" }, body };
    } catch (refused) {
      if (!(refused instanceof RefusedRequest)) throw refused;
      return refuseRequest(refused, calls, isBatch);
    }
  }

  #stageOf(behaviour: RpcBehaviour, strike: Strike): Stage | undefined {
    switch (behaviour.kind) {
      case "logRange":
        return logRangeStage(behaviour, strike);
      case "logResults":
        return logResultsStage(behaviour, strike);
      case "slowLogs":
        return slowLogsStage(behaviour, strike);
      case "lateLogs":
        return lateLogsStage(behaviour, strike);
      case "missing":
        return missingStage(behaviour, strike);
      case "codeCalls":
        return codeCallsStage(behaviour, strike);
      case "loglessTraces":
        return loglessTracesStage(strike);
      case "states":
      case "proofs":
        return statesStage(behaviour, strike);
      case "fleet":
        return fleetStage(behaviour, strike);
      case "standing":
        return standingStage(strike);
      case "changed":
        return changedStage(behaviour, strike);
      case "requestBytes":
        return requestBytesStage(behaviour, strike);
      case "responseBytes":
        return responseBytesStage(behaviour, strike);
      case "batch":
        return batchStage(behaviour, strike);
      case "rate":
        return rateStage(behaviour, strike);
      case "quota":
        return quotaStage(behaviour, strike);
      case "lowestTip":
        return lowestTipStage(behaviour, strike);
      case "hiccups":
        return hiccupsStage(behaviour, strike);
      case "nullBlocks":
        return nullBlocksStage(behaviour, strike);
      case "oddHex":
        return oddHexStage(behaviour, strike);
      case "cutSockets":
        // A matter of connections, see the proxy.
        return undefined;
    }
  }
}
