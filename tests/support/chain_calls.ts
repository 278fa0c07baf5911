/** Deliveries to a chain, as far as most tests go with them. */
import type { Chain } from "../../src/core/chains/port.ts";
import type { AcceptedSimulation, Delivery, SignedSubmission } from "../../src/core/chains/submission.ts";

const never = new AbortController().signal;

/** The kind of a chain's answer to a delivery, or the code of its refusal. */
export function kindOf(
  answer: { readonly kind: string; readonly refusal?: { readonly code: string } | undefined },
): string {
  return answer.refusal?.code ?? answer.kind;
}

/** The simulation of a delivery that the chain takes. @throws {Error} with the reason of a refusal. */
export async function accepted({ simulator }: Chain, delivery: Delivery): Promise<AcceptedSimulation> {
  const simulation = await simulator.simulate(delivery, never);
  if (simulation.kind === "accepted") return simulation;
  throw new Error(`Refused: ${simulation.refusal.detail}`);
}

/** A delivery that the chain takes, signed. @throws {Error} when it is refused or not signed. */
export async function signed(chain: Chain, delivery: Delivery): Promise<SignedSubmission> {
  const input = { simulation: await accepted(chain, delivery), nonceAtLeast: undefined };
  const result = await chain.sender.sign(delivery, input, never);
  if (result.kind === "signed") return result.submission;
  throw new Error(`Not signed: ${kindOf(result)}`);
}
