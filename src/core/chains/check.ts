/**
 * Start-up checks of both programs: a chain has limited time to answer; an unreachable one is distinguished from a
 * misconfigured one and checked again while the others work. Source: docs/protocol/messaging.md section 4.
 */
import { describeFault } from "../checks/check_row.ts";
import { RpcFault } from "../rpc/call.ts";
import type { Clock, Randomness } from "../runtime/clock.ts";
import { DeadlineFault, retry, withDeadline } from "../runtime/retry.ts";
import type { Log } from "../telemetry/log.ts";
import type { CheckFinding } from "./check_finding.ts";

/** Time for a chain's first answer before the others continue without it. */
const FIRST_ANSWER_MS = 30_000;

/**
 * Margin beyond {@link FIRST_ANSWER_MS}: a request that hangs since the start ends by itself and names its endpoint.
 */
const SLACK_MS = 2_000;

/** Pause before an unreachable chain is checked again. */
const UNREACHABLE_PAUSE_MS = 10_000;

/** Pause between checks of a chain whose endpoints turned out to serve another chain. */
const SUSPENDED_PAUSE_MS = 10 * 60_000;

/** Dependencies of checks. */
export interface CheckDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  /** Told which chains are asked; absent: nobody wants to know. */
  readonly awaited?: AwaitedAnswers | undefined;
}

/** A chain and the check of it. */
export interface ChainCheck {
  /** Name of the chain. */
  readonly name: string;
  readonly check: (signal: AbortSignal) => Promise<readonly CheckFinding[]>;
}

/** Result of checking one chain; findings of the hub are reported even when the chain does not answer. */
export type CheckResult =
  | { readonly kind: "checked"; readonly findings: readonly CheckFinding[] }
  | { readonly kind: "unreachable"; readonly error: Error; readonly findings: readonly CheckFinding[] };

/** Runs a check until it gets an answer, for at most 30 s. */
export function checkWithin(deps: CheckDeps, check: ChainCheck, signal: AbortSignal): Promise<CheckResult> {
  const run = (): Promise<CheckResult> => runWithin(deps, check, signal);
  return deps.awaited?.during(check.name, run) ?? run();
}

async function runWithin(
  deps: CheckDeps,
  { name, check }: ChainCheck,
  signal: AbortSignal,
): Promise<CheckResult> {
  let last: RpcFault | undefined;
  const options = {
    backoff: { firstMs: 500, maxMs: 4_000 },
    withinMs: FIRST_ANSWER_MS,
    decide: (error: unknown) => {
      if (!(error instanceof RpcFault)) return { kind: "giveUp" as const };
      last = error;
      deps.awaited?.noteFault(name, error);
      return { kind: "again" as const };
    },
  };
  const deadline = { what: `first answer of ${name}`, afterMs: FIRST_ANSWER_MS + SLACK_MS, signal };
  try {
    const attempt = (inner: AbortSignal): Promise<readonly CheckFinding[]> =>
      retry({ clock: deps.clock, randomness: deps.random, signal: inner }, options, check);
    const findings = await withDeadline(deps.clock, deadline, attempt);
    return { kind: "checked", findings };
  } catch (error) {
    signal.throwIfAborted();
    // An earlier fault of an endpoint is more informative than the deadline.
    const known = error instanceof DeadlineFault ? last ?? error : error;
    if (known instanceof RpcFault || known instanceof DeadlineFault) {
      return { kind: "unreachable", error: known, findings: [] };
    }
    throw error;
  }
}

/** Checks until the chain answers without fatal findings; reports obstacles. */
export async function checkUntilPassed(
  deps: CheckDeps & { readonly log: Log },
  check: ChainCheck,
  signal: AbortSignal,
): Promise<void> {
  const { name } = check;
  for (;;) {
    const result = await checkWithin(deps, check, signal);
    if (result.kind === "unreachable") {
      const fields = { chain: name, error: result.error };
      deps.log.warn("chain_still_unavailable", fields);
      await deps.clock.sleep(UNREACHABLE_PAUSE_MS, signal);
      continue;
    }
    const fatal = result.findings.filter(({ severity }) => severity === "fatal");
    if (fatal.length === 0) return deps.log.info("chain_available", { chain: name });
    for (const { event, text } of fatal) {
      deps.log.error("chain_suspended", { chain: name, finding: event, explanation: text });
    }
    await deps.clock.sleep(SUSPENDED_PAUSE_MS, signal);
  }
}

/** Check of one chain, by name. */
export interface NamedCheck {
  readonly name: string;
  readonly result: CheckResult;
}

const levels = { fatal: "error", warning: "warn", note: "info" } as const;

/**
 * Logs every finding; false when one must be fixed before the program can run.
 * @param hub `place` is the configuration key of its endpoint.
 */
export function reportChecks(
  log: Log,
  hub: NamedCheck & { readonly place: string },
  chains: readonly NamedCheck[],
): boolean {
  let problems = 0;
  for (const { name, result } of [hub, ...chains]) {
    for (const { severity, event, text } of result.findings) {
      if (severity === "fatal") problems++;
      log[levels[severity]](event, { chain: name, explanation: text });
    }
    if (result.kind !== "unreachable") continue;
    const fields = { chain: name, error: result.error };
    if (name !== hub.name) {
      log.warn("chain_unavailable", fields);
      continue;
    }
    problems++;
    log.error("hub_unavailable", { ...fields, setting: hub.place });
  }
  if (problems === 0) return true;
  log.error("start_refused", { problems });
  return false;
}

/** Time after which chains that have not answered are named, ms. */
const TOLD_AFTER_MS = 3_000;

/** Lists the hosts of a chain that owe an answer now. */
type ListAsked = (chain: string) => readonly string[];

/** Chains that are being asked, with the latest fault of each. */
export class AwaitedAnswers {
  readonly #asked = new Map<string, { count: number; fault: RpcFault | undefined }>();

  /** Runs `work`, which asks a chain. */
  async during<T>(chain: string, work: () => Promise<T>): Promise<T> {
    const entry = this.#asked.get(chain) ?? { count: 0, fault: undefined };
    this.#asked.set(chain, entry);
    entry.count++;
    try {
      return await work();
    } finally {
      if (--entry.count === 0) this.#asked.delete(chain);
    }
  }

  /** Notes that an endpoint of a chain gave no usable answer; it is asked again. */
  noteFault(chain: string, fault: RpcFault): void {
    const entry = this.#asked.get(chain);
    if (entry !== undefined) entry.fault = fault;
  }

  /** Describes every chain that is still asked: what an endpoint said last, or which ones say nothing. */
  describe(listAsked: ListAsked): readonly string[] {
    return [...this.#asked].map(([chain, { fault }]) => {
      if (fault !== undefined) return `${chain} via ${fault.where.endpointHost}: ${describeFault(fault)}`;
      const hosts = listAsked(chain).join(", ");
      return `${chain}${hosts === "" ? "" : ` via ${hosts}`}: no answer yet`;
    });
  }
}

/** Runs `work`, which asks chains; logs once which of them have not answered when it takes long. */
export async function tellAwaited<T>(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  listAsked: ListAsked,
  work: (awaited: AwaitedAnswers) => Promise<T>,
): Promise<T> {
  const awaited = new AwaitedAnswers();
  const over = new AbortController();
  const told = clock.sleep(TOLD_AFTER_MS, over.signal).then(
    () => log.info("first_answers_awaited", { waitsFor: awaited.describe(listAsked).join("; ") }),
    () => undefined, // everything was answered before
  );
  try {
    return await work(awaited);
  } finally {
    over.abort();
    await told;
  }
}
