/** What was read together with a dry run, so that a delivery needs no request before it is submitted. */
import type { Clock } from "../../runtime/clock.ts";
import {
  type AcceptedSimulation,
  type Delivery,
  isFresh,
  type SignedSubmission,
  type SigningFacts,
} from "../submission.ts";

/** Content of {@link SubstrateSigningFacts}. */
export interface DryRunFacts extends SigningFacts {
  /** Per message the relayer that delivered it already. */
  readonly receipts: readonly (Uint8Array | undefined)[];
  /** The extrinsic of the dry run, made with the runtime of the best block. */
  readonly submission: SignedSubmission;
}

/** Facts that a dry run hands to the sender. */
export class SubstrateSigningFacts implements DryRunFacts {
  readonly atMs: number;
  readonly delivery: Delivery;
  readonly receipts: readonly (Uint8Array | undefined)[];
  readonly submission: SignedSubmission;

  constructor({ atMs, delivery, receipts, submission }: DryRunFacts) {
    this.atMs = atMs;
    this.delivery = delivery;
    this.receipts = receipts;
    this.submission = submission;
  }
}

/** Facts that were read together with the dry run of a delivery; `undefined`: none, or too old to be submitted. */
export function findFreshFacts(
  clock: Clock,
  delivery: Delivery,
  { facts }: Pick<AcceptedSimulation, "facts">,
): DryRunFacts | undefined {
  if (!(facts instanceof SubstrateSigningFacts)) return undefined;
  return isFresh(facts, { delivery, nowMs: clock.now() }) ? facts : undefined;
}
