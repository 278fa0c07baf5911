/**
 * Usability of a host for proofs of the hub: pure decisions on its state. Source: docs/protocol/hub-consensus.md
 * sections 5.7, 5.10 and 9.
 */
import type { HostConsensusView } from "../../../core/chains/hub_client.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";

/** State of a host that accepts proofs. */
export type UsableHostView = HostConsensusView & { readonly state: BeefyClientState };

/** Reason that a host accepts no proofs; it is polled again, since others can fix all of them. */
export type UnusableCode = "frozen" | "expired" | "other_client" | "unknown_layout" | "foreign_hub";

/** Result of checking a host. */
export type Usability =
  | { readonly kind: "usable"; readonly view: UsableHostView }
  | { readonly kind: "unusable"; readonly code: UnusableCode; readonly detail: string };

/** Judges a host before its client is probed. */
export function judgeHost(view: HostConsensusView): Usability {
  const { state } = view;
  if (!view.acceptsHub) {
    return unusable("foreign_hub", "the host stores no heights of this hub: its governance must add it");
  }
  if (state === undefined) {
    const detail =
      `the host keeps a state of ${view.stateBytes} bytes, a layout that this version does not know`;
    return unusable("unknown_layout", detail);
  }
  if (isExpired(view)) {
    const ageSec = view.nowSec - view.updatedSec;
    const detail =
      `the client has expired: its last update was ${ageSec} s ago and ${view.unstakingSec} s are allowed; no ` +
      "relayer can update it, its governance must set a new consensus state";
    return unusable("expired", detail);
  }
  if (view.isFrozen) return unusable("frozen", "the host is frozen and accepts nothing until it is unfrozen");
  return { kind: "usable", view: { ...view, state } };
}

/** Explanation for clients without a byte for the kind of proof. */
export const OTHER_CLIENT = "its consensus client accepts no proofs of this form (ConsensusRouter is needed)";

/** True from the limit on: `ConsensusClientExpired()`. */
export function isExpired(
  { nowSec, updatedSec, unstakingSec }: Pick<HostConsensusView, "nowSec" | "updatedSec" | "unstakingSec">,
): boolean {
  return nowSec - updatedSec >= unstakingSec;
}

function unusable(code: UnusableCode, detail: string): Usability {
  return { kind: "unusable", code, detail };
}
