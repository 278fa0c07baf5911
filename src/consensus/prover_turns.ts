/** Locks of light clients: the worker that advances one and an operator's command never work on it at the same time. */
import { Limit } from "../core/runtime/limit.ts";
import type { UpdateRoute } from "./poll_loop.ts";

/** A lock for each light client. */
export class ProverTurns {
  readonly #turns = new Map<string, Limit>();

  /** The lock of the light client of a chain on another. */
  of({ chain, target }: UpdateRoute): Limit {
    const route = `${chain} ${target}`;
    const turn = this.#turns.get(route) ?? new Limit(1);
    this.#turns.set(route, turn);
    return turn;
  }
}
