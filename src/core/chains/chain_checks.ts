/** Checks of a chain for the operator, as the adapters list them: one list per round. */
import { type CheckJob, REQUEST_TIMEOUT_MS } from "../checks/run_checks.ts";
import type { CheckRow } from "../checks/check_row.ts";
import { RpcFault } from "../rpc/fault.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ChainGas } from "./port.ts";
import type { AccountNonces } from "./replacement.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";

/** What the checks of a chain need of the hub. */
export interface ChainCheckContext {
  readonly hub: StateMachineId;
  /** Fetches the newest height of the chain that the hub knows; `undefined`: none, or the hub does not answer. */
  readonly fetchKnownHeight: (signal: AbortSignal) => Promise<bigint | undefined>;
  /** True: our account also signs messages for the hub. */
  readonly signsMessages?: boolean;
  /** Compares the nonces of our account with those that the program has used; absent: they are not read. */
  readonly judgeNonces?: ((nonces: AccountNonces) => CheckRow) | undefined;
}

/** Checks of a chain in one round. */
export interface ChainChecks {
  readonly jobs: readonly CheckJob[];
  /** False when no endpoint answers in time: then there is one row about that, and nothing else is checked. */
  readonly isReachable: (signal: AbortSignal) => Promise<boolean>;
  /** Price of the native token by the host's router, as {@link ChainGas} reads it; absent: there is no router. */
  readonly fetchRouterPrice?: ChainGas["fetchRouterPrice"];
}

/** Asks a chain once per round whether it answers. */
export function createReach(
  clock: Clock,
  chain: string,
  ask: (signal: AbortSignal) => Promise<unknown>,
): ChainChecks["isReachable"] {
  let asked: Promise<boolean> | undefined;
  return (signal) => asked ??= isAnswered(clock, chain, { ask, signal });
}

async function isAnswered(
  clock: Clock,
  chain: string,
  { ask, signal }: {
    readonly ask: (signal: AbortSignal) => Promise<unknown>;
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  try {
    await withDeadline(clock, { what: `an answer of ${chain}`, afterMs: REQUEST_TIMEOUT_MS, signal }, ask);
    return true;
  } catch (error) {
    if (error instanceof RpcFault || error instanceof DeadlineFault) return false;
    throw error;
  }
}

/** Makes a job that has nothing to say while the chain does not answer. */
export function whileReachable(isReachable: ChainChecks["isReachable"], job: CheckJob): CheckJob {
  return {
    ...job,
    run: async (signal): Promise<readonly CheckRow[]> =>
      await isReachable(signal) ? await job.run(signal) : [],
  };
}
