/** Three relayers of one fleet on the legs to the hub. */
import assert from "node:assert/strict";
import type { Message } from "../../../src/core/ismp/message.ts";
import { fleetWaitMs } from "../../../src/messaging/relay/due_messages.ts";
import { delivered, Fixture, memoryLedger, names, Relayer } from "./fixture.ts";
import { inbound, mine, outbound, round } from "./rounds.ts";
import { keccak256, toHash256 } from "../../../src/core/encoding/bytes.ts";

const TAKE_OVER_MS = 60_000;
const COUNT = 3;

/** A fleet, and messages that wait for it at a height that the hub knows. */
async function play(): Promise<
  { readonly fixture: Fixture; readonly fleet: readonly Relayer[]; readonly sent: readonly Message[] }
> {
  const fixture = new Fixture();
  const sent = Array.from({ length: 30 }, () => fixture.message());
  for (const message of sent) fixture.one.dispatch(message);
  await fixture.blocks(1);
  await fixture.update(fixture.one, fixture.hub);
  const fleet = Array.from({ length: COUNT }, (_, index) => {
    const settings = { fleet: { index, count: COUNT, takeOverMs: TAKE_OVER_MS } };
    return new Relayer(fixture, memoryLedger(fixture), { number: index + 1, settings });
  });
  return { fixture, fleet, sent };
}

async function work(relayer: Relayer): Promise<number> {
  const { sent } = await round(relayer, inbound(relayer));
  await mine(relayer, 1, relayer.hub);
  return sent;
}

function ownerOf({ commitment }: Message): number {
  return Array.from({ length: COUNT }, (_, index) => index)
    .findIndex((index) => fleetWaitMs(commitment, { index, count: COUNT, takeOverMs: TAKE_OVER_MS }) === 0);
}

Deno.test("fleet: each relayer delivers its share and leaves the rest to the others", async () => {
  const { fixture, fleet, sent } = await play();
  for (const relayer of fleet) await work(relayer);
  const deliveries = fixture.hub.deliveries();
  assert.equal(deliveries.length, sent.length);
  for (const message of sent) {
    const found = deliveries.find(({ commitment }) => commitment === message.commitment);
    assert.deepEqual(found?.relayer, fleet[ownerOf(message)]?.address);
  }
  await fixture.clock.advance(COUNT * TAKE_OVER_MS);
  for (const relayer of fleet) {
    assert.equal(await work(relayer), 0, "what was delivered is not sent again");
    const states = new Set(sent.map((message) => relayer.row(message, names.hub).state));
    assert.deepEqual(states, new Set(["delivered", "delivered_by_other"]));
  }
});

Deno.test("fleet: the relayer with the next number takes over from one that is gone, the third one later", async () => {
  const { fixture, fleet: [, next, third], sent } = await play();
  const orphans = sent.filter((message) => ownerOf(message) === 0);
  assert.ok(orphans.length > 0);
  assert.ok(next !== undefined && third !== undefined);
  for (const relayer of [next, third]) await work(relayer);
  const { state, reason } = third.row(orphans[0] ?? assert.fail(), names.hub);
  assert.deepEqual([state, reason], ["held", "left_to_fleet"]);
  await fixture.clock.advance(TAKE_OVER_MS);
  assert.equal(await work(third), 0);
  assert.equal(await work(next), orphans.length);
  assert.equal(delivered(fixture.hub).length, sent.length);
});

Deno.test("fleet: a delivery to a chain is shared by delivery_endpoints, not by number", async () => {
  const { fixture, fleet } = await play();
  const relayer = fleet[1] ?? assert.fail();
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await round(relayer, outbound(relayer));
  assert.notEqual(relayer.row(message ?? assert.fail(), names.two).reason, "left_to_fleet");
});

/** Of 3,000 messages. */
const commitments = Array.from(
  { length: 3_000 },
  (_, at) => toHash256(keccak256(new TextEncoder().encode(`${at}`))),
);

for (const count of [1, 2, 3, 7]) {
  Deno.test(`fleet: of ${count} relayers each message has one owner, and the others take over in turn`, () => {
    const turns = Array.from({ length: count }, (_, turn) => turn * TAKE_OVER_MS);
    const owned = new Map<number, number>();
    for (const commitment of commitments) {
      const waits = Array.from(
        { length: count },
        (_, index) => fleetWaitMs(commitment, { index, count, takeOverMs: TAKE_OVER_MS }),
      );
      assert.deepEqual([...waits].sort((a, b) => a - b), turns);
      const owner = waits.indexOf(0);
      assert.equal(waits[(owner + 1) % count], count === 1 ? 0 : TAKE_OVER_MS);
      owned.set(owner, (owned.get(owner) ?? 0) + 1);
    }
    // Shares of hashes are nearly equal: these differ from the mean by less than a fifth.
    const mean = commitments.length / count;
    assert.ok([...owned.values()].every((share) => Math.abs(share - mean) < mean / 5));
    assert.equal(owned.size, count);
  });
}
