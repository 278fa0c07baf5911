/**
 * The snapshot of a program: JSON, page, text, gauges and readiness are made of it and of nothing else. What both
 * programs have in common stands here; each program adds its own members to the schema and to the gauges beside it.
 */
import type { ChainNames } from "../config/chain_names.ts";
import { type ChainHeights, type EndpointReading, findEndpointReasons } from "../rpc/endpoint_board.ts";
import { programVersion } from "../runtime/version.ts";
import { gaugesOf, type SnapshotGauges } from "../telemetry/metrics.ts";
import type { RecentWarning } from "../telemetry/open_log.ts";
import { type FoundReason, isReady, type NotReadyReason, reasonKey } from "../telemetry/readiness.ts";
import { type BoardRow, toCheckReasons } from "./check_board.ts";

/** A chain of a snapshot. Members that only a running program knows are absent without one. */
export interface ChainStatus extends ChainHeights {
  /** State machine. */
  readonly chain: string;
  /** Section of the configuration; the state machine where it has none. */
  readonly name: string;
  readonly isHub: boolean;
  readonly endpoints: readonly Omit<EndpointReading, "chain">[];
}

/** Status of a program. Times are Unix milliseconds. */
export interface ProgramStatus {
  readonly program: string;
  readonly version: string;
  readonly nowMs: number;
  /** Absent: nothing is running, and the database alone was read. */
  readonly startedAtMs?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly hub: string;
  readonly reasons: readonly NotReadyReason[];
  /** Last results of the checks that the program makes. */
  readonly checks: readonly BoardRow[];
  /** When all of them were made last. */
  readonly checkedAtMs?: number | undefined;
  /** Newest first. */
  readonly warnings: readonly RecentWarning[];
  readonly chains: readonly ChainStatus[];
}

/** Gauges of both programs. */
export const programGauges: SnapshotGauges<ProgramStatus> = {
  ...gaugesOf((status) => [status], ["program", "version"], {
    causeway_build_info: ["Always 1, with the program and its version as labels", () => 1],
  }),
  ...gaugesOf((status) => [status], [], {
    causeway_start_time_seconds: ["Start, Unix seconds", ({ startedAtMs = 0 }) => startedAtMs / 1_000],
    causeway_memory_resident_bytes: ["Memory of the process", ({ memoryBytes }) => memoryBytes],
    causeway_ready: ["1 when /readyz answers 200", ({ reasons }) => isReady(reasons) ? 1 : 0],
  }),
  ...gaugesOf(({ reasons }) => reasons.filter(({ isWarning }) => isWarning !== true), ["chain", "code"], {
    causeway_not_ready_reasons: ["Reasons for which /readyz answers 503, by their code", () => 1],
  }),
  ...gaugesOf((status) => listEndpoints(status, false), ["chain", "endpoint"], {
    causeway_endpoint_up: [
      "1 when its last request had a usable answer, or was itself at fault",
      ({ isUp }) => +isUp,
    ],
    causeway_endpoint_lag_blocks: [
      "Blocks behind another one; 0 unless its state is behind",
      ({ lagBlocks = 0 }) => lagBlocks,
    ],
  }),
  ...gaugesOf((status) => listEndpoints(status, false), ["chain", "endpoint", "state"], {
    causeway_endpoint_state: [
      "1 for its state: ready, behind, throttled, unauthorized, wrong_chain or down; the first two are used first",
      () => 1,
    ],
  }),
  ...gaugesOf((status) => listEndpoints(status, true), ["chain", "endpoint"], {
    causeway_signer_up: [
      "1 when a remote signer's last request had the signature asked for",
      ({ isUp }) => +isUp,
    ],
  }),
  ...gaugesOf(({ chains }) => chains, ["chain"], {
    causeway_chain_head_height: ["Newest block, read at least every ten minutes", ({ head }) => head?.height],
    causeway_chain_final_height: ["Newest final block, read as often", ({ final }) => final?.height],
  }),
};

/** Endpoints, or remote signers, of all chains, with the labels of their gauges. */
const listEndpoints = ({ chains }: ProgramStatus, areSigners: boolean) =>
  chains.flatMap(({ chain, endpoints }) =>
    endpoints.filter(({ isSigner }) => isSigner === areSigners).map(({ host, state, isUp, lagBlocks }) => ({
      ...{ chain, endpoint: host, state: state.kind, isUp, lagBlocks },
    }))
  );

