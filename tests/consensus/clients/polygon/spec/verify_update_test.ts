import assert from "node:assert/strict";
import { hashValidators } from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import { PolygonError } from "../../../../../src/consensus/clients/polygon/spec/polygon_error.ts";
import { verifyPolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import { borHeader } from "../polygon_chain.ts";
import { milestoneStep, type PolygonStep, ROTATION, rotationStep } from "./known_updates.ts";
import { wrongSteps } from "./wrong_updates.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const step = await milestoneStep();
const rotation = await rotationStep();

const codeOf = (work: () => unknown): string => verdictOf(PolygonError, work);

function refusalOf({ trusted, update, view }: PolygonStep): string {
  return codeOf(() => verifyPolygonUpdate(trusted, update, view));
}

Deno.test("Polygon: a milestone with its Heimdall header is accepted", () => {
  const { consensusState, commitment } = verifyPolygonUpdate(step.trusted, step.update, step.view);
  assert.deepEqual(commitment, {
    height: { id: { stateMachine: "EVM-80002", consensusStateId: "POLY" }, height: 150n },
    commitment: {
      timestampSec: borHeader(150n).timestampSec,
      overlayRoot: undefined,
      stateRoot: borHeader(150n).stateRoot,
    },
  });
  assert.equal(consensusState.finalizedBlock, 150n);
  assert.equal(consensusState.finalizedHash, step.update.milestone?.milestone.hash);
  assert.deepEqual(consensusState.heimdall, {
    ...step.trusted.heimdall,
    height: 22n,
    timestampSec: 1_780_000_044n,
    finalizedHeaderHash: step.update.signedHeader.commit.blockId.hash,
  });
});

Deno.test("Polygon: the last header of a set brings the next one, which then is followed", () => {
  const { consensusState, commitment } = verifyPolygonUpdate(
    rotation.trusted,
    rotation.update,
    rotation.view,
  );
  assert.equal(commitment, undefined);
  assert.equal(consensusState.heimdall.height, ROTATION - 1n);
  assert.equal(consensusState.finalizedBlock, rotation.trusted.finalizedBlock);
  assert.deepEqual(consensusState.heimdall.validators, rotation.trusted.heimdall.nextValidators);
  assert.deepEqual(consensusState.heimdall.nextValidators, rotation.update.nextValidators);
  assert.equal(
    hashValidators(consensusState.heimdall.nextValidators),
    consensusState.heimdall.nextValidatorsHash,
  );
  assert.notEqual(consensusState.heimdall.nextValidatorsHash, rotation.trusted.heimdall.nextValidatorsHash);
});

for (const [what, code, wrong] of wrongSteps) {
  Deno.test(`Polygon: ${what} is refused as ${code}`, () => {
    assert.equal(refusalOf(wrong), code);
  });
}
