/** Updates of a chain that shares no code with the verifier, and the states and clocks that they are verified with. */
import { decodePolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import type { PolygonConsensusState } from "../../../../../src/consensus/clients/polygon/spec/consensus_state.ts";
import type { PolygonHubView } from "../../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import type { PolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import { type HeimdallChainOptions, usualSigners } from "../../../../../devnet/heimdall/heimdall_chain.ts";
import { followedPolygon, POLY } from "../polygon_chain.ts";

/** What the hub is given, and by what it judges. */
export interface PolygonStep {
  readonly trusted: PolygonConsensusState;
  readonly update: PolygonUpdate;
  readonly view: PolygonHubView;
}

/** Three of four strong validators sign, which is just enough, so that every signature counts. */
export const justEnough: Partial<HeimdallChainOptions> = { silentAt: () => [4, 5] };

/** A step with a milestone, some blocks after the trusted one. */
export async function milestoneStep(
  options: Partial<HeimdallChainOptions> = justEnough,
): Promise<PolygonStep> {
  const { chain, hub, prover } = await followedPolygon(options);
  const trusted = hub.state;
  chain.heimdall.growTo(20n);
  chain.finalize(150n);
  hub.nowSec = chain.heimdall.timeOf(chain.heimdall.head) + 40n;
  const found = await prover.next(new AbortController().signal);
  if (found.kind !== "updates") throw new Error(found.reason);
  const update = decodePolygonUpdate(found.proofs.at(-1) ?? new Uint8Array(0));
  return { trusted, update, view: { nowSec: hub.nowSec, consensusStateId: POLY } };
}

/** From this block on there is another set: one left, one came, and one has more power. */
export const ROTATION = 15n;

/** Validators that change at {@link ROTATION}. */
export const rotating: Partial<HeimdallChainOptions> = {
  signersOf: (height) =>
    height < ROTATION ? usualSigners : [
      { key: 1, power: 150n },
      { key: 2, power: 100n },
      { key: 3, power: 100n },
      { key: 6, power: 100n },
    ],
};

/** The step that brings the new set, with the last block of the old one. */
export async function rotationStep(): Promise<PolygonStep> {
  const { chain, hub, prover } = await followedPolygon(rotating);
  const trusted = hub.state;
  chain.heimdall.growTo(20n);
  hub.nowSec = chain.heimdall.timeOf(20n) + 40n;
  const found = await prover.next(new AbortController().signal);
  if (found.kind !== "updates") throw new Error(found.reason);
  const update = decodePolygonUpdate(found.proofs[0] ?? new Uint8Array(0));
  return { trusted, update, view: { nowSec: hub.nowSec, consensusStateId: POLY } };
}