/** What a running program knows of itself. */
export interface RunningProgram extends Pick<ProgramStatus, "checks" | "checkedAtMs" | "warnings"> {
  readonly startedAtMs: number;
  readonly memoryBytes?: number;
  readonly endpoints: readonly EndpointReading[];
  readonly readHeights: (chain: string) => ChainHeights;
  /** What the log says is in the way. */
  readonly troubles: readonly FoundReason[];
  /** Dates the reasons that were found. */
  readonly dateReasons: (found: readonly FoundReason[]) => readonly NotReadyReason[];
}

/** Where a snapshot is taken. */
export interface SnapshotPlace {
  readonly program: string;
  readonly hub: string;
  readonly nowMs: number;
  readonly names: Pick<ChainNames, "short">;
  /** Absent: nothing is running. */
  readonly running?: RunningProgram | undefined;
}

/** A chain of the snapshot. */
export function toChainStatus({ hub, names, running }: SnapshotPlace, chain: string): ChainStatus {
  return {
    chain,
    name: names.short(chain),
    isHub: chain === hub,
    ...running?.readHeights(chain),
    endpoints: (running?.endpoints ?? []).filter((endpoint) => endpoint.chain === chain)
      .map(({ chain: _, ...endpoint }) => endpoint),
  };
}

/** Completes a snapshot. @param own members of the program @param found what the program finds in its way */
export function toProgramStatus<Own extends Pick<ProgramStatus, "chains">>(
  { program, hub, nowMs, running }: SnapshotPlace,
  own: Own,
  found: readonly FoundReason[],
): Omit<ProgramStatus, "chains"> & Own {
  const { checks = [], checkedAtMs, warnings = [], startedAtMs, memoryBytes, troubles = [] } = running ?? {};
  const shown = new Set(found.map(reasonKey));
  // What the snapshot shows by itself is not repeated.
  const others = [...troubles, ...toCheckReasons(checks)].filter((reason) => !shown.has(reasonKey(reason)));
  const all = [...found, ...others];
  const undated = ({ graceMs: _grace, mark: _mark, ...reason }: FoundReason): NotReadyReason => ({
    ...reason,
    sinceMs: nowMs,
  });
  return {
    program,
    version: programVersion,
    nowMs,
    ...running && { startedAtMs, memoryBytes },
    hub,
    reasons: running?.dateReasons(all) ?? all.map(undated),
    ...own,
    checks,
    checkedAtMs,
    warnings,
  };
}

/** Reason of a program whose chains are not checked yet. */
export const STARTING: FoundReason = {
  code: "starting",
  explanation: "The chains are still being checked.",
  help: "Wait; the log names chains that do not answer.",
};

/** What is in the way of a chain: its endpoints, or its blocks. */
export function findChainReasons(
  { chain, endpoints, ...heights }: ChainStatus,
  program: Pick<ProgramStatus, "nowMs" | "hub">,
): readonly FoundReason[] {
  return [...findEndpointReasons(chain, endpoints), ...findStoppedChain(chain, heights, program)];
}

/** Time of a height's last reading up to which it says something about the chain. */
const FRESH_MS = 5 * 60_000;

/** Time for which a chain's heights may stay where they are; the hub makes a block every few seconds. */
const STOPPED_MS = { head: 10 * 60_000, hubHead: 90_000, final: 60 * 60_000 } as const;

/**
 * A chain whose endpoints answer, and name no new block. Of a hub that stops everything; elsewhere it is a warning: chains
 * that make a block when there is something for it stand still, too, and what waits for a block is told by itself.
 */
function findStoppedChain(
  chain: string,
  heights: ChainHeights,
  { nowMs, hub }: { readonly nowMs: number; readonly hub: string },
): readonly FoundReason[] {
  return (["head", "final"] as const).flatMap((kind) => {
    const reading = heights[kind];
    if (reading === undefined || nowMs - reading.readAtMs > FRESH_MS) return [];
    const { height } = reading;
    const isHubHead = kind === "head" && chain === hub;
    return [{
      code: kind === "head" ? "chain_stopped" : "finality_stopped",
      chain,
      leg: undefined,
      explanation: `Its endpoints name no ${kind === "head" ? "" : "final "}block above ${height}.`,
      help: "Check that the chain makes blocks, and that its endpoints follow it.",
      isWarning: !isHubHead,
      mark: String(height),
      graceMs: STOPPED_MS[isHubHead ? "hubHead" : kind],
    }];
  });
}
