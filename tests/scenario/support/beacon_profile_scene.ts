/** The consensus relayer with beacon nodes that have profiles. Start reading at {@link playBeaconProfile}. */
import assert from "node:assert/strict";
import type { Profile } from "../../../devnet/profiles/profile.ts";
import type { RestBehaviour } from "../../../devnet/profiles/rest_behaviour.ts";
import { startProfiledBeacon } from "../../../devnet/profiles/rest_front.ts";
import { type ConsensusScene, DEADLINE_MS } from "./consensus_scene.ts";

/** Outcome of it. */
export interface BeaconResult {
  /** From the start of the program until the hub had learned two heights and the next committee. */
  readonly provedMs: number;
  readonly strikes: ReadonlyMap<string, number>;
}

/**
 * A relayer that asks this node (and, where the profile needs one, a whole node behind it) proves two heights, a period
 * begins, and the committee of the next one is proved.
 */
export async function playBeaconProfile(
  scene: ConsensusScene,
  profile: Profile<RestBehaviour>,
): Promise<BeaconResult> {
  const { beacon } = scene.chain("beacon").proven;
  if (beacon === undefined) throw new Error("The devnet has no beacon chain");
  const isInJson = profile.behaviours.some(({ kind }) => kind === "jsonOnly");
  const { url } = isInJson ? beacon.openNode({ hasJsonStatesOnly: true }) : beacon;
  await using front = startProfiledBeacon(url, profile);
  const startMs = performance.now();
  const relayer = await scene.start({
    beaconUrls: profile.needsSecond === undefined ? [front.url] : [front.url, beacon.url],
  });
  await scene.untilGrown(["beacon"], 2);
  const next = beacon.period + 1;
  const since = scene.now(relayer);
  await beacon.advanceToPeriod(next);
  await relayer.waitForLine(
    ({ record }) =>
      record?.event === "update_accepted" &&
      String(record.summary).includes(`committee of period ${next + 1}`),
    { since, deadlineMs: DEADLINE_MS },
  );
  const provedMs = performance.now() - startMs;
  await scene.stop(relayer);
  return { provedMs, strikes: front.strikes };
}

/** @throws {assert.AssertionError} when one of these behaviours was never met. */
export function assertMet(name: string, strikes: ReadonlyMap<string, number>): void {
  const unmet = [...strikes].filter(([, count]) => count === 0).map(([kind]) => kind);
  assert.deepEqual(unmet, [], `${name}: behaviours that were never met`);
}
