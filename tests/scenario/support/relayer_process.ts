/**
 * The compiled `causeway` as a child process: its lines as they come, signals, exit codes.
 * Start reading at {@link startRelayer}.
 */
import { type EventCode, events } from "../../../src/core/telemetry/log.ts";
import { REPOSITORY } from "../../../devnet/programs/repository.ts";
import { DEADLINE_MS } from "../../../devnet/waiting.ts";

/** How to run it. */
export interface RelayerOptions {
  /** Text of the configuration file; it is written into the work folder. */
  readonly config: string;
  /** Folder for configuration and database; it stays when the process ends. */
  readonly folder: string;
  /** Default `relayer.db` in the folder. */
  readonly dbPath?: string;
  /** Default `debug`. */
  readonly logLevel?: "debug" | "info" | "warn" | "error";
  /** Default `json`. Lines of `human` have no level. */
  readonly logFormat?: "json" | "human";
  /** Arguments behind the options, e.g. `["accumulate-fees"]`. */
  readonly extraArguments?: readonly string[];
  /** Default `causeway`. */
  readonly program?: "causeway" | "causeway-consensus";
  /** Default the program in `build`. */
  readonly executable?: string;
  /** Environment beside what every process gets. Default none. */
  readonly env?: Readonly<Record<string, string>>;
  /** Told each line as it comes. */
  readonly onLine?: (line: RelayerLine) => void;
}

/** One line of output. */
export interface RelayerLine {
  readonly atMs: number;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  /** Fields of a JSON line; `undefined` for other text. */
  readonly record: Readonly<Record<string, unknown>> | undefined;
  /** Level of a JSON line in lower case. */
  readonly level: string | undefined;
}

/** What is looked for in lines: an event (in lines for people its text), a pattern of the line, or any rule. */
export type LineMatch = EventCode | RegExp | ((line: RelayerLine) => boolean);

/** Starts the program; returns at once. */
export async function startRelayer(options: RelayerOptions): Promise<RelayerProcess> {
  const configPath = `${options.folder}/causeway.toml`;
  await Deno.mkdir(options.folder, { recursive: true });
  await Deno.writeTextFile(configPath, options.config, { mode: 0o600 });
  return new RelayerProcess(options, configPath);
}

/** A running or ended program. */
export class RelayerProcess implements AsyncDisposable {
  readonly configPath: string;
  readonly dbPath: string;
  /** Resolves when the process is gone and its output was read to the end. */
  readonly ended: Promise<Deno.CommandStatus>;
  readonly #child: Deno.ChildProcess;
  readonly #lines: RelayerLine[] = [];
  readonly #onLine: ((line: RelayerLine) => void) | undefined;
  readonly #watchers = new Set<(line: RelayerLine) => void>();
  #endedAtMs: number | undefined;

