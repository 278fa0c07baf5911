/** One control socket over several rounds of a program's work: between two rounds requests get a standing answer. */
import type { AnswerLine, ControlSocket } from "./control_socket.ts";
import { linkedAbort } from "./linked_abort.ts";

/** Answer while the chains are connected again. */
export const NOT_READY = JSON.stringify({
  ok: false,
  text: "The relayer has read its configuration again and is not ready yet: try again in a moment.",
});

/** A socket that can be served again and again; {@link SharedControlSocket.end} closes it. */
export class SharedControlSocket implements ControlSocket {
  readonly #socket: ControlSocket;
  readonly #between: AnswerLine;
  readonly #ended = new AbortController();
  #answer: AnswerLine;
  #serving: Promise<void> | undefined;

  /** @param between answer while nobody serves. */
  constructor(socket: ControlSocket, between: string) {
    this.#socket = socket;
    this.#between = () => Promise.resolve(between);
    this.#answer = this.#between;
  }

  async serve(answer: AnswerLine, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true })
    );
    this.#answer = (line, gone) => answerUntil(signal, answer, { line, gone });
    this.#serving ??= this.#socket.serve((line, gone) => this.#answer(line, gone), this.#ended.signal);
    await aborted;
    this.#answer = this.#between;
  }

  close(): void {
    this.#ended.abort();
    this.#socket.close();
  }

  /** Closes the socket; resolves when the last answer was given. */
  async end(): Promise<void> {
    this.close();
    await this.#serving;
  }
}

/** An answer whose work ends with the round. */
async function answerUntil(
  signal: AbortSignal,
  answer: AnswerLine,
  { line, gone }: { readonly line: string; readonly gone: AbortSignal },
): Promise<string> {
  const either = linkedAbort(gone, signal);
  try {
    return await answer(line, either.signal);
  } finally {
    either.unlink();
  }
}
