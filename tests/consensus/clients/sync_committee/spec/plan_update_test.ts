import { deepStrictEqual as equal, ok } from "node:assert/strict";
import fc from "fast-check";
import {
  beaconNetworkOf,
  chiado,
  epochOfSlot,
  ethereumMainnet,
  firstSlotOfPeriod,
  forkAtEpoch,
  forkNames,
  gnosisMainnet,
  isFirstSlotOfFork,
  periodOfSlot,
  sepolia,
} from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import type {
  StateUpdate,
  VerifierState,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { finalityUpdateJson } from "../../../../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import {
  isWorthSubmitting,
  offerOf,
  planUpdate,
  type TrustedPosition,
  type UpdateOffer,
  type UpdatePlan,
} from "../../../../../src/consensus/clients/sync_committee/spec/build_update.ts";
import { SyncCommitteeError } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import { verifyUpdate } from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { firstBits, readSynthetic, readVector } from "./vectors.ts";

const { trusted, first, second } = readSynthetic();

function offerFrom(update: StateUpdate, change: Partial<UpdateOffer> = {}): UpdateOffer {
  return {
    attestedSlot: update.attestedHeader.slot,
    finalizedEpoch: update.finalityProof.epoch,
    signatureSlot: update.signatureSlot,
    signerCount: 455,
    ...change,
  };
}

const boundary = firstSlotOfPeriod(sepolia, 1101n);

const cases: readonly (readonly [what: string, UpdateOffer, UpdatePlan, TrustedPosition?])[] = [
  ["same period", offerFrom(first), { action: "build", committee: "without_committee" }],
  ["next period", offerFrom(second), { action: "build", committee: "with_committee" }],
  ["epoch known", offerFrom(first, { finalizedEpoch: trusted.latestFinalizedEpoch }), {
    action: "wait",
    reason: "epoch_not_newer",
  }],
  ["attested header known", offerFrom(first, { attestedSlot: trusted.finalizedHeader.slot }), {
    action: "wait",
    reason: "header_not_newer",
  }],
  ["hub in a later period", offerFrom(first), { action: "wait", reason: "period_is_past" }, {
    ...trusted,
    statePeriod: 1101n,
  }],
  ["first block of a period", offerFrom(second, { attestedSlot: boundary - 1n, signatureSlot: boundary }), {
    action: "wait",
    reason: "attested_before_period",
  }],
  ["341 signers", offerFrom(first, { signerCount: 341 }), { action: "wait", reason: "too_few_participants" }],
  ["342 signers", offerFrom(first, { signerCount: 342 }), {
    action: "build",
    committee: "without_committee",
  }],
  ["one period missed", offerFrom(second), { action: "catch_up", period: 1100n }, {
    ...trusted,
    statePeriod: 1099n,
  }],
  ["many periods missed", offerFrom(second), { action: "catch_up", period: 901n }, {
    ...trusted,
    statePeriod: 900n,
  }],
];

for (const [what, offer, plan, state = trusted] of cases) {
  Deno.test(`update plan: ${what}`, () => equal(planUpdate(sepolia, state, offer), plan));
}

Deno.test("update plan: the first slot of a fork is waited for, as the hub cannot verify it", () => {
  const slot = 272640n * 32n;
  const state = { ...trusted, statePeriod: periodOfSlot(sepolia, slot), latestFinalizedEpoch: 0n };
  const position = { ...state, finalizedHeader: { slot: slot - 100n } };
  const offer = { attestedSlot: slot - 1n, finalizedEpoch: 1n, signatureSlot: slot, signerCount: 512 };
  // Sepolia's Fulu starts with a period too; to a hub in that period the fork alone is the reason.
  equal(planUpdate(sepolia, position, offer), { action: "wait", reason: "first_slot_of_fork" });
  const later = { ...offer, attestedSlot: slot, signatureSlot: slot + 1n };
  equal(planUpdate(sepolia, position, later).action, "build");
});

