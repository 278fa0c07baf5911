/** Locks of provers: the worker of a chain and an operator's command never work on it at the same time. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { Limit } from "../../core/runtime/limit.ts";

/** A lock for each chain. */
export class ProverTurns {
  readonly #turns = new Map<StateMachine, Limit>();

  /** The lock of a chain. */
  of(chain: StateMachine): Limit {
    const turn = this.#turns.get(chain) ?? new Limit(1);
    this.#turns.set(chain, turn);
    return turn;
  }
}
