/** What makes no proof of a relay chain, and who is named for it. */
import assert from "node:assert/strict";
import type { ProofsForHost } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { parachainHeadKey } from "../../../../src/core/substrate/parachain_heads.ts";
import type { BeefyClientState } from "../../../../src/core/evm/beefy_client_state.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { bytes } from "../../../../src/core/encoding/scale.ts";
import { hostView, relaySource } from "./fixture.ts";
import { ProvenHub } from "./proven_hub.ts";

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
