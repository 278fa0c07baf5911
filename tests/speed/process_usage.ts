/** What the kernel says a process has used, stalls of a loop, and programs that run alone in a process. Linux only. */
import { pause } from "../../devnet/waiting.ts";
import { percentile } from "./report.ts";

/** Ticks of a second in which the kernel counts (USER_HZ, the same on every Linux that Deno runs on). */
const TICKS_PER_SEC = 100;

/** Memory of a process, MiB: `VmRSS` what is resident now, `VmHWM` the most that ever was. */
export function readMemoryMb(pid: number, what: "VmRSS" | "VmHWM"): number {
  const found = new RegExp(`^${what}:\\s+(\\d+) kB$`, "m").exec(Deno.readTextFileSync(`/proc/${pid}/status`));
  if (found === null) throw new Error(`No ${what} of process ${pid}`);
  return Number(found[1]) / 1024;
}

/** Processor time of a process with all its threads, milliseconds. Source: proc(5), fields utime and stime. */
export function readCpuMs(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The name in parentheses may hold spaces; utime and stime are fields 14 and 15, the name is field 2.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 1000 / TICKS_PER_SEC;
}

/** Time that this thread has calculated, milliseconds. Source: the kernel's scheduler statistics, the first number. */
function readThreadCpuMs(): number {
  return Number.parseInt(Deno.readTextFileSync("/proc/thread-self/schedstat")) / 1e6;
}

const READINGS = 9;
const READ_EVERY_MS = 400;

/** Resident memory of a process at rest, read several times, MiB. */
export async function readResidentMb(pid: number): Promise<readonly number[]> {
  const readings: number[] = [];
  while (readings.length < READINGS) {
    readings.push(readMemoryMb(pid, "VmRSS"));
    await pause(READ_EVERY_MS);
  }
  return readings;
}

/**
 * Runs a file of this folder in a process of its own, so that memory and processor time are those of its work alone.
 * @returns the JSON that it prints. @throws {Error} when it fails.
 */
export async function runAlone<T>(file: string, args: readonly string[]): Promise<T> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", new URL(file, import.meta.url).pathname, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`${file} failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/**
 * Stalls of one piece of work, by what a timer due at each moment would have waited: one of 100 ms is one of 100 ms, one
 * of 98 ms, and so on.
 */
export interface LoopLag {
  /** For 99 of 100 moments at most, milliseconds. */
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A timer as often as that: shorter stalls are not seen. */
const EVERY_MS = 2;

/**
 * Watches the loop of this process until it is asked for the result, once. A timer counts as late for no longer than
 * its thread has calculated meanwhile: what it waits for a processor that others use is no stall of its own.
 */
export function watchLoop(): () => LoopLag {
  const lateMs: number[] = [];
  let startMs = performance.now();
  let startCpuMs = readThreadCpuMs();
  const note = (): void => {
    const late = performance.now() - startMs - EVERY_MS;
    let wait = Math.min(late, readThreadCpuMs() - startCpuMs);
    do lateMs.push(Math.max(0, wait)); while ((wait -= EVERY_MS) > 0);
    [startMs, startCpuMs] = [performance.now(), readThreadCpuMs()];
  };
  const tick = (): void => {
    note();
    timer = setTimeout(tick, EVERY_MS);
  };
  let timer = setTimeout(tick, EVERY_MS);
  return () => {
    clearTimeout(timer);
    note();
    return { p99Ms: percentile(lateMs, 0.99), maxMs: Math.max(...lateMs) };
  };
}
