/** Another relayer that delivers messages of the hub to the second chain. */
import assert from "node:assert/strict";
import type { Delivery, SignedSubmission } from "../../../src/core/chains/submission.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import { type Fixture, Relayer, setUp } from "./fixture.ts";

/** A relayer, and a delivery that it has signed. */
export interface SignedDelivery {
  readonly competitor: Relayer;
  readonly submission: SignedSubmission;
}

/** Lets a relayer with that number sign a delivery; nothing is sent. */
export async function signDelivery(
  fixture: Fixture,
  messages: readonly Message[],
  number = 2,
): Promise<SignedDelivery> {
  return await signSteps(fixture, async ({ hub, two, signal }) => {
    const { height } = await two.fetchView(hub.id, signal);
    const proof = await hub.proveMessages(messages, { height, target: two }, signal);
    return [{ kind: "messages", messages, proof }];
  }, number);
}

/** Lets a relayer with that number sign such steps; nothing is sent. */
export async function signSteps(
  fixture: Fixture,
  make: (competitor: Relayer) => Promise<Delivery["steps"]>,
  number = 2,
): Promise<SignedDelivery> {
  const { relayer: competitor } = setUp({ fixture, number });
  const { two, signal } = competitor;
  const delivery = { steps: await make(competitor) };
  const simulation = await two.simulate(delivery, signal);
  assert.ok(simulation.kind === "accepted");
  const signed = await two.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
  assert.ok(signed.kind === "signed");
  return { competitor, submission: signed.submission };
}

/** Puts a delivery by a relayer with that number into the pool, before anything that comes later. */
export async function raceWith(
  fixture: Fixture,
  messages: readonly Message[],
  number = 2,
): Promise<Relayer> {
  const { competitor, submission } = await signDelivery(fixture, messages, number);
  await competitor.two.broadcast(submission, competitor.signal);
  return competitor;
}
