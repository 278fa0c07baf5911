/** Another relayer, which delivers now and then whatever it can. It keeps nothing in mind and asks for no fee. */
import type { Message } from "../../../src/core/ismp/message.ts";
import type { Randomness } from "../../../src/core/runtime/clock.ts";
import { toReceiptKey } from "../../../src/messaging/relay/decisions/route.ts";
import type { MemoryChain } from "../../support/memory_chain.ts";
import type { Sent } from "./course.ts";

/** Percent of its chances that it takes. */
const EAGER_PERCENT = 60;

/** Delivers one request on one of the four legs, if it is in the mood and finds one. */
export async function compete(
  random: Randomness,
  [one, two, hub]: readonly [MemoryChain, MemoryChain, MemoryChain],
  sent: readonly Sent[],
): Promise<void> {
  if (random.fraction() * 100 >= EAGER_PERCENT) return;
  const legs = [[one, hub], [two, hub], [hub, one], [hub, two]] as const;
  const leg = legs[Math.floor(random.fraction() * legs.length)];
  if (leg === undefined) return;
  const [source, target] = leg;
  const signal = new AbortController().signal;
  const { height } = await target.fetchView(source.id, signal);
  if (height === 0n) return;
  const mine: Message[] = [];
  for (const { message, source: from, dest } of sent) {
    if (message.kind !== "post") continue;
    const isOfLeg = source === hub
      ? dest.id.stateMachine === target.id.stateMachine
      : from.id.stateMachine === source.id.stateMachine;
    if (!isOfLeg || !source.hasSent(message.commitment, height)) continue;
    const [receipt] = await target.fetchReceipts([message], signal);
    if (receipt === undefined && toReceiptKey(message) === message.commitment) mine.push(message);
  }
  const chosen = mine.slice(0, 1 + Math.floor(random.fraction() * 3));
  if (chosen.length === 0) return;
  const proof = await source.proveMessages(chosen, { height, target }, signal);
  const delivery = { steps: [{ kind: "messages", messages: chosen, proof }] } as const;
  const simulation = await target.simulate(delivery, signal);
  if (simulation.kind === "refused") return;
  const signing = await target.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
  if (signing.kind === "signed") await target.broadcast(signing.submission, signal);
}
