/** The processes of the relayer in a seed, one after the other, and the file of their database with its replica. */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import type { Plan, Trouble } from "./plan.ts";
import { Program, type ProgramOptions } from "./program.ts";

/** Seconds between a process that ended by itself and its successor, as a container runtime does it. */
const RESPAWN_SEC = 5;

/** What processes are started with. */
export interface LivesOptions
  extends Pick<ProgramOptions, "clock" | "machineClock" | "path" | "connect" | "diskFault"> {
  readonly seed: number;
  readonly plan: Plan;
  readonly isTroubled: () => boolean;
  /** The file as the operator has it now. */
  readonly configOf: () => MessagingConfig;
}

/** The lives of one relayer. */
export class Lives {
  readonly programs: Program[] = [];
  /** How often the database was lost, or gave way to a replica that was behind. */
  losses = 0;
  /** How often it gave way to a replica. */
  restores = 0;
  /** How many processes were started with `initial_height` in the file: each leg begins with it again. */
  freshStarts = 0;
  /** `initial_height` of all chains, which the operator takes out of the file once it has had its effect. */
  initialHeight: bigint | undefined;
  readonly #world: LivesOptions;
  readonly #fuses: Extract<Trouble, { kind: "fuse" }>[];
  #startAtSec = 0;
  #isLost = false;
  /** What the replica holds, by the end of the file's name; `undefined`: there is none. */
  #replica: ReadonlyMap<string, Uint8Array<ArrayBuffer>> | undefined;

  constructor(world: LivesOptions) {
    this.#world = world;
    this.#fuses = world.plan.troubles.filter((trouble) => trouble.kind === "fuse");
  }

  /** The process that runs now, if any. */
  get running(): Program | undefined {
    const last = this.programs.at(-1);
    return last === undefined || last.isOver ? undefined : last;
  }

  /** Ends the process at once, as asked for, or with its database; the next one starts at that time. */
  end(how: "kill" | "stop" | "lose", startAtSec: number): void {
    this.#startAtSec = startAtSec;
    if (how === "stop") this.running?.stop();
    else this.running?.kill();
    if (how === "lose") this.#isLost = true;
  }

  /** Starts a process where none runs. */
  supervise(nowSec: number): void {
    const { configOf, isTroubled, plan, seed } = this.#world;
    const last = this.programs.at(-1);
    if (last !== undefined && !last.isOver) return;
    if (last !== undefined && this.#startAtSec === 0) this.#startAtSec = nowSec + RESPAWN_SEC;
    if (nowSec < this.#startAtSec) return;
    this.#startAtSec = 0;
    if (this.#isLost) this.#loseDatabase();
    else this.#restore();
    this.initialHeight = plan.startsFromNow || this.#hasCursors() ? undefined : 0n;
    if (this.initialHeight !== undefined) this.freshStarts++;
    const fuse = isTroubled() ? this.#fuses.shift() : undefined;
    this.programs.push(
      new Program({
        ...this.#world,
        config: configOf(),
        seed: seed + this.programs.length,
        fuse,
        onReplica: () => this.#replicate(),
      }),
    );
  }

  /** Removes the file of a process that is gone. */
  #loseDatabase(): void {
    this.#isLost = false;
    this.losses++;
    this.#removeDatabase();
  }

  #removeDatabase(): void {
    this.#replica = undefined;
    for (const end of ["", "-wal", "-shm"]) {
      const file = `${this.#world.path}${end}`;
      if (existsSync(file)) Deno.removeSync(file);
    }
  }

  /** Keeps the database as it is, in the middle of a transaction perhaps. */
  #replicate(): void {
    this.#replica = new Map(["", "-wal"].map((end) => [end, Deno.readFileSync(`${this.#world.path}${end}`)]));
  }

  /** Puts the replica in the place of the file of a process that is gone. */
  #restore(): void {
    const replica = this.#replica;
    if (replica === undefined) return;
    this.#removeDatabase();
    for (const [end, bytes] of replica) Deno.writeFileSync(`${this.#world.path}${end}`, bytes);
    this.losses++;
    this.restores++;
  }

  /** True when every leg has begun. */
  #hasCursors(): boolean {
    if (!existsSync(this.#world.path)) return false;
    const database = new DatabaseSync(this.#world.path);
    try {
      return database.prepare("SELECT * FROM cursor").all().length === 4;
    } catch {
      return false; // died before it made its tables
    } finally {
      database.close();
    }
  }
}
