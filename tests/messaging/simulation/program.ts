/** The whole relayer as a process: started on a database file, stopped, killed at any step, and started again. */
import assert from "node:assert/strict";
import type { RelayerHubCall } from "../../../src/core/chains/hub.ts";
import type { SignedSubmission } from "../../../src/core/chains/submission.ts";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import type { Ledger } from "../../../src/messaging/ledger/ledger.ts";
import { LedgerFault } from "../../../src/messaging/ledger/fault.ts";
import { openLedger } from "../../../src/messaging/ledger/open.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import type { ExitCode } from "../../../src/core/runtime/exit_codes.ts";
import { relay } from "../../../src/messaging/run.ts";
import { withLedger } from "../../../src/messaging/session.ts";
import type { Connections } from "../../../src/messaging/session.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import type { Process } from "./chains.ts";
import type { Trouble } from "./plan.ts";

/** Longest time between being asked to end and the end, ms. */
const MAX_END_MS = 1_000;

/** The process was killed: nothing of it happens any more. */
class Killed extends Error {
  override readonly name = "Killed";
}

/** Longest time between being told a fee and claiming it, ms: proofs and dry runs on a bad day. */
const MAX_CLAIM_MS = 120_000;

/** When a process ends by itself, and how. */
type Fuse = Partial<Pick<Extract<Trouble, { readonly kind: "fuse" }>, "steps" | "isGentle" | "lostSteps">>;

/** What a process is started with. */
export interface ProgramOptions {
  /** The chains' clock, by which the checks count. */
  readonly clock: Clock;
  /** The clock of the process, which may be wrong. */
  readonly machineClock: Clock;
  readonly path: string;
  readonly config: MessagingConfig;
  readonly seed: number;
  /** Steps until it dies, or until it is asked to end; `undefined`: it lives. */
  readonly fuse: Fuse | undefined;
  /** Called `lostSteps` of the fuse before the end. */
  readonly onReplica: () => void;
  readonly connect: (life: Process) => Connections;
  /** What is wrong with the disk now. */
  readonly diskFault: () => "full" | "readonly" | undefined;
}

