/** One WebSocket of a client of a profiled node, with one of its own to the node behind the profile. */
import type { Pipeline } from "./pipeline.ts";
import type { Answer, Ask } from "./rpc_behaviour.ts";
import { readAnswers } from "./wire.ts";

/** Passes messages both ways through a pipeline. */
export class ProfiledSocket {
  /** Resolves when both sides are closed. */
  readonly ended: Promise<void>;
  readonly #client: WebSocket;
  readonly #node: WebSocket;
  readonly #opened: Promise<void>;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #lastId = 0;
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
    if (this.#client.readyState === WebSocket.OPEN) this.#client.send(body);
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
    for (const answer of readAnswers(text)) {
      const id = Number(answer.id);
      this.#pending.get(id)?.(answer);
      this.#pending.delete(id);
    }
  }
}