Deno.test("update plan: a finality update says itself what decides over it", () => {
  const vector = readVector("sepolia-electra-lightclient");
  const update = finalityUpdateJson.parse(vector.at("finality_updates.0.update").json);
  equal(offerOf(sepolia, update), {
    attestedSlot: 7167072n,
    finalizedEpoch: 223969n,
    signatureSlot: 7167074n,
    signerCount: 446,
  });
});

const early = ["signature_period", "attested_period", "stale_slot", "stale_epoch", "too_few_participants"];

Deno.test("update plan: what is to be built passes all rules that proofs have no part in, nothing else does", () => {
  const slot = fc.bigInt({ min: boundary - 9000n, max: boundary + 9000n });
  const offers = fc.record({
    attestedSlot: slot,
    gap: fc.bigInt({ min: 1n, max: 3n }),
    finalizedEpoch: fc.bigInt({
      min: trusted.latestFinalizedEpoch - 2n,
      max: trusted.latestFinalizedEpoch + 5n,
    }),
    signerCount: fc.integer({ min: 338, max: 346 }),
    statePeriod: fc.bigInt({ min: 1099n, max: 1102n }),
  });
  fc.assert(
    fc.property(offers, ({ attestedSlot, gap, finalizedEpoch, signerCount, statePeriod }) => {
      const state: VerifierState = { ...trusted, statePeriod };
      const signatureSlot = attestedSlot + gap;
      const plan = planUpdate(sepolia, state, { attestedSlot, finalizedEpoch, signatureSlot, signerCount });
      const code = refusal(state, {
        ...first,
        attestedHeader: { ...first.attestedHeader, slot: attestedSlot },
        finalizedHeader: { ...first.finalizedHeader, slot: attestedSlot - 1n },
        finalityProof: { ...first.finalityProof, epoch: finalizedEpoch },
        syncAggregate: { bits: firstBits(signerCount), signature: new Uint8Array(96) },
        signatureSlot,
      });
      equal(plan.action === "build", !early.includes(code));
    }),
  );
});

function refusal(state: VerifierState, update: StateUpdate): string {
  try {
    verifyUpdate(sepolia, state, update);
  } catch (error) {
    ok(error instanceof SyncCommitteeError);
    return error.code;
  }
  return "none";
}

Deno.test("update worth: a newer block, or the committee of the next period", () => {
  equal(isWorthSubmitting(trusted, first, undefined), true);
  equal(isWorthSubmitting(trusted, first, 8999999n), true);
  equal(isWorthSubmitting(trusted, first, 9000000n), false);
  equal(isWorthSubmitting(trusted, second, 9100000n), true);
  const caughtUp = { ...trusted, finalizedHeader: { slot: second.attestedHeader.slot } };
  equal(isWorthSubmitting(caughtUp, second, undefined), false);
});

Deno.test("beacon networks: chains, periods and forks", () => {
  equal(beaconNetworkOf(1), ethereumMainnet);
  equal(beaconNetworkOf(11155111), sepolia);
  equal(beaconNetworkOf(100), gnosisMainnet);
  equal(beaconNetworkOf(10200), chiado);
  equal(beaconNetworkOf(137), undefined);
  for (const network of [ethereumMainnet, sepolia, gnosisMainnet, chiado]) {
    equal(firstSlotOfPeriod(network, 3n), 3n * 8192n);
    equal(periodOfSlot(network, 3n * 8192n - 1n), 2n);
    // Gloas has no date yet on most networks.
    equal(network.forks.map(({ name }) => name), forkNames.slice(0, network === sepolia ? 8 : 7));
    for (const fork of network.forks) {
      equal(forkAtEpoch(network, fork.epoch), fork);
      const slot = fork.epoch * network.slotsPerEpoch;
      equal(epochOfSlot(network, slot), fork.epoch);
      equal(isFirstSlotOfFork(network, slot), fork.name !== "phase0");
      equal(isFirstSlotOfFork(network, slot + 1n), false);
    }
  }
  equal(forkAtEpoch(gnosisMainnet, 1714687n).version, "0x05000064");
  equal(forkAtEpoch(chiado, 1353216n).version, "0x0600006f");
  equal(forkAtEpoch(ethereumMainnet, 411391n).version, "0x05000000");
  equal(forkAtEpoch(sepolia, 49n).version, "0x90000069");
});
