/** Database of the checks: inspected by `check`, or the open one of the running relayer. */
import { about, type CheckRow, MACHINE } from "../../core/checks/check_row.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { type DatabaseFacts, type FileOwner, inspectDatabase } from "../ledger/open.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ConfiguredChain } from "../session.ts";
import type { KnownNonce } from "./plan_checks.ts";
import { describeExposure } from "../../core/config/toml.ts";

/** What the checks ask of the database. */
interface DatabaseChecks {
  readonly databaseRows: readonly CheckRow[];
  readonly findNonce: (chain: StateMachine, account: string) => KnownNonce;
}

const NO_TRANSACTION = "the database has no transaction of this account";

/**
 * Inspects a database that no relayer of this process has opened. Its content stays as it is. @param isAnswered asked
 * when another process holds it: true when a running relayer answers.
 */
export async function inspectForChecks(
  path: string,
  clock: Pick<Clock, "now">,
  { chains, isAnswered }: {
    readonly chains: readonly ConfiguredChain[];
    readonly isAnswered: () => Promise<boolean>;
  },
): Promise<DatabaseChecks> {
  const facts = inspectDatabase(path, clock, ({ submissions }) =>
    new Map<StateMachine, bigint | undefined>(
      chains.flatMap(({ chain: { id: { stateMachine }, relayer } }) =>
        relayer === undefined
          ? []
          : [[stateMachine, submissions.findHighestNonce(stateMachine, toHex(relayer))]]
      ),
    ));
  const isLocked = facts.kind === "unusable" && facts.fault.code === "locked";
  return {
    databaseRows: judgeDatabase(path, facts, isLocked && await isAnswered()),
    findNonce: (chain) => {
      if (facts.kind === "unusable") return "the database cannot be read now, so nonces were not compared";
      return (facts.kind === "usable" ? facts.content?.get(chain) : undefined) ?? NO_TRANSACTION;
    },
  };
}

/** Without a database nothing of it is checked. */
export const noDatabase: DatabaseChecks = {
  databaseRows: [],
  findNonce: () => "no database is named with --db, so nonces were not compared",
};

/** The open database of the running relayer: it was checked when it was opened, and holds the lock. */
export function useOpenLedger({ submissions }: Pick<Ledger, "submissions">): DatabaseChecks {
  return {
    databaseRows: [],
    findNonce: (chain, account) => submissions.findHighestNonce(chain, account) ?? NO_TRANSACTION,
  };
}

/**
 * Said of the only trace of another instance that a program without access to other processes can see: the lock that
 * lasts until its process ends.
 */
const ONLY_LOCK = "connections of an instance with another database cannot be seen from here";

/**
 * Rows about the database at `path`, and about another instance that uses it. @param isAnswered true: the holder of the
 * database answers at its socket, so it is a relayer that runs.
 */
function judgeDatabase(
  path: string,
  facts: DatabaseFacts<unknown>,
  isAnswered: boolean,
): readonly CheckRow[] {
  const { ok, warning, failed } = about(MACHINE);
  const free = ok("instance", `no other process holds ${path}; ${ONLY_LOCK}`);
  switch (facts.kind) {
    case "absent":
      return [ok("database", `${path} does not exist yet and can be created`), free];
    case "usable": {
      const { version, newest, sizeBytes, owner } = facts;
      const size = `${(sizeBytes / 1_048_576).toFixed(1)} MiB`;
      const tables = version === newest
        ? `tables of version ${version}`
        : `tables of version ${version}, which the start migrates to ${newest} after a copy`;
      const found = `${path}: writable, ${tables}, ${size}${describeOwner(owner)}`;
      const exposure = describeExposure(owner.mode, { isSecret: false });
      if (exposure === undefined) return [ok("database", found), free];
      return [warning("database", `${found}: ${exposure}`, `chmod 600 ${path}`), free];
    }
    case "unusable": {
      const { code, found, advice } = facts.fault;
      if (code !== "locked") return [failed("database", found, advice.replace(/\.$/, ""))];
      if (isAnswered) return [ok("instance", `the running relayer holds ${path}, and answers at its socket`)];
      const held = `another process holds ${path} and does not answer at its socket; ${ONLY_LOCK}`;
      const help = `find the process (fuser ${path}) and end it, or run the check as the user of the relayer`;
      return [warning("instance", held, help)];
    }
  }
}

function describeOwner({ uid, gid, mode }: FileOwner): string {
  if (uid === undefined) return "";
  const bits = mode === undefined ? "" : `, mode ${(mode & 0o777).toString(8)}`;
  return `, owned by ${uid}:${gid ?? "?"}${bits}`;
}
