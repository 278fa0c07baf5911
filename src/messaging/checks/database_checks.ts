/** Database of the checks: inspected by `check`, or the open one of the running relayer. */
import type { CheckRow } from "../../core/checks/check_row.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { type DatabaseFacts, inspectDatabase } from "../ledger/inspect.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ConfiguredChain } from "../startup.ts";
import type { KnownNonces } from "./account_rows.ts";
import { judgeDatabase } from "./database_rows.ts";

/** What the checks ask of the database. */
export interface DatabaseChecks {
  readonly databaseRows: () => readonly CheckRow[];
  readonly knownNonces: (chain: StateMachine, account: string) => KnownNonces;
}

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
  const facts: DatabaseFacts<ReadonlyMap<string, bigint | undefined>> = inspectDatabase(
    path,
    clock,
    (ledger) =>
      new Map(
        chains.flatMap(({ chain: { id, relayer } }) =>
          relayer === undefined ? [] : [
            [
              id.stateMachine,
              ledger.submissions.findHighestNonce(id.stateMachine, toHex(relayer)),
            ] as const,
          ]
        ),
      ),
  );
  const isLocked = facts.kind === "unusable" && facts.fault.code === "locked";
  const rows = judgeDatabase(path, facts, isLocked && await isAnswered());
  return {
    databaseRows: () => rows,
    knownNonces: (chain) =>
      facts.kind === "unusable"
        ? { kind: "unknown", reason: "the database cannot be read now, so nonces were not compared" }
        : toKnown(facts.kind === "usable" ? facts.content?.get(chain) : undefined),
  };
}

/** The open database of the running relayer: it was checked when it was opened, and holds the lock. */
export function useOpenLedger(ledger: Pick<Ledger, "submissions">): DatabaseChecks {
  return {
    databaseRows: () => [],
    knownNonces: (chain, account) => toKnown(ledger.submissions.findHighestNonce(chain, account)),
  };
}

function toKnown(highest: bigint | undefined): KnownNonces {
  if (highest !== undefined) return { kind: "known", highest };
  return { kind: "unknown", reason: "the database has no transaction of this account" };
}
