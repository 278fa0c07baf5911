import { deepStrictEqual as equal } from "node:assert/strict";
import { ssz } from "@lodestar/types";
import { concatBytes } from "../../src/core/encoding/bytes.ts";
import { longerState, validatorsFor } from "./whole_state.ts";

function stateOf(validators: number): Uint8Array {
  const state = ssz.fulu.BeaconState.defaultValue();
  state.validators = Array.from({ length: validators }, () => ssz.phase0.Validator.defaultValue());
  state.balances = Array.from({ length: validators }, () => 32);
  state.previousEpochParticipation = Array.from({ length: validators }, () => 7);
  state.currentEpochParticipation = Array.from({ length: validators }, () => 3);
  state.inactivityScores = Array.from({ length: validators }, () => 1);
  state.pendingDeposits = [ssz.electra.PendingDeposit.defaultValue()];
  return ssz.fulu.BeaconState.serialize(state);
}

Deno.test("bench, whole states: a state made longer is that of as many validators, its parts again in their places", () => {
  const longer = concatBytes(...longerState(stateOf(20), 70));
  equal(longer, stateOf(70));
  equal(validatorsFor(stateOf(1_000).length - stateOf(0).length), 1_000);
});
