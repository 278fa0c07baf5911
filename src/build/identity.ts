/** What a build is called: version, commit, time. The same sources give the same answer on every machine. */
import manifest from "../../deno.json" with { type: "json" };
import { run } from "./deno_command.ts";

/** Of which sources something was made. */
export interface Identity {
  /** As in `deno.json`, the one place where it stands. */
  readonly version: string;
  /** Twelve hex digits, with `-modified` where files of the programs differ from it; `unknown` outside of a checkout. */
  readonly commit: string;
  /** Seconds since 1970 that every time stamp gets: `SOURCE_DATE_EPOCH`, else the time of the commit. */
  readonly epochSec: number;
}

/** What goes into the programs. */
const INPUTS = ["src", "deno.json", "deno.lock"] as const;

/** Reads the identity of the checkout in the current folder; `CAUSEWAY_COMMIT` names the commit of an exported tree. */
export async function readIdentity(): Promise<Identity> {
  const epoch = Deno.env.get("SOURCE_DATE_EPOCH") ?? await git("log", "-1", "--format=%ct") ?? "0";
  if (!/^\d+$/.test(epoch)) throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, not "${epoch}"`);
  const commit = Deno.env.get("CAUSEWAY_COMMIT") ?? await readCommit();
  if (!/^[\w-]+$/.test(commit)) throw new Error("CAUSEWAY_COMMIT may hold letters, digits, _ and - only");
  return { version: manifest.version, commit, epochSec: Number(epoch) };
}

/** The tag that a version is released under. */
export function tagOf(version: string): string {
  return `v${version}`;
}

/** @throws {Error} when a release is asked for under another tag than its version says. */
export function checkTag(tag: string, version: string): void {
  if (tag === tagOf(version)) return;
  throw new Error(
    `The tag ${tag} does not fit version ${version} of deno.json: tag ${
      tagOf(version)
    }, or change the version`,
  );
}

async function readCommit(): Promise<string> {
  const head = await git("rev-parse", "--short=12", "HEAD");
  if (head === undefined) return "unknown";
  return await git("status", "--porcelain", "--", ...INPUTS) === "" ? head : `${head}-modified`;
}

/** Output of a git command; `undefined` where there is no git or no checkout. */
export async function git(...args: string[]): Promise<string | undefined> {
  return await run("git", args).then((text) => text.trim(), () => undefined);
}