/** One life of the relayer. */
export class Program implements Process {
  readonly log = new RecordedLog();
  /** Settles when the process is gone; the exit status, or `undefined` when it was killed. */
  readonly ended: Promise<ExitCode | undefined>;
  /** Violations that were seen while it ran. */
  readonly violations: string[] = [];
  /** Requests to EVM chains. */
  requests = 0;
  readonly #stop = new AbortController();
  readonly #options: ProgramOptions;
  readonly #reportedFees = new Map<Hash256, { readonly fee: bigint; readonly atMs: number }>();
  #fuse: number;
  #stoppedAtMs: number | undefined;
  #isDead = false;
  #hasEnded = false;
  #ledger: Ledger | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
    const { machineClock, config, seed, fuse } = options;
    this.#fuse = fuse?.steps ?? Infinity;
    const deps = {
      clock: machineClock,
      random: seededRandomness(seed),
      log: this.log,
      openLedger: () => this.#open(),
      connect: () => options.connect(this),
      fetch: () => Promise.reject(new Error("Nothing is fetched")),
    };
    const run = { deps, config, signal: this.#stop.signal };
    this.ended = withLedger(run, (ledger) => relay(run, ledger)).catch((error: unknown) => {
      if (this.#isDead) return undefined;
      throw error;
    }).finally(() => {
      this.#hasEnded = true;
      this.#noteEnd();
    });
  }

  /** True once the process is gone or going. */
  get isOver(): boolean {
    return this.#hasEnded || this.#isDead;
  }

  /** The database while the process has it open, for looking at it. */
  get ledger(): Ledger | undefined {
    return this.isOver ? undefined : this.#ledger;
  }

  /** Asks it to end, as SIGTERM does. */
  stop(): void {
    this.#stoppedAtMs ??= this.#options.clock.now();
    this.#stop.abort(new DOMException("Stopped", "AbortError"));
  }

  /** Ends it at once: what it does from now on has no effect. */
  kill(): void {
    this.#isDead = true;
    this.#stop.abort(new Killed("killed"));
  }

  step(): void {
    if (this.#isDead) throw new Killed("dead");
    const { fuse: { isGentle = false, lostSteps, steps = 0 } = {}, onReplica } = this.#options;
    if (lostSteps !== undefined && this.#fuse === Math.min(lostSteps, steps)) onReplica();
    if (--this.#fuse > 0) return;
    if (isGentle) {
      this.#fuse = Infinity;
      return this.stop();
    }
    this.kill();
    throw new Killed("killed");
  }

  /** @throws {LedgerFault} while nothing can be written */
  write(): void {
    const { diskFault, path } = this.#options;
    const code = diskFault();
    if (code !== undefined) throw new LedgerFault(code, { path, text: "the disk of this seed" });
  }

  requested(): void {
    this.requests++;
  }

  leaving(submission: Pick<SignedSubmission, "hash" | "chain">, call: RelayerHubCall | undefined): void {
    if (this.isOver) throw new Killed("dead");
    const ledger = this.#ledger;
    if (ledger === undefined) {
      this.violations.push(`I3: ${submission.hash} to ${submission.chain} leaves without a database`);
      return;
    }
    const row = ledger.submissions.findByHash(submission.chain, submission.hash);
    if (row === undefined) {
      this.violations.push(
        `I3: ${submission.hash} to ${submission.chain} leaves without being in the journal`,
      );
    }
    if (call?.kind !== "withdraw") return;
    const isOrdered = ledger.withdrawals.listOpen().some(({ submissionId }) => submissionId === row?.id);
    if (!isOrdered) this.violations.push(`I8: order ${submission.hash} leaves without a withdrawal row`);
  }

  reportFee(commitment: Hash256, fee: bigint): void {
    this.#reportedFees.set(commitment, { fee, atMs: this.#options.clock.now() });
  }

  claiming(commitment: Hash256, fee: bigint): void {
    const told = this.#reportedFees.get(commitment);
    const isNew = told !== undefined && this.#options.clock.now() - told.atMs <= MAX_CLAIM_MS;
    if (isNew && told.fee <= fee) return;
    this.violations.push(`A claim of ${commitment} shows ${fee}, its source has told ${told?.fee}`);
  }

  /** An end that was asked for comes soon (I11), and by itself. */
  #noteEnd(): void {
    if (this.#stoppedAtMs === undefined || this.#isDead) return;
    const tookMs = this.#options.clock.now() - this.#stoppedAtMs;
    if (tookMs > MAX_END_MS) this.violations.push(`I11: it took ${tookMs} ms to end`);
    const stuck = this.log.lines.find(({ event }) => event === "shutdown_unclean.stuck");
    if (stuck !== undefined) this.violations.push(`I11: did not stop in time: ${stuck.fields.workers}`);
  }

  #open(): Ledger {
    const { machineClock: clock, path } = this.#options;
    const ledger = openLedger(path, { clock });
    this.#ledger = ledger;
    // A process that ends closes its database a moment before it is over.
    return stepwise(ledger, this, () => this.#ledger = undefined);
  }
}

/** Parts without a step: they only read, and nobody decides by them. */
const UNSTEPPED: ReadonlySet<string> = new Set(["statistics"]);

/** The same ledger, with a step around everything that is asked of it; closing it is always possible. */
function stepwise(ledger: Ledger, life: Program, noteClosed: () => void): Ledger {
  const stepping: Ledger = {
    ...ledger,
    transaction: (work) => {
      life.step();
      life.write();
      const result = ledger.transaction(work);
      life.step();
      return result;
    },
    bindHub: (hub) => {
      life.step();
      ledger.bindHub(hub);
    },
    prune: (nowMs) => {
      life.step();
      return ledger.prune(nowMs);
    },
    close: () => {
      noteClosed();
      ledger.close();
    },
  };
  const parts = Object.entries(ledger).filter(([name, part]) =>
    typeof part === "object" && !UNSTEPPED.has(name)
  );
  return Object.assign(
    stepping,
    Object.fromEntries(parts.map(([name, part]) => [name, stepwisePart(part, life)])),
  );
}

/** Names of what only reads. */
const READS =
  /^(find|list|count|items|read|sum|has|is|oldest|newest|next|of|summar|known|fetch|earliest|latest|total)/;

function stepwisePart<T extends object>(part: T, life: Program): T {
  const known = new Map<string | symbol, unknown>();
  return new Proxy(part, {
    get: (target, name): unknown => {
      const found = known.get(name);
      if (found !== undefined) return found;
      const member: unknown = Reflect.get(target, name);
      assert.ok(typeof member === "function");
      const isWrite = !READS.test(String(name));
      const stepping = (...parameters: unknown[]): unknown => {
        life.step();
        if (isWrite) life.write();
        return Reflect.apply(member, target, parameters);
      };
      known.set(name, stepping);
      return stepping;
    },
  });
}
