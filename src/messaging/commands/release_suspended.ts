/**
 * `release-suspended`: releases messages that are held because deliveries between two modules were paid for and had no
 * effect. After two retries the relayer stops retrying on its own. Makes no requests to chains; the relayer must not be
 * running.
 */
import type { MessagingConfig } from "../config/schema.ts";
import type { SuspensionRow } from "../ledger/ledger.ts";
import { type Hex, toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { RelayDeps } from "../relay/leg.ts";
import { releasePair } from "../relay/limits/suspension.ts";
import { withLedger } from "../session.ts";
import type { CommandDeps } from "./accumulate_fees.ts";

/** Selection of module pairs; an absent field matches everything. */
export interface ReleaseChoice {
  /** Target chain of the deliveries. */
  readonly chain?: StateMachine | undefined;
  /** Sending module, lower-case hex. */
  readonly from?: Hex | undefined;
  /** Receiving module, lower-case hex. */
  readonly to?: Hex | undefined;
}

/** Runs the command. 0: also when nothing is suspended; 1: the database is in use or cannot be used. */
export function releaseSuspended(
  deps: Pick<CommandDeps, "clock" | "random" | "log" | "openLedger" | "print">,
  config: MessagingConfig,
  choice: ReleaseChoice,
  signal: AbortSignal,
): Promise<ExitCode> {
  const chains = config.chains.map(({ stateMachine }) => stateMachine);
  return withLedger(deps, config, (ledger) => {
    const released = releaseAll({ ...deps, ledger }, { hub: config.hub.stateMachine, chains }, choice);
    for (const { target, from, to } of released) {
      deps.print(`${target}: ${toHex(from)} -> ${toHex(to)} released`);
    }
    if (released.length === 0) deps.print("No messages are suspended.");
    return Promise.resolve(exitCodes.ok);
  }, signal);
}

/** Releases the selected pairs and clears their failures; their messages are due again. */
export function releaseAll(
  deps: RelayDeps,
  { hub, chains }: { readonly hub: StateMachine; readonly chains: readonly StateMachine[] },
  choice: ReleaseChoice,
): readonly SuspensionRow[] {
  return deps.ledger.transaction(() => {
    const active = chains.flatMap((chain) => deps.ledger.suspensions.listActive(chain));
    const meant = active.filter((pair) => isMeant(pair, choice));
    for (const pair of meant) releasePair({ ledger: deps.ledger, settings: { hub } }, pair);
    return meant;
  });
}

function isMeant(pair: SuspensionRow, { chain, from, to }: ReleaseChoice): boolean {
  return (chain ?? pair.target) === pair.target && (from ?? toHex(pair.from)) === toHex(pair.from) &&
    (to ?? toHex(pair.to)) === toHex(pair.to);
}
