/** Shell lines as somebody would paste them: run to their end, or started and watched. */
import { DEADLINE_MS } from "../../../devnet/waiting.ts";

/** Where and with what they run. */
export interface BlockOptions {
  readonly cwd: string;
  /** Beside our own environment. */
  readonly env: Readonly<Record<string, string>>;
}

function command(text: string, { cwd, env }: BlockOptions): Deno.Command {
  return new Deno.Command("bash", {
    args: ["-euo", "pipefail", "-c", text],
    cwd,
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs the lines to their end; gives what they printed. @throws {Error} with that, when the status is not `code`. */
export async function runBlock(text: string, options: BlockOptions, code = 0): Promise<string> {
  const output = await command(text, options).output();
  const said = new TextDecoder().decode(output.stdout) + new TextDecoder().decode(output.stderr);
  if (output.code !== code) throw new Error(`Status ${output.code} instead of ${code}:\n${text}\n\n${said}`);
  return said;
}

/** Starts the lines, the last of which runs until it is stopped. */
export function startBlock(text: string, options: BlockOptions): RunningBlock {
  return new RunningBlock(command(text, options).spawn());
}

/** Lines that run. */
export class RunningBlock implements AsyncDisposable {
  /** All that was printed so far. */
  text = "";
  readonly #child: Deno.ChildProcess;
  readonly #ended: Promise<number>;
  readonly #watchers = new Set<() => void>();

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#ended = Promise.all([child.status, this.#read(child.stdout), this.#read(child.stderr)])
      .then(([{ code }]) => code);
  }

  /** Waits until `pattern` was printed `count` times. @throws {Error} after `deadlineMs`, or when the lines end before. */
  async waitFor(pattern: RegExp, { count = 1, deadlineMs = DEADLINE_MS } = {}): Promise<void> {
    const all = new RegExp(pattern, "g");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if ([...this.text.matchAll(all)].length >= count) resolve();
    };
    const fail = (why: string) => (): void =>
      reject(new Error(`${pattern} not printed: ${why}\n${this.text}`));
    const timer = setTimeout(fail(`${deadlineMs} ms are over`), deadlineMs);
    this.#watchers.add(look);
    void this.#ended.then(look).then(fail("it ended"));
    look();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(look);
    }
  }

  /** Sends SIGTERM, to what the shell became for its last line, and gives the status. */
  async terminate(): Promise<number> {
    this.#child.kill("SIGTERM");
    return await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended
    }
    await this.#ended;
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      this.text += part;
      for (const look of this.#watchers) look();
    }
  }
}
