/** What relays, in a command's own process: planned as in the relayer, while its workers do not run. */
import { linkedAbort } from "../../core/runtime/linked_abort.ts";
import { superviseWorkers } from "../../core/runtime/worker.ts";
import { createFeeContext, planLegs, toRelaySettings } from "../legs.ts";
import type { RelayDeps } from "../relay/leg.ts";
import { openGate, type ProgramRun, type Session } from "../session.ts";
import type { Relaying } from "./operation.ts";

/** Runs `work` with the legs and fees of a session; chains that did not answer are polled again meanwhile. */
export async function withRelaying<T>(
  { deps, config, signal }: ProgramRun,
  { ledger, hub, checks, ...session }: Session,
  work: (relaying: Relaying) => Promise<T>,
): Promise<T> {
  const { clock, random, log } = deps;
  const context: RelayDeps = { clock, random, log, ledger };
  const settings = toRelaySettings(config, () => undefined);
  const chains = session.chains.map((entry) => ({
    entry,
    ...openGate(context, { hub, entry }, checks.get(entry.chain)),
  }));
  const { legs, outbound } = planLegs({ ...context, settings }, { config, hub, chains, fetch: deps.fetch });
  const fees = createFeeContext(context, { config, settings, hub, chains, checks, outbound });
  const gates = chains.flatMap(({ worker }) => worker === undefined ? [] : [worker]);
  const done = linkedAbort(signal);
  const opening = superviseWorkers({ clock, randomness: random, log }, gates, { signal: done.signal });
  try {
    return await work({ legs, fees });
  } finally {
    done.abort();
    await opening;
    done.unlink();
  }
}
