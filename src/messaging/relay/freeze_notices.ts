/** Reports when a leg's target stops accepting messages because it is frozen, and when it accepts them again. */
import type { CounterpartyView } from "../../core/chains/port.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type Leg, legName } from "./leg.ts";

/** Reported state of one leg. */
export class FreezeNotices {
  readonly #log: Log;
  readonly #leg: Leg;
  #isFrozen = false;

  constructor(log: Log, leg: Leg) {
    this.#log = log;
    this.#leg = leg;
  }

  /** Records the state observed in a round. */
  note({ isFrozen }: Pick<CounterpartyView, "isFrozen">): void {
    if (isFrozen === this.#isFrozen) return;
    this.#isFrozen = isFrozen;
    const { source, target } = this.#leg;
    const fields = { leg: legName(this.#leg), chain: target.id.stateMachine };
    if (!isFrozen) {
      this.#log.info("freeze_ended", fields);
    } else if (target.family === "evm") {
      this.#log.warn("host_frozen", fields);
    } else {
      const client = source.id.consensusStateId;
      this.#log.warn("client_frozen", {
        ...fields,
        client,
      });
    }
  }
}
