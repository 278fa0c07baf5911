/**
 * Watch of a host's usability: checked before every proof, logged when it changes. Source:
 * docs/protocol/hub-consensus.md sections 5.7, 5.10 and 9.
 */
import type { HostConsensusView, HubLightClient } from "../chains/hub_client.ts";
import type { Address } from "../evm/address.ts";
import type { StateMachineId } from "../ismp/state_machine.ts";
import type { Clock } from "../runtime/clock.ts";
import { WaitNotices } from "../runtime/waiting.ts";
import type { Log } from "../telemetry/log.ts";
import type { BeefyClientState } from "../evm/beefy_client_state.ts";

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
const OTHER_CLIENT = "its consensus client accepts no proofs of this form (ConsensusRouter is needed)";

/** True from the limit on: `ConsensusClientExpired()`. */
export function isExpired(
  { nowSec, updatedSec, unstakingSec }: Pick<HostConsensusView, "nowSec" | "updatedSec" | "unstakingSec">,
): boolean {
  return nowSec - updatedSec >= unstakingSec;
}

function unusable(code: UnusableCode, detail: string): Usability {
  return { kind: "unusable", code, detail };
}

/** Dependencies of the watch. */
export interface HostWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The hub as hosts know it. */
  readonly hub: StateMachineId;
  readonly chain: { readonly hubClient: HubLightClient };
}

/** Watches one host, and remembers what was logged already. */
export class HostWatch {
  readonly #deps: HostWatchDeps;
  readonly #notices: WaitNotices;
  #unusable: UnusableCode | undefined;
  /**
   * Client that is known to accept our proofs. Others are probed again at every poll: an endpoint may be wrong once.
   */
  #router: Address | undefined;

  constructor(deps: HostWatchDeps) {
    this.#deps = deps;
    this.#notices = new WaitNotices(deps);
  }

  /** Fetches and judges the host's state; an unusable one is logged. @throws {RpcFault} */
  async fetchUsability(signal: AbortSignal): Promise<Usability> {
    const { chain, hub } = this.#deps;
    const view = await chain.hubClient.fetchConsensusView(hub, signal);
    const usability = judgeHost(view);
    if (usability.kind === "unusable") return this.#reportUnusable(usability);
    if (this.#router !== view.consensusClient) {
      const kind = await chain.hubClient.fetchClientKind(view.consensusClient, signal);
      if (kind !== "router") {
        const detail = `${OTHER_CLIENT}: ${view.consensusClient}`;
        return this.#reportUnusable({ kind: "unusable", code: "other_client", detail });
      }
      this.#router = view.consensusClient;
    }
    if (this.#unusable !== undefined) this.#deps.log.info("host_resumed");
    this.#unusable = undefined;
    this.#notices.done("host");
    return usability;
  }

  #reportUnusable(unusable: Extract<Usability, { kind: "unusable" }>): Usability {
    const { code, detail } = unusable;
    if (this.#unusable !== code) {
      const level = code === "frozen" || code === "unknown_layout" ? "warn" : "error";
      this.#deps.log[level](`host_unusable.${code}`, { explanation: detail });
    }
    this.#unusable = code;
    this.#notices.waiting("host", { event: "long_wait.host", fields: { reason: code } });
    return unusable;
  }
}
