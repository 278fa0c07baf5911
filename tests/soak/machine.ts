/** A clock and a disk that misbehave for one process only, where the machine has the means. */
import { runOnce } from "../scenario/support/run_once.ts";
import type { Means } from "./plan.ts";

/** Changes what a process reads as the time (Debian's package faketime). */
export const CLOCK_LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/** Room of the disk: a database of a round takes a part of it. */
const DISK_MB = 24;
const FILLER = "filler";
const FILLER_CHUNK = new Uint8Array(64 * 1024);

/** What this machine has of it; what is missing is told with its remedy. */
export async function findMeans(say: (line: string) => void): Promise<Means> {
  const clock = await Deno.stat(CLOCK_LIBRARY).then(() => true, () => false);
  if (!clock) say("No clock jumps: libfaketime is missing (apt install faketime)");
  const folder = await Deno.makeTempDir({ prefix: "soak-" });
  const disk = await mount(folder);
  if (disk) await unmount(folder);
  else say("No full disks: mounting needs root");
  await Deno.remove(folder);
  return { clock, disk };
}

/** The clock of processes that are started with its environment. */
export class FakedClock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** A right clock, set by a file in `folder`. */
  static async create(folder: string): Promise<FakedClock> {
    const clock = new FakedClock(`${folder}/clock`);
    await clock.set(0);
    return clock;
  }

  /** Timers run on, as they do when a machine's time is set. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: CLOCK_LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.#path,
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** From now on the time differs by so many seconds. */
  async set(seconds: number): Promise<void> {
    await Deno.writeTextFile(this.#path, `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}s`);
  }
}

/** A small disk below a folder. */
export class SmallDisk implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  /** @throws {Error} where nothing may be mounted */
  static async mount(folder: string): Promise<SmallDisk> {
    await Deno.mkdir(folder, { recursive: true });
    if (!await mount(folder)) throw new Error(`Nothing may be mounted at ${folder}`);
    return new SmallDisk(folder);
  }

  /** Leaves no room. */
  async fill(): Promise<void> {
    using file = await Deno.open(`${this.folder}/${FILLER}`, { create: true, append: true });
    try {
      for (;;) await file.write(FILLER_CHUNK);
    } catch (error) {
      // No room is what was wanted.
      if (!(error instanceof Error && /No space left/.test(error.message))) throw error;
    }
  }

  /** Gives the room back. */
  async clear(): Promise<void> {
    await Deno.remove(`${this.folder}/${FILLER}`).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await unmount(this.folder);
  }
}

async function mount(folder: string): Promise<boolean> {
  return await run("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", folder]);
}

async function unmount(folder: string): Promise<void> {
  await run("umount", ["--lazy", folder]);
}

async function run(command: string, args: readonly string[]): Promise<boolean> {
  return await runOnce(command, args).then(({ code }) => code === 0, (error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  });
}
