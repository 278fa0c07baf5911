/** A snapshot as a page and as text for a terminal: what both programs show the same way. Pure. */
import { ChainNames } from "../config/chain_names.ts";
import { type HeightReading, showEndpoint } from "../rpc/endpoint_board.ts";
import { formatDuration } from "../runtime/text_table.ts";
import { renderPage } from "../telemetry/http/page.ts";
import { describeReason, isReady } from "../telemetry/readiness.ts";
import {
  type Cell,
  coloured,
  formatSection,
  mapTexts,
  type StatusSection,
  type TableColumns,
  tableSection,
} from "../telemetry/status_sections.ts";
import { isCheckReason } from "./check_board.ts";
import type { ProgramStatus } from "./program_status.ts";

/** What a program shows besides. */
export interface ProgramView<Status extends ProgramStatus> {
  /** What the program is: `messaging relayer`. */
  readonly role: string;
  /** Numbers beside the state. */
  readonly facts: (status: Status) => readonly string[];
  /** Number of messages that wait; absent: there are none. */
  readonly countWaiting?: (status: Status) => number;
  readonly sections: (status: Status, shows: Shows) => readonly StatusSection[];
}

/** Forms of values that stand in several tables. */
export interface Shows {
  /** The age of a time: `5 min ago`. */
  readonly age: (atMs: number) => string;
  /** A leg or light client by the names of its chains. */
  readonly short: (text: string) => string;
}

/** Makes the page. */
export function renderProgramPage<S extends ProgramStatus>(status: S, view: ProgramView<S>): string {
  const { program, version, hub, nowMs } = status;
  const place = hub === "" ? "" : ` of ${namesOf(status).full(hub)}`;
  const subtitle = `${view.role} ${version}${place}${runsFor(status)}`;
  return renderPage(program, subtitle, { nowMs, sections: allSections(status, view) });
}

/** Formats the snapshot for a terminal. */
export function formatProgramStatus<S extends ProgramStatus>(status: S, view: ProgramView<S>): string {
  const { program, version, hub } = status;
  return [
    `${program} ${version}, hub ${namesOf(status).full(hub)}${runsFor(status)}`,
    ...allSections(status, view).flatMap((section) => formatSection(section) ?? []),
  ].join("\n");
}

function runsFor({ startedAtMs, nowMs }: ProgramStatus): string {
  return startedAtMs === undefined ? "" : `, running for ${formatDuration(nowMs - startedAtMs)}`;
}

function namesOf({ chains }: ProgramStatus): ChainNames {
  return new ChainNames(chains.map(({ chain, name }) => ({ stateMachine: chain, section: name })));
}

function allSections<S extends ProgramStatus>(status: S, view: ProgramView<S>): readonly StatusSection[] {
  const names = namesOf(status);
  const shows: Shows = {
    age: (atMs) => `${formatDuration(status.nowMs - atMs)} ago`,
    short: (text) => names.short(text),
  };
  return [
    stateOf(status, view, shows),
    checksOf(status),
    ...view.sections(status, shows),
    warningsOf(status, shows),
  ].map((section) => mapTexts(section, (text) => names.full(text)));
}

function stateOf<S extends ProgramStatus>(
  status: S,
  view: ProgramView<S>,
  { age, short }: Shows,
): StatusSection {
  const { nowMs, startedAtMs, reasons, checks, checkedAtMs } = status;
  const good = checks.filter(({ result }) => result === "ok").length;
  const made = checkedAtMs === undefined
    ? "no checks made yet"
    : `checks in order: ${good} of ${checks.length}, ${age(checkedAtMs)}`;
  const table = tableSection("State", reasons, {
    "where": ({ leg, chain }) => leg === undefined ? chain ?? "program" : short(leg),
    "effect": ({ isWarning }) =>
      isWarning === true ? coloured("warn", "warning") : coloured("bad", "stops work"),
    // The database alone does not know since when.
    "for": ({ sinceMs }) => sinceMs < nowMs ? formatDuration(nowMs - sinceMs) : undefined,
    "what": (reason) => ({ text: describeReason(reason, nowMs), note: reason.code }),
  });
  const facts = startedAtMs === undefined ? view.facts(status) : [...view.facts(status), made];
  return { ...table, head: headOf(status, view.countWaiting?.(status) ?? 0), facts };
}

function headOf(
  { startedAtMs, nowMs, reasons }: ProgramStatus,
  waiting: number,
): ReturnType<typeof coloured> {
  if (startedAtMs === undefined) {
    return coloured(
      "bad",
      "No relayer runs on this database: nothing is delivered until one is started. This is what the database knows.",
    );
  }
  if (!isReady(reasons)) {
    const stops = reasons.filter(({ isWarning }) => isWarning !== true);
    const sinceMs = Math.min(...stops.map((reason) => reason.sinceMs));
    return coloured("bad", `Not ready for ${formatDuration(nowMs - sinceMs)}`);
  }
  if (reasons.length > 0) return coloured("warn", `Ready, warnings: ${reasons.length}`);
  return coloured(
    "good",
    waiting === 0
      ? "Ready. Nothing is in the way."
      : "Ready. No trouble is known. What messages wait for stands beside their legs.",
  );
}

/** Columns of chains that both programs show. */
export function chainColumns(
  { nowMs }: Pick<ProgramStatus, "nowMs">,
  { age }: Shows,
): TableColumns<ProgramStatus["chains"][number]> {
  const height = (reading: HeightReading | undefined): Cell =>
    reading && { text: String(reading.height), note: age(reading.readAtMs) };
  return {
    "chain": ({ chain, isHub, name }) => isHub && name === chain ? `${chain} (hub)` : chain,
    "head": ({ head }) => height(head),
    "final": ({ final }) => height(final),
    "endpoints": ({ endpoints }) => endpoints.map((each) => showEndpoint(each, nowMs)),
  };
}

function checksOf({ checks, nowMs }: ProgramStatus): StatusSection {
  // What is a reason stands above.
  const rows = checks.filter((row) => row.result !== "ok" && !isCheckReason(row));
  return tableSection("Checks", rows, {
    "chain": ({ chain, endpoint }) => endpoint === undefined ? chain : `${chain}, ${endpoint}`,
    "result": ({ result }) => coloured(result === "failed" ? "bad" : "warn", result),
    "found": ({ found, check }) => ({ text: `${found}.`, note: check }),
    "advice": ({ advice }) => advice,
    "for": ({ sinceMs }) => formatDuration(nowMs - sinceMs),
  });
}

/** Age from which a warning is shown as past, although nothing said that it is over. */
const FADED_MS = 60 * 60_000;

/** Number of warnings that are shown. */
const SHOWN_WARNINGS = 5;

function warningsOf({ warnings, nowMs }: ProgramStatus, { age }: Shows): StatusSection {
  const rows = warnings.slice(0, SHOWN_WARNINGS).map((warning) => ({
    ...warning,
    isPast: warning.endedAtMs !== undefined || nowMs - warning.atMs > FADED_MS,
  }));
  return tableSection("Last warnings", rows, {
    "when": ({ atMs }) => age(atMs),
    "level": ({ level, isPast, endedAtMs }) => ({
      ...coloured(isPast ? "faint" : level === "error" ? "bad" : "warn", level),
      note: endedAtMs === undefined ? undefined : `over ${age(endedAtMs)}`,
    }),
    "what": ({ text, event, isPast }) => ({ text, note: event, ...isPast && { colour: "faint" } }),
  });
}
