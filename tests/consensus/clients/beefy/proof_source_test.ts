/** Naive proofs that the relayer makes from the relay chain itself, for hosts with the live client. */
import assert from "node:assert/strict";
import type { HostProofSource } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { onFixture, relay, relaySource, startHost } from "./fixture.ts";
import { ProvenHub } from "./proven_hub.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

/** Only the relay chain is asked. */
function only(source: HostProofSource): { readonly sources: () => readonly HostProofSource[] } {
  return { sources: () => [source] };
}

test("beefy prover: unproved sessions are caught up, three in a transaction", async ({ hub, target }) => {
  for (let each = 0; each < 4; each++) await hub.rotate(false);
  await using source = relaySource(hub);
  await using relayer = relay(hub, target, only(source));
  await relayer.untilSet(hub.relay.session.beefySetId);
  await relayer.looks(2);
  assert.equal(await target.sent(), 2);
});

test("beefy prover: where the hub has accepted a proof it is taken, where it has not one is made", async ({ hub, target }) => {
  await hub.rotate();
  const accepted = hub.state.current.id;
  await hub.rotate(false);
  await using source = relaySource(hub);
  await using relayer = relay(hub, target, { sources: (first) => [first, source] });
  await relayer.untilSet(accepted + 1n);
  assert.equal(await target.sent(), 2);
  assert.deepEqual(relayer.log.events("warn"), []);
});

test("beefy prover: a rotation that the hub has lost is proved from the relay chain", async ({ hub, target }) => {
  await hub.rotate();
  hub.evicted.add(hub.state.current.id);
  await hub.rotate();
  await using source = relaySource(hub);
  await using relayer = relay(hub, target, { sources: (first) => [first, source] });
  await relayer.untilSet(hub.state.current.id);
  assert.deepEqual(relayer.log.events("error"), []);
});

test("beefy prover: of the relay chain's blocks only those that are proved are read as a whole", async ({ hub, target }) => {
  await using source = relaySource(hub);
  await using relayer = relay(hub, target, only(source));
  hub.relay.produceBlocks(40);
  await hub.rotate(false);
  hub.relay.produceBlocks(40);
  const newest = hub.relay.session.beefySetId;
  await relayer.untilSet(newest);
  assert.equal(hub.relay.callCounts.get("chain_getBlock"), 1);
  hub.post(target.stateMachine);
  hub.makeBlocks();
  await relayer.until("the head", async () => await target.hubHeight() === hub.height);
  assert.equal(hub.relay.callCounts.get("chain_getBlock"), 2);
});

Deno.test("beefy prover: a node that has pruned what a missed session's proof is made of is reported once", async () => {
  await using hub = await ProvenHub.start({ keepStates: 2 });
  await using target = await startHost(hub);
  await hub.rotate(false);
  hub.makeBlocks(4);
  await using source = relaySource(hub);
  await using relayer = relay(hub, target, only(source));
  await relayer.looks(3);
  assert.deepEqual(relayer.log.events("warn"), ["proofs_unavailable.withheld"]);
  const { explanation } = relayer.log.linesOf("proofs_unavailable.withheld")[0]?.fields ?? {};
  assert.match(String(explanation), /127\.0\.0\.1:\d+/);
  assert.equal(await target.sent(), 0);
});

test("beefy prover: a node without justifications of a session is reported once", async ({ hub, target }) => {
  hub.relay.alter = (call, result) =>
    call.method === "chain_getBlock" ? { ...Object(result), justifications: null } : result;
  await hub.rotate(false);
  await using source = relaySource(hub);
  await using relayer = relay(hub, target, only(source));
  await relayer.looks(3);
  assert.deepEqual(relayer.log.events("warn"), ["proofs_unavailable.withheld"]);
  const { explanation } = relayer.log.linesOf("proofs_unavailable.withheld")[0]?.fields ?? {};
  assert.match(String(explanation), /\bset \d+/);
  assert.equal(await target.sent(), 0);
});

for (
  const [what, method, key] of [
    ["authorities", "state_getStorage", "0x08c41974a97dbf15cfbec28365bea2da5e0621c4869aa60c02be9adcc98a0d1d"],
    ["heads", "state_queryStorageAt", undefined],
  ] as const
) {
  Deno.test(`beefy prover: a node that lies about ${what} is named, and nothing is paid`, async () => {
    await using hub = await ProvenHub.start({ validators: 5 });
    await using target = await startHost(hub);
    hub.relay.alter = (call, result) => {
      if (call.method !== method) return result;
      if (key !== undefined && !JSON.stringify(call.params).includes(key)) return result;
      const text = JSON.stringify(result);
      const at = text.lastIndexOf('"') - 3;
      return JSON.parse(`${text.slice(0, at)}${text[at] === "0" ? "1" : "0"}${text.slice(at + 1)}`);
    };
    await hub.rotate(false);
    await using source = relaySource(hub);
    await using relayer = relay(hub, target, only(source));
    await relayer.until("a complaint", () => relayer.log.events("error").length > 0);
    const [line] = relayer.log.lines.filter(({ level }) => level === "error");
    assert.match(String(line?.fields.error), /127\.0\.0\.1.*make no valid proof \(\w+\)/);
    assert.equal(await target.sent(), 0);
    hub.relay.alter = undefined;
    const newest = hub.relay.session.beefySetId;
    await relayer.untilSet(newest);
  });
}
