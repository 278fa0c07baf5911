/** What relays, in a command's own process: planned as in the relayer, while its workers do not run. */
import { createFeeContext, planLegs, toRelaySettings } from "../legs.ts";
import type { RelayDeps } from "../relay/leg.ts";
import type { ProgramRun, Session } from "../session.ts";
import type { Relaying } from "./operation.ts";

/** Plans the legs and fees of a session. */
export function planRelaying({ deps, config }: ProgramRun, session: Session): Relaying {
  const { clock, random, log } = deps;
  const context: RelayDeps = { clock, random, log, ledger: session.ledger };
  const settings = toRelaySettings(config, () => undefined);
  const { legs, outbound } = planLegs({ ...context, settings }, { ...session, config, fetch: deps.fetch });
  return { legs, fees: createFeeContext(context, { ...session, config, settings, outbound }) };
}
