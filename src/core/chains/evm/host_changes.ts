/** Changes of a host by governance, for one line of the log. Pure. */
import type { HostParams } from "../../evm/host_reads.ts";
import type { LogFields } from "../../telemetry/log.ts";

/** Contracts and accounts of a host that matter to a relayer. */
const REPORTED = ["handler", "consensusClient", "feeToken", "hostManager"] as const satisfies readonly (
  keyof HostParams
)[];

/** Per changed parameter the old and the new address; `undefined` if none of them changed. */
export function hostChanges(before: HostParams, now: HostParams): LogFields | undefined {
  const changed = REPORTED.filter((name) => before[name] !== now[name]);
  if (changed.length === 0) return undefined;
  return Object.fromEntries(changed.map((name) => [name, `${before[name]} -> ${now[name]}`]));
}
