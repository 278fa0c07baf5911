/** Naive proofs that the relayer makes from the relay chain itself: for hosts with the live client, and what makes none. */
import assert from "node:assert/strict";
import type { HostProofSource, ProofsForHost } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { hostView, onFixture, relay, relaySource, startHost } from "./fixture.ts";
import { ProvenHub } from "./proven_hub.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { parachainHeadKey } from "../../../../src/core/substrate/parachain_heads.ts";
import type { BeefyClientState } from "../../../../src/core/evm/beefy_client_state.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { bytes } from "../../../../src/core/encoding/scale.ts";

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

const never = new AbortController().signal;
const stateMachine = parseStateMachine("EVM-97");

/** What a source brings a host with that state, which knows no height of the hub. */
async function next(
  hub: ProvenHub,
  state: BeefyClientState,
  paraIds?: readonly number[],
): Promise<ProofsForHost> {
  const source = relaySource(hub, paraIds);
  try {
    return await source.next({ chain: stateMachine, view: hostView(state, 0n) }, never);
  } finally {
    await source.close();
  }
}

/** A hub with a message and a rotation that nobody has proved. */
async function startBehind(): Promise<ProvenHub> {
  const hub = await ProvenHub.start();
  hub.post(stateMachine);
  await hub.rotate(false);
  return hub;
}

function detailOf(found: ProofsForHost): string {
  assert.equal(found.kind, "unable");
  assert.ok(found.kind === "unable");
  assert.equal(found.code, "mismatch");
  return found.detail;
}

/** What a host with the hub's state is told about these parachains. */
async function refusal(hub: ProvenHub, ...paraIds: readonly number[]): Promise<string> {
  return detailOf(await next(hub, hub.state, paraIds));
}

Deno.test("relay source: parachains whose heads are missing, not committed to or undated are named with their key", async () => {
  await using hub = await startBehind();
  assert.equal((await next(hub, hub.state)).kind, "proofs");
  assert.match(
    await refusal(hub, 4009, 4242, 4243),
    /^\[hub\.prover\]\.para_ids: the heads of 4242, 4243 cannot .*127\.0\.0\.1:\d+ \(head_missing\); remove/,
  );
  assert.match(await refusal(hub, 1000, 4009), /the heads of 1000 cannot .* \(timestamp_not_found\)/);
  const key = toHex(parachainHeadKey(4242));
  const head = toHex(bytes.enc(new Uint8Array(100)));
  hub.relay.alter = ({ method }, result) => {
    if (method !== "state_queryStorageAt" || !Array.isArray(result)) return result;
    return result.map((set) => ({
      ...set,
      changes: set.changes.map((change: readonly unknown[]) => change[0] === key ? [key, head] : change),
    }));
  };
  assert.match(await refusal(hub, 4009, 4242), /the heads of 4242 cannot .* \(head_missing\)/);
});

for (const leafHeads of ["listed", "all"] as const) {
  Deno.test(`relay source: leaves with ${leafHeads} heads are proved`, async () => {
    await using hub = await ProvenHub.start({ leafHeads, unlistedParachains: [900, 5_000] });
    hub.post(stateMachine);
    await hub.rotate(false);
    hub.relay.produceBlocks(3);
    const found = await next(hub, hub.state);
    assert.ok(found.kind === "proofs" && found.purpose === "rotations", found.kind);
    // The relay chain's runtime names no other parachain: only the newer form has one of them.
    const code = leafHeads === "all" ? /timestamp_not_found/ : /head_missing/;
    assert.match(await refusal(hub, 900, 4009), code);
  });
}

Deno.test("relay source: a client with another activation block does not fit the relay chain", async () => {
  await using hub = await startBehind();
  const { beefyActivationBlock } = hub.state;
  const state = { ...hub.state, beefyActivationBlock: beefyActivationBlock + 1n };
  const detail = detailOf(await next(hub, state));
  assert.match(
    detail,
    new RegExp(`^the host's state does not match .* from block ${beefyActivationBlock + 1n} on`),
  );
});

Deno.test("relay source: heads that a node gets wrong are its fault, where all parachains are known", async () => {
  await using hub = await startBehind();
  hub.relay.alter = ({ method }, result) => {
    if (method !== "state_queryStorageAt" || !Array.isArray(result)) return result;
    const spoiled = toHex(bytes.enc(new Uint8Array(100)));
    return result.map((set) => ({
      ...set,
      changes: set.changes.map(([key]: readonly unknown[]) => [key, spoiled]),
    }));
  };
  await assert.rejects(next(hub, hub.state), { name: "ProverFault", code: "bad_data" });
});
