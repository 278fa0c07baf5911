/** What the kernel says a process has used, and programs that run alone in a process. Linux only. */
import { pause } from "../../devnet/waiting.ts";

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
export function readThreadCpuMs(): number {
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
