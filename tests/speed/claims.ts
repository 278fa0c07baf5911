/**
 * Requests of one claim, for 1 and for 50 deliveries (the most that the hub takes in one claim): from the updates that
 * allow it to the line that reports it. What is polled meanwhile counts as well.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { sendPing, waitForDelivery, waitUntil } from "../../devnet/traffic/messages.ts";
import type { Part } from "./part.ts";
import { type Figure, figuresOf } from "./report.ts";
import { instantly, updateAll } from "./stage.ts";
import { openProxies, startSubject, trafficOf } from "./subject.ts";

const FEE = 2n * 10n ** 18n;
const COUNTS = [1, 50];
const ROUNDS = 2;

/** See the head of the file. */
export const claims: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  await using stack = new AsyncDisposableStack();
  const proxies = await openProxies(devnet.endpoints, {}, stack);
  await updateAll(devnet);
  const [a, b] = [devnet.chain("A").stateMachine, devnet.chain("B").stateMachine];
  const changes = { ...proxies.changes, deliveryEndpoints: [b] };
  const relayer = stack.use(await startSubject(deps, devnet.endpoints, { changes, legs: 3 }));
  const figures: Figure[] = [];
  for (const count of COUNTS) {
    const rounds: { readonly requests: number; readonly calls: number }[] = [];
    while (rounds.length < ROUNDS) {
      await deliverPaid(devnet, count);
      const since = relayer.lines.length;
      proxies.clear();
      for (const from of [a, b]) await devnet.oracle.step({ from, to: devnet.hub.identity.stateMachine });
      await relayer.waitForLine("fees_claimed", { since });
      rounds.push(trafficOf([a, b].flatMap(proxies.requestsOf).concat(proxies.hub.requests)));
    }
    figures.push(...figuresOf(rounds, [
      ["requests", `a claim of ${count}: requests`, ""],
      ["calls", `a claim of ${count}: calls`, ""],
    ]));
  }
  return figures;
};

/** Messages that pay go from A through the hub to B, and are final there when it returns. */
async function deliverPaid(devnet: Devnet, count: number): Promise<void> {
  const [a, b, { hub }] = [devnet.chain("A"), devnet.chain("B"), devnet];
  const sent = await instantly(a, () => sendPing(devnet, { from: "A", to: "B", count, fee: FEE }));
  await devnet.mine(a, 3);
  await devnet.oracle.step({ from: a.stateMachine, to: hub.identity.stateMachine });
  await waitUntil(
    "delivery to the hub",
    () => sent.every(({ commitment }) => hub.findReceipt(commitment) !== undefined),
  );
  const { number: head } = hub.best;
  await waitUntil("the delivery to be final", () => hub.finalized.number >= head);
  await devnet.oracle.step({ from: hub.identity.stateMachine, to: b.stateMachine });
  await waitForDelivery(devnet, sent, { everyMs: 100 });
  await devnet.mine(b, 3);
}