  constructor(options: RelayerOptions, configPath: string) {
    this.configPath = configPath;
    this.dbPath = options.dbPath ?? `${options.folder}/relayer.db`;
    this.#onLine = options.onLine;
    const program = options.program ?? "causeway";
    this.#child = new Deno.Command(options.executable ?? `${REPOSITORY}/build/${program}`, {
      args: [
        `--config=${configPath}`,
        ...program === "causeway" ? [`--db=${this.dbPath}`] : [],
        `--log-format=${options.logFormat ?? "json"}`,
        `--log-level=${options.logLevel ?? "debug"}`,
        ...(options.extraArguments ?? []),
      ],
      cwd: options.folder,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...options.env },
      // Of its own process group: Ctrl-C on a terminal reaches only us, and we end it in order.
      detached: true,
    }).spawn();
    this.ended = this.#watch();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** False once the process is gone. */
  get isRunning(): boolean {
    return this.#endedAtMs === undefined;
  }

  /** When the process was gone, milliseconds since 1970; `undefined` while it runs. */
  get endedAtMs(): number | undefined {
    return this.#endedAtMs;
  }

  /** Everything printed so far. */
  get lines(): readonly RelayerLine[] {
    return this.#lines;
  }

  /** All text printed so far. */
  get text(): string {
    return this.#lines.map(({ text }) => text).join("\n");
  }

  /** Lines of level error (or fatal), and lines of stderr that are not of the log, e.g. an uncaught exception. */
  get errorLines(): readonly RelayerLine[] {
    return this.#lines.filter(({ level, stream, text }) =>
      level === "error" || level === "fatal" ||
      (level === undefined && stream === "stderr" && !isLogLine(text))
    );
  }

  /** The last lines, for messages. */
  tail(count = 20): string {
    return this.#lines.slice(-count).map(({ text }) => text).join("\n");
  }

  /**
   * The first line that fits, also among those printed before the call (from `since` on, an index of {@link lines}).
   * @throws {Error} with the last lines, after the deadline or when the process ends without it.
   */
  async waitForLine(
    match: LineMatch,
    { deadlineMs = DEADLINE_MS, since = 0 }: { readonly deadlineMs?: number; readonly since?: number } = {},
  ): Promise<RelayerLine> {
    const fits = asRule(match);
    const before = this.#lines.slice(since).find(fits);
    if (before !== undefined) return before;
    const found = Promise.withResolvers<RelayerLine>();
    const watcher = (line: RelayerLine): void => {
      if (fits(line)) found.resolve(line);
    };
    this.#watchers.add(watcher);
    const timer = setTimeout(() => found.reject(this.#fault(`${match} did not come`)), deadlineMs);
    void this.ended.then(() => found.reject(this.#fault(`it ended without ${match}`)));
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    }
  }

  /**
   * Waits for the end and gives the exit code (128 + number for a signal).
   * @throws {Error} after the deadline.
   */
  async exitCode(deadlineMs = DEADLINE_MS): Promise<number> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(this.#fault("it still runs")), deadlineMs);
    try {
      return (await Promise.race([this.ended, late.promise])).code;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asks it to end (SIGTERM) and gives the exit code. */
  async terminate(deadlineMs = DEADLINE_MS): Promise<number> {
    this.signal("SIGTERM");
    return await this.exitCode(deadlineMs);
  }

  /** Ends it at once (SIGKILL), as a crash does. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  /** Sends a signal; nothing happens when the process is gone. */
  signal(name: Deno.Signal): void {
    if (this.isRunning) this.#child.kill(name);
  }

  /** @throws {Error} when it printed an error that `allowed` does not cover. */
  assertNoErrors(allowed: readonly LineMatch[] = []): void {
    const rules = allowed.map(asRule);
    const found = this.errorLines.filter((line) => !rules.some((rule) => rule(line)));
    if (found.length === 0) return;
    const shown = found.slice(0, 10).map(({ text }) => text).join("\n");
    throw new Error(`The relayer printed ${found.length} error lines:\n${shown}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #watch(): Promise<Deno.CommandStatus> {
    const child = this.#child;
    const [status] = await Promise.all([
      child.status.then((status) => {
        this.#endedAtMs = Date.now();
        return status;
      }),
      this.#read(child.stdout, "stdout"),
      this.#read(child.stderr, "stderr"),
    ]);
    return status;
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>, name: RelayerLine["stream"]): Promise<void> {
    let rest = "";
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) this.#take(text, name);
    }
    if (rest !== "") this.#take(rest, name);
  }

  #take(text: string, stream: RelayerLine["stream"]): void {
    const record = readRecord(text);
    const level = typeof record?.level === "string" ? record.level.toLowerCase() : undefined;
    const line: RelayerLine = { atMs: Date.now(), stream, text, record, level };
    this.#lines.push(line);
    this.#onLine?.(line);
    for (const watcher of this.#watchers) watcher(line);
  }

  #fault(what: string): Error {
    return new Error(`The relayer: ${what}. Last lines:\n${this.tail()}`);
  }
}

/** Whether a line is what is looked for. */
export function asRule(match: LineMatch): (line: RelayerLine) => boolean {
  if (typeof match === "function") return match;
  if (typeof match === "string") {
    const { text: said } = events[match];
    return ({ record, text }) => record === undefined ? text.includes(said) : record.event === match;
  }
  return ({ text }) => match.test(text);
}

/** Whether a line for people is of the log, which begins with the time, and not of a command's own answer. */
export function isLogLine(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T/.test(text);
}

function readRecord(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value, ...loggedEvent(value) } : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/** The event with its code, as the program logs it. */
function loggedEvent({ event, code }: { readonly event?: unknown; readonly code?: unknown }): object {
  const logged = `${event}.${code}`;
  return logged in events ? { event: logged } : {};
}
