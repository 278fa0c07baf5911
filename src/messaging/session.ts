/**
 * What the long-running relayer and the one-off commands have in common: the database is opened, the chains are
 * connected and checked, and everything is closed again whatever happens in between.
 */
import type { Chain } from "../core/chains/chain.ts";
import type { FeeChain } from "../core/chains/fees.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { RelayerHub } from "../core/chains/hub_accounts.ts";
import type { MessagingConfig } from "../core/config/messaging_config.ts";
import { type Ledger, LedgerFault } from "../core/ledger/ledger.ts";
import type { Fetch } from "../core/rpc/http.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import type { Randomness } from "../core/runtime/randomness.ts";
import type { Log } from "../core/telemetry/log.ts";
import { checkAll, type CheckResult, type ConfiguredChain } from "./startup.ts";

/** Adapters of the hub and of the chains of the configuration. */
export interface Connections {
  readonly hub: RelayerHub & FeeChain;
  readonly chains: readonly ConfiguredChain[];
}

/** The outside world of the relayer. */
export interface RunDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  readonly openLedger: () => Ledger;
  /** Connects nothing yet: that happens at the first request. */
  readonly connect: (config: MessagingConfig) => Connections;
  /** For prices of native tokens. */
  readonly fetch: Fetch;
}

/** What work gets to see: an open database, and chains of which none must be mended. */
export interface Session extends Connections {
  readonly ledger: Ledger;
  /** Of the chains; those that did not answer may not be used before they pass. */
  readonly checks: ReadonlyMap<Chain, CheckResult>;
}

/** Does `work` between opening and closing; an abort and faults of the database become exit statuses. */
export async function runSession(
  deps: RunDeps,
  config: MessagingConfig,
  work: (session: Session) => Promise<ExitCode>,
  signal: AbortSignal,
): Promise<ExitCode> {
  let ledger: Ledger;
  try {
    ledger = deps.openLedger();
  } catch (error) {
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error(error.message, { code: error.code });
    return exitCodes.failed;
  }
  try {
    ledger.bindHub(config.hub.stateMachine);
    return await connectAndWork(deps, config, { ledger, work }, signal);
  } catch (error) {
    if (signal.aborted && (error === signal.reason || isAbort(error))) return exitCodes.ok;
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error(error.message, { code: error.code });
    return exitCodes.failed;
  } finally {
    ledger.close();
  }
}

async function connectAndWork(
  deps: RunDeps,
  config: MessagingConfig,
  { ledger, work }: { readonly ledger: Ledger; readonly work: (session: Session) => Promise<ExitCode> },
  signal: AbortSignal,
): Promise<ExitCode> {
  const { hub, chains } = deps.connect(config);
  try {
    const checks = await checkAll(deps, hub, chains, signal);
    if (!reportChecks(deps.log, hub, chains, checks)) return exitCodes.failed;
    return await work({ ledger, hub, chains, checks: checks.chains });
  } finally {
    await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Lists every finding; false when something must be mended before the program can run. */
function reportChecks(
  log: Log,
  hub: HubChain,
  chains: readonly ConfiguredChain[],
  checks: { readonly hub: CheckResult; readonly chains: ReadonlyMap<Chain, CheckResult> },
): boolean {
  let problems = 0;
  const report = (chain: Chain, result: CheckResult | undefined): void => {
    const fields = { chain: chain.id.stateMachine };
    for (const { severity, text } of result?.findings ?? []) {
      if (severity === "fatal") problems++;
      log[severity === "fatal" ? "error" : "warn"](text, fields);
    }
    if (result?.kind !== "unreachable") return;
    const { error } = result;
    if (chain !== hub) {
      const text = "Chain gives no usable answer; the others start without it. Check its endpoints";
      return log.warn(text, { ...fields, error });
    }
    problems++;
    log.error("The hub gives no usable answer; check [hub].rpc_ws and the node", { ...fields, error });
  };
  report(hub, checks.hub);
  for (const { chain } of chains) report(chain, checks.chains.get(chain));
  if (problems === 0) return true;
  log.error("Nothing was started; mend what is listed above and start again", { problems });
  return false;
}
