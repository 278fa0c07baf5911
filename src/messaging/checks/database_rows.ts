/** Rows about the database. Pure; the facts come from `ledger/inspect.ts`. */
import { type CheckRow, MACHINE } from "../../core/checks/check_row.ts";
import { describeExposure } from "../../core/config/toml.ts";
import type { DatabaseFacts, FileOwner } from "../ledger/inspect.ts";

/**
 * Said of the only trace of another instance that a program without access to other processes can see: the lock that
 * lasts until its process ends.
 */
const ONLY_LOCK = "connections of an instance with another database cannot be seen from here";

/**
 * Rows about the database at `path`, and about another instance that uses it. @param isAnswered true: whoever holds the
 * database answers at its socket, so it is a relayer that runs.
 */
export function judgeDatabase(
  path: string,
  facts: DatabaseFacts<unknown>,
  isAnswered: boolean,
): readonly CheckRow[] {
  const row = { chain: MACHINE, check: "database" } as const;
  const free: CheckRow = {
    chain: MACHINE,
    check: "instance",
    result: "ok",
    found: `no other process holds ${path}; ${ONLY_LOCK}`,
  };
  switch (facts.kind) {
    case "absent":
      return [{ ...row, result: "ok", found: `${path} does not exist yet and can be created` }, free];
    case "usable": {
      const { version, newest, sizeBytes, owner } = facts;
      const size = `${(sizeBytes / 1_048_576).toFixed(1)} MiB`;
      const tables = version === newest
        ? `tables of version ${version}`
        : `tables of version ${version}, which the start migrates to ${newest} after a copy`;
      const found = `${path}: writable, ${tables}, ${size}${describeOwner(owner)}`;
      const exposure = describeExposure(owner.mode, { isSecret: false });
      if (exposure === undefined) return [{ ...row, result: "ok", found }, free];
      const advice = `chmod 600 ${path}`;
      return [{ ...row, result: "warning", found: `${found}: ${exposure}`, advice }, free];
    }
    case "unusable": {
      const { code, message } = facts.fault;
      if (code !== "locked") return [{ ...row, result: "failed", ...splitAdvice(message) }];
      if (isAnswered) {
        return [{ ...free, found: `the running relayer holds ${path}, and answers at its socket` }];
      }
      return [{
        ...free,
        result: "warning",
        found: `another process holds ${path} and does not answer at its socket; ${ONLY_LOCK}`,
        advice: `find the process (fuser ${path}) and end it, or run the check as the user of the relayer`,
      }];
    }
  }
}

function describeOwner({ uid, gid, mode }: FileOwner): string {
  if (uid === undefined) return "";
  const bits = mode === undefined ? "" : `, mode ${(mode & 0o777).toString(8)}`;
  return `, owned by ${uid}:${gid ?? "?"}${bits}`;
}

/** Faults of the database end with what to do, in a sentence of its own. */
function splitAdvice(message: string): Pick<CheckRow, "found" | "advice"> {
  const at = message.lastIndexOf(". ");
  if (at < 0) return { found: message, advice: "check the path of --db and its permissions" };
  const advice = message.slice(at + 2);
  return { found: message.slice(0, at), advice: `${advice.charAt(0).toLowerCase()}${advice.slice(1)}` };
}
