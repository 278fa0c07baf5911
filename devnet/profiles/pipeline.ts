/**
 * The behaviours of a profile in a row: a request goes through them to the node and its answer back. No network, no
 * clock. Start reading at {@link Pipeline.answer}.
 */
import { RefusedRequest, refuseRequest, type Reply } from "./refusal.ts";
import type { Answer, Ask, RequestStage, RpcBehaviour, Stage } from "./rpc_behaviour.ts";
import { readCalls, writeAnswers } from "./wire.ts";

/** The behaviours of one node at work, with what they remember. */
export class Pipeline {
  readonly #stages: readonly Stage[];
  readonly #strikes = new Map<RpcBehaviour["kind"], number>();

  constructor(behaviours: readonly RpcBehaviour[]) {
    this.#stages = behaviours.map(({ kind, start }) => {
      this.#strikes.set(kind, 0);
      return start(() => this.strike(kind));
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
    { ask, nowMs }: { readonly ask: Ask; readonly nowMs: number },
  ): Promise<Reply> {
    const { calls, isBatch } = readCalls(text);
    try {
      const begun: RequestStage[] = [];
      for (const stage of this.#stages) {
        begun.push(await stage({ calls, isBatch, bytes: text.length, ask, nowMs }));
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
}
