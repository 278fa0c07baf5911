/** Sending by hand: lines such as `A B 5` on standard input, while a program of the devnet runs. */
/** Cuts text into lines (the stream of this name in @std/streams, which npm does not have). */
export class TextLineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform(chunk, controller): void {
        const lines = (rest + chunk).split(/\r?\n/);
        rest = lines.pop() ?? "";
        for (const line of lines) controller.enqueue(line);
      },
      flush(controller): void {
        if (rest !== "") controller.enqueue(rest);
      },
    });
  }
}

/** What a line asks for. */
interface SendLine {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

/** How such a line is written. */
export const SEND_LINE_HELP =
  "Send messages: type `A B 5` (from, to, how many) or `B hub`, and press Enter. Ctrl-C ends everything.";

/** Maximum of messages of one line. */
const MAX_AT_ONCE = 1000;

/** Reads a line; the text of the complaint if it is none. Empty lines ask for nothing. */
export function readSendLine(line: string, chains: readonly string[]): SendLine | string | undefined {
  const [from, to, count = "1", ...rest] = line.trim().split(/\s+/);
  if (from === undefined || from === "") return undefined;
  const isChain = (name: string | undefined): boolean =>
    name !== undefined && chains.includes(name.toUpperCase());
  const isTarget = isChain(to) || to?.toLowerCase() === "hub";
  const number = Number(count);
  if (!isChain(from) || !isTarget || to === undefined || rest.length > 0) {
    return `Not understood. ${SEND_LINE_HELP}`;
  }
  if (!Number.isInteger(number) || number < 1 || number > MAX_AT_ONCE) {
    return `How many: a number from 1 to ${MAX_AT_ONCE}`;
  }
  return {
    from: from.toUpperCase(),
    to: to.toLowerCase() === "hub" ? "hub" : to.toUpperCase(),
    count: number,
  };
}

/** Calls `onLine` for each line of standard input until it ends or `signal` is aborted. */
export async function followStandardInput(
  onLine: (line: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const lines = Deno.stdin.readable
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  const reader = lines.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  for (let next = await reader.read(); !next.done && !signal.aborted; next = await reader.read()) {
    await onLine(next.value);
  }
}
