/**
 * The state root below which messages are proved, asked of the target as soon as it knows the height: while events are
 * read instead of after them.
 */
import type { ChainReads } from "../../../core/chains/reads.ts";
import type { ProofVerifier } from "../../../core/chains/proofs.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { StateMachineHeight } from "../../../core/ismp/state_machine.ts";
import type { Leg } from "../leg.ts";

/** Target of proofs, with one root read ahead. */
export class RootAhead implements ProofVerifier {
  readonly id: ProofVerifier["id"];
  readonly capabilities: ProofVerifier["capabilities"];
  readonly reads: ProofVerifier["reads"];
  readonly #source: Leg["source"];
  readonly #target: { readonly reads: Pick<ChainReads, "fetchStateRoot"> };
  /** Newest height whose root was read ahead. */
  #height = 0n;
  /** The root that was read ahead, until a proof takes it. */
  #root: Promise<Hash256 | undefined> | undefined;

  constructor({ source, target }: Pick<Leg, "source" | "target">) {
    this.id = target.id;
    this.capabilities = target.capabilities;
    this.#source = source;
    this.#target = target;
    this.reads = { fetchStateRoot: (of, signal) => this.#take(of, signal) };
  }

  /** Begins to read the root of a height of the source, once per height, where proofs need it. */
  begin(height: bigint, signal: AbortSignal): void {
    if (height <= this.#height || !this.#source.capabilities.provesStoredRoot) return;
    this.#height = height;
    this.#root = this.#target.reads.fetchStateRoot({ id: this.#source.id, height }, signal);
    this.#root.catch(() => undefined); // whoever needs it asks again
  }

  /** The root that was read ahead, for one proof; every further one reads it again, since it may be vetoed. */
  async #take(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined> {
    const ahead = of.height === this.#height ? this.#root : undefined;
    this.#root = undefined;
    const root = await ahead?.catch(() => undefined);
    return root ?? await this.#target.reads.fetchStateRoot(of, signal);
  }
}
