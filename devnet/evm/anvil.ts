/**
 * A real EVM node for the devnet and the tests: the anvil executable from npm, on a free port of 127.0.0.1.
 * Start reading at {@link startAnvil}.
 */
import { DEADLINE_MS } from "../waiting.ts";

/** What can be chosen about a node; everything else is anvil's default. */
export interface AnvilOptions {
  readonly chainId: number;
  /** Seconds between blocks. Unset: a block per transaction, at once. */
  readonly blockTimeSec?: number;
  /** 1 makes `finalized` two blocks behind the head, the default 32 makes it 64. */
  readonly slotsInAnEpoch?: number;
  /** Unix time of the genesis block. Unset: now. */
  readonly genesisTimestampSec?: number;
  /** One to use where it is free. Unset: any. */
  readonly port?: number;
  /** Further command line arguments. */
  readonly extraArguments?: readonly string[];
}

/** The node ended before it was ready; the message holds what it printed. */
export class AnvilFault extends Error {
  override readonly name = "AnvilFault";
}

/** Nodes to end when this process ends without having stopped them. */
const running = new Set<Deno.ChildProcess>();
let isWatchingExit = false;

/**
 * Starts a node and waits until it answers (about 50 ms).
 * The node keeps its state in memory only; it dies with this process.
 * @throws {AnvilFault} when it does not come up.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  try {
    return await startOnPort(options);
  } catch (error) {
    if (!(error instanceof AnvilFault)) throw error;
    return await startOnPort({ ...options, port: 0 });
  }
}

async function startOnPort(options: AnvilOptions): Promise<Anvil> {
  const child = new Deno.Command(executable(), {
    args: commandLine(options),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  return await superviseNode(child, options.chainId, {
    ready: child.stdout,
    errors: child.stderr,
    // Port 0 with this line is the only way without a moment in which another process can take the port.
    portPattern: /Listening on 127\.0\.0\.1:(\d+)\n/,
    makesBlocksItself: false,
  });
}

/** How it is seen that a node is ready. */
export interface NodeSigns {
  /** Where it says which port it listens on. */
  readonly ready: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Where it says what is wrong; absent: there, too. */
  readonly errors?: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The port is its first group. */
  readonly portPattern: RegExp;
  readonly makesBlocksItself: boolean;
}

/** The node of a process, once that is ready. @throws {AnvilFault} when it ends before, or does not get there. */
export async function superviseNode(
  child: Deno.ChildProcess,
  chainId: number,
  { ready, errors: stderr, portPattern, makesBlocksItself }: NodeSigns,
): Promise<Anvil> {
  endWithProcess(child);
  const hangs = setTimeout(() => signal(child, "SIGKILL"), DEADLINE_MS);
  const errors = stderr === undefined ? Promise.resolve("") : new Response(stderr).text();
  const found = await listeningPort(ready, portPattern);
  clearTimeout(hangs);
  if (found.port === undefined) {
    running.delete(child);
    await child.status;
    throw new AnvilFault(
      `the node ended before it was ready: ${(await errors || found.printed).trim().slice(-2000)}`,
    );
  }
  return new Anvil(child, errors, chainId, found.port, makesBlocksItself);
}

/** A running node. */
export class Anvil implements AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly rpcUrl: string;
  /** `ws://127.0.0.1:<port>`. */
  readonly wsUrl: string;
  readonly #child: Deno.ChildProcess;
  readonly #errors: Promise<string>;
  #isStopped = false;

  /** @param makesBlocksItself blocks come by the clock alone, and none of anvil's own methods are there. */
  constructor(
    child: Deno.ChildProcess,
    errors: Promise<string>,
    readonly chainId: number,
    readonly port: number,
    readonly makesBlocksItself: boolean,
  ) {
    this.#child = child;
    this.#errors = errors;
    this.rpcUrl = `http://127.0.0.1:${port}`;
    this.wsUrl = `ws://127.0.0.1:${port}`;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves when the process is gone. */
  get ended(): Promise<Deno.CommandStatus> {
    return this.#child.status;
  }

  /** Freezes the process, as a hanging endpoint would be; {@link resume} undoes it. */
  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** Ends the node and waits until it is gone. Safe to call twice. */
  async stop(): Promise<void> {
    if (!this.#isStopped) {
      this.#isStopped = true;
      // A paused process takes notice of SIGTERM only after it is resumed.
      signal(this.#child, "SIGTERM");
      signal(this.#child, "SIGCONT");
    }
    await this.#child.status;
    await this.#errors;
    running.delete(this.#child);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function executable(): string {
  const path = new URL("./bin/anvil", import.meta.resolve("anvil/package.json"));
  return decodeURIComponent(path.pathname);
}

function commandLine(options: AnvilOptions): string[] {
  const line = ["--host", "127.0.0.1", "--port", `${options.port ?? 0}`, "--chain-id", `${options.chainId}`];
  if (options.blockTimeSec !== undefined) line.push("--block-time", `${options.blockTimeSec}`);
  if (options.slotsInAnEpoch !== undefined) line.push("--slots-in-an-epoch", `${options.slotsInAnEpoch}`);
  if (options.genesisTimestampSec !== undefined) line.push("--timestamp", `${options.genesisTimestampSec}`);
  return [...line, ...(options.extraArguments ?? [])];
}

/** Reads up to the line that names the port, then continues reading in the background so that the pipe never fills. */
async function listeningPort(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  pattern: RegExp,
): Promise<{ readonly port: number | undefined; readonly printed: string }> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    printed += next.value;
    const match = pattern.exec(printed);
    if (match !== null) {
      void drain(reader);
      return { port: Number(match[1]), printed };
    }
  }
  return { port: undefined, printed };
}

async function drain(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await reader.read()).done);
}

function endWithProcess(child: Deno.ChildProcess): void {
  running.add(child);
  if (isWatchingExit) return;
  isWatchingExit = true;
  globalThis.addEventListener("unload", () => {
    for (const each of running) signal(each, "SIGKILL");
  });
}

function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch (error) {
    // Already gone.
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}
