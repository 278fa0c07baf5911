/**
 * Who finds out what keeps a leg from delivering: an EVM chain whose state no endpoint proves where the hub knows it
 * (deliveries to it could never be claimed), and a chain whose messages the hub does not take yet.
 */
import type { EvmChain } from "../core/chains/evm/evm_chain.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { StateMachineId } from "../core/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../core/rpc/fault.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { FindObstacle, Obstacle } from "./relay/decisions/obstacle.ts";

/** A good finding holds for this long: nodes are replaced, and the hub's view of a chain may fall behind. */
const CLEAR_MS = 5 * 60_000;
/** A bad one, or none, is checked again after this time. */
const HINDERED_MS = 30_000;
/** Endpoints that fail in other ways for so long count as unable. */
const PATIENCE_MS = 10 * 60_000;

/** What finding out takes. */
export interface ObstacleDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Faults that say what a node cannot do; all others pass, and leave the last finding as it is. */
const INABILITIES: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([
  "pruned",
  "missing_method",
  "malformed",
  "refused",
  "too_large",
  "not_found",
]);

/** For the leg to an EVM chain: is a delivery there going to be claimable? */
export function findTargetProvability(
  deps: ObstacleDeps,
  hub: Pick<HubChain, "fetchView">,
  chain: Pick<EvmChain, "id" | "requireProofs">,
): FindObstacle {
  const name = chain.id.stateMachine;
  const obstacle = (detail: string): Obstacle => ({ reason: "sink_unprovable", detail });
  return remembered(deps.clock, async (last, signal) => {
    let asked = "";
    try {
      const { height } = await hub.fetchView(chain.id, signal);
      if (height === 0n) return undefined;
      asked = `block ${height}: `;
      await chain.requireProofs(height, signal);
      return undefined;
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      // Before the first good finding nothing is risked.
      const isTelling = asked !== "" && INABILITIES.has(error.code);
      if (isTelling || last === "unknown") return obstacle(`${asked}${error.detail ?? error.code}`);
      throw error;
    }
  }, deps.log.with({ chain: name }));
}

/** For the leg to the hub: does the hub take messages of the source? */
export function findSourceAcceptance(
  deps: ObstacleDeps,
  hub: Pick<HubChain, "findUnlisted">,
  id: StateMachineId,
): FindObstacle {
  const name = id.stateMachine;
  return remembered(deps.clock, async (_last, signal) => {
    const unlisted = await hub.findUnlisted(id, signal);
    if (unlisted === undefined) return undefined;
    const detail = `the hub ${unlisted}`;
    return { reason: "source_not_accepted", detail };
  }, deps.log.with({ chain: name }));
}

type Finding = Obstacle | "none" | "unknown";

/** Asks now and then; a fault that passes leaves the last finding as it is. */
function remembered(
  clock: Clock,
  find: (last: Finding, signal: AbortSignal) => Promise<Obstacle | undefined>,
  log: Log,
): FindObstacle {
  let last: Finding = "unknown";
  let foundMs = clock.now();
  let nextMs = foundMs;
  return async (signal) => {
    if (clock.now() >= nextMs) {
      try {
        const isStale = last === "none" && clock.now() - foundMs >= CLEAR_MS + PATIENCE_MS;
        last = await find(isStale ? "unknown" : last, signal) ?? "none";
        foundMs = clock.now();
        nextMs = foundMs + (last === "none" ? CLEAR_MS : HINDERED_MS);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault)) throw error;
        log.debug("delivery_check_failed", { error });
        nextMs = clock.now() + HINDERED_MS;
      }
    }
    return typeof last === "string" ? undefined : last;
  };
}
