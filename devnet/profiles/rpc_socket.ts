/** One WebSocket of a client of a profiled node, with one of its own to the node behind the profile. */
import type { Pipeline } from "./pipeline.ts";
import type { Answer, Ask } from "./rpc_behaviour.ts";
import { readAnswers } from "./wire.ts";

/** Passes messages both ways through a pipeline; notices of subscriptions pass as they are. */
export class ProfiledSocket {
  /** Resolves when both sides are closed. */
  readonly ended: Promise<void>;
  readonly #client: WebSocket;
  readonly #node: WebSocket;
  readonly #opened: Promise<void>;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #lastId = 0;
  /** Subscriptions whose ids the client has; notices for others wait until it has. */
  readonly #known = new Set<string>();
  #waiting: { readonly subscription: string; readonly text: string }[] = [];
  readonly #end: () => void;

  constructor(client: WebSocket, nodeUrl: string, pipeline: Pipeline) {
    this.#client = client;
    this.#node = new WebSocket(nodeUrl);
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    const opened = Promise.withResolvers<void>();
    this.#opened = opened.promise;
    this.#node.onopen = (): void => opened.resolve();
    this.#node.onmessage = ({ data }): void => this.#takeFromNode(String(data));
    this.#node.onclose = (): void => this.cut();
    this.#node.onerror = (): void => this.cut();
    client.onmessage = ({ data }): void => void this.#takeFromClient(String(data), pipeline);
    client.onclose = (): void => this.cut();
    client.onerror = (): void => this.cut();
  }

  /** Closes both sides. */
  cut(): void {
    for (const socket of [this.#client, this.#node]) {
      if (socket.readyState === WebSocket.OPEN) socket.close();
    }
    this.#end();
  }

  async #takeFromClient(text: string, pipeline: Pipeline): Promise<void> {
    await this.#opened;
    const { body } = await pipeline.answer(text, {
      transport: "socket",
      ask: this.#ask,
      nowMs: performance.now(),
    });
    this.#send(body);
    for (const { result } of readAnswers(body) ?? []) {
      if (typeof result === "string" || typeof result === "number") this.#known.add(String(result));
    }
    const now = this.#waiting.filter(({ subscription }) => this.#known.has(subscription));
    this.#waiting = this.#waiting.filter(({ subscription }) => !this.#known.has(subscription));
    for (const { text: notice } of now) this.#send(notice);
  }

  readonly #ask: Ask = ({ id, method, params }) => {
    const ownId = ++this.#lastId;
    const answered = Promise.withResolvers<Answer>();
    this.#pending.set(ownId, (answer) => answered.resolve({ ...answer, id }));
    if (this.#node.readyState === WebSocket.OPEN) {
      this.#node.send(JSON.stringify({ jsonrpc: "2.0", id: ownId, method, params }));
    }
    return answered.promise;
  };

  #takeFromNode(text: string): void {
    const answers = readAnswers(text);
    if (answers === undefined) return this.#takeNotice(text);
    for (const answer of answers) {
      const id = Number(answer.id);
      this.#pending.get(id)?.(answer);
      this.#pending.delete(id);
    }
  }

  #takeNotice(text: string): void {
    const { params }: { params?: { subscription?: unknown } } = JSON.parse(text);
    const subscription = String(params?.subscription);
    if (this.#known.has(subscription)) this.#send(text);
    else this.#waiting.push({ subscription, text });
  }

  #send(text: string): void {
    if (this.#client.readyState === WebSocket.OPEN) this.#client.send(text);
  }
}
