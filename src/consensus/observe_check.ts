/** Checks that a worker makes before its first poll: what they find in its way is noted as that of a poll. */
import { RpcFault } from "../core/rpc/fault.ts";
import { describeFailure } from "./poll_fault.ts";
import type { UpdateObserver, UpdateRoute } from "./update_observer.ts";

/** A check of a light client's chains. */
export interface ObservedCheck<Finding> {
  readonly route: UpdateRoute;
  /** Absent: nobody observes. */
  readonly observer: UpdateObserver | undefined;
  readonly check: () => Promise<readonly Finding[]>;
}

/** Makes a check and notes its fault, or its fatal findings. @throws what the check throws */
export async function observeCheck<Finding extends { readonly severity: string; readonly text: string }>(
  { route, observer, check }: ObservedCheck<Finding>,
): Promise<readonly Finding[]> {
  try {
    const findings = await check();
    const texts = findings.filter(({ severity }) => severity === "fatal").map(({ text }) => text);
    if (texts.length > 0) {
      observer?.notePoll(route, { kind: "suspended", failure: { text: texts.join("; ") } });
    }
    return findings;
  } catch (error) {
    if (error instanceof RpcFault) {
      observer?.notePoll(route, { kind: "failed", failure: describeFailure(error) });
    }
    throw error;
  }
}
