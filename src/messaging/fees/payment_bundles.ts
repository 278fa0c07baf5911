/** Consensus proofs that travel in front of a payment, where a chain learns heights of the hub that way. */
import { ProofFollower } from "../../core/hub_proofs/proof_follower.ts";
import type { StateMachine } from "../../core/protocol/ismp/state_machine.ts";
import { hasRoomInFlight } from "../pipeline/in_flight.ts";
import type { Leg, PipelineDeps } from "../pipeline/leg.ts";
import { sendConsensus } from "../pipeline/send.ts";
import type { ProvableHeight } from "./provable_height.ts";

/** Finds proofs for payments; one follower per chain. */
export class PaymentBundles {
  readonly #deps: PipelineDeps;
  readonly #legTo: (chain: StateMachine) => Leg;
  readonly #hasLegWorker: (chain: StateMachine) => boolean;
  readonly #followers = new Map<StateMachine, ProofFollower>();

  /** @param hasLegWorker true where another worker brings the rotations */
  constructor(
    deps: PipelineDeps,
    legTo: (chain: StateMachine) => Leg,
    hasLegWorker: (chain: StateMachine) => boolean,
  ) {
    this.#deps = deps;
    this.#legTo = legTo;
    this.#hasLegWorker = hasLegWorker;
  }

  /** A height at or above `hubBlock` with the proof that goes in front; `undefined`: none yet. */
  async find(
    chain: StateMachine,
    hubBlock: bigint,
    signal: AbortSignal,
  ): Promise<ProvableHeight | undefined> {
    const leg = this.#legTo(chain);
    if (leg.bundles === undefined) return undefined;
    const { clock, log } = this.#deps;
    const follower = this.#followers.get(chain) ??
      new ProofFollower(leg.bundles, { clock, log, everyMs: leg.pollIntervalMs });
    this.#followers.set(chain, follower);
    const view = await leg.sink.fetchView(leg.source.id, signal);
    const seen = await follower.look(view, signal);
    if (seen?.kind === "provable" && seen.height < hubBlock) return undefined;
    const next = seen?.kind === "provable" ? await follower.load(view, signal) : seen;
    if (next?.kind === "prelude") {
      return next.height < hubBlock ? undefined : { height: next.height, prelude: [next.proof] };
    }
    if (next !== undefined && !this.#hasLegWorker(chain) && hasRoomInFlight(this.#deps, leg)) {
      await sendConsensus(this.#deps, leg, next.proofs, signal);
    }
    return undefined;
  }
}
