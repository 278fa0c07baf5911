/** Updates of a chain that shares no code with the verifier, and the states and clocks that they are verified with. */
import assert from "node:assert/strict";
import {
  decodePolygonUpdate,
  type PolygonHubView,
  verifyPolygonUpdate,
} from "../../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import { parseCometTime } from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import {
  DEFAULT_TRUST,
  POLYGON_UNBONDING_SEC,
  type PolygonConsensusState,
  polygonConsensusStateCodec,
  type PolygonUpdate,
  polygonUpdateCodec,
} from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import { PolygonError } from "../../../../../src/consensus/clients/polygon/spec/polygon_error.ts";
import { checkPolygonUpdate } from "../../../../../devnet/hub/verifiers/polygon/polygon_client.ts";
import { ClientRefusal } from "../../../../../devnet/hub/verifiers/refusals.ts";
import { type HeimdallChainOptions, usualSigners } from "../../../../../devnet/heimdall/heimdall_chain.ts";
import { updatesOf } from "../../../findings.ts";
import { followedPolygon, type MemoryPolygon, POLY } from "../polygon_chain.ts";

/** What the hub is given, and by what it judges. */
export interface PolygonStep {
  readonly trusted: PolygonConsensusState;
  readonly update: PolygonUpdate;
  readonly view: PolygonHubView;
}

/** Three of four strong validators sign, which is just enough, so that every signature counts. */
export const justEnough: Partial<HeimdallChainOptions> = { silentAt: () => [4, 5] };

/** The step that a prover finds after 20 blocks, and at the end of it what `more` adds. */
async function stepOf(
  options: Partial<HeimdallChainOptions>,
  which: 0 | -1,
  more: (chain: MemoryPolygon) => void = () => {},
): Promise<PolygonStep> {
  const { chain, hub, prover } = await followedPolygon(options);
  const trusted = hub.state;
  chain.heimdall.growTo(20n);
  more(chain);
  hub.nowSec = chain.heimdall.timeOf(chain.heimdall.head) + 40n;
  const found = updatesOf(await prover.next(new AbortController().signal));
  const update = decodePolygonUpdate(found.proofs.at(which) ?? new Uint8Array(0));
  return { trusted, update, view: { nowSec: hub.nowSec, consensusStateId: POLY } };
}

/** A step with a milestone, some blocks after the trusted one. */
export async function milestoneStep(
  options: Partial<HeimdallChainOptions> = justEnough,
): Promise<PolygonStep> {
  return await stepOf(options, -1, (chain) => chain.finalize(150n));
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
  return await stepOf(rotating, 0);
}

/** A state that trusts the block `gap` below the update's, at two seconds a block, and has the same validators. */
export function trustedBelow(
  { signedHeader: { header }, nextValidators = [] }: PolygonUpdate,
  gap: bigint,
  chain: Pick<PolygonConsensusState, "chainId" | "finalizedBlock">,
): PolygonConsensusState {
  const heimdall = {
    chainId: header.chainId,
    height: header.height - gap,
    timestampSec: parseCometTime(header.time).seconds - 2n * gap,
    finalizedHeaderHash: header.appHash,
    validators: nextValidators,
    nextValidators,
    nextValidatorsHash: header.validatorsHash,
    trustingPeriodSec: POLYGON_UNBONDING_SEC,
    options: DEFAULT_TRUST,
  };
  return { heimdall, finalizedHash: header.appHash, ...chain };
}

/** True when the work is done, false when a verifier refuses it. */
export function isTaken(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    assert.ok(error instanceof PolygonError || error instanceof ClientRefusal, String(error));
    return false;
  }
}

/** The verdict on which the relayer's verifier and the simulated hub's agree, each of which reads the bytes. */
export function isAccepted(trusted: PolygonConsensusState, update: PolygonUpdate, nowSec: bigint): boolean {
  const proof = polygonUpdateCodec.enc(update);
  const state = polygonConsensusStateCodec.enc(trusted);
  const view = { nowSec, consensusStateId: POLY };
  const verdict = isTaken(() => verifyPolygonUpdate(trusted, decodePolygonUpdate(proof), view));
  assert.equal(isTaken(() => checkPolygonUpdate({ trusted: state, proof, stateId: POLY, nowSec })), verdict);
  return verdict;
}
