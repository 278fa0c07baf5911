/** What governance changed about a host, for one line of the log. Pure. */
import type { HostParams } from "../../evm/host_reads.ts";
import type { LogFields } from "../../telemetry/log.ts";

/** Contracts and accounts around a host that matter to a relayer. */
const TOLD = ["handler", "consensusClient", "feeToken", "hostManager"] as const satisfies readonly (
  keyof HostParams
)[];

/** Per changed parameter the old and the new address; `undefined` when none of those changed. */
export function hostChanges(before: HostParams, now: HostParams): LogFields | undefined {
  const changed = TOLD.filter((name) => before[name] !== now[name]);
  if (changed.length === 0) return undefined;
  return Object.fromEntries(changed.map((name) => [name, `${before[name]} -> ${now[name]}`]));
}
