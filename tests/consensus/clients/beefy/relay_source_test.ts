/** What makes no proof of a relay chain, and who is named for it. */
import assert from "node:assert/strict";
import type { ProofsForHost } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { parachainHeadKey } from "../../../../src/core/substrate/parachain_heads.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import type { BeefyClientState } from "../../../../src/core/evm/beefy_client_state.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { bytes } from "../../../../src/core/encoding/scale.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { relaySource } from "./fixture.ts";
import { ProvenHub } from "./proven_hub.ts";

const never = new AbortController().signal;
const stateMachine = parseStateMachine("EVM-97");

/** What a source brings a host with that state, which knows no height of the hub. */
async function next(
  hub: ProvenHub,
  state: BeefyClientState,
  options: Parameters<typeof relaySource>[1] = {},
): Promise<ProofsForHost> {
  const source = relaySource(hub, options);
  const view = {
    state,
    stateBytes: 256,
    consensusClient: toAddress(`0x${"11".repeat(20)}`),
    hubHeight: 0n,
    acceptsHub: true,
    nowSec: 1_000n,
    updatedSec: 900n,
    unstakingSec: 200n,
    challengePeriodSec: 0n,
    isFrozen: false,
    pendingHeight: state.latestHeight,
    pendingSetId: state.current.id,
  };
  try {
    return await source.next({ chain: stateMachine, view }, never);
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

Deno.test("relay source: parachains without a head are named with the key of the configuration", async () => {
  await using hub = await startBehind();
  assert.equal((await next(hub, hub.state)).kind, "proofs");
  const detail = detailOf(await next(hub, hub.state, { paraIds: [4009, 4242, 4243] }));
  assert.match(
    detail,
    /^\[hub\.prover\]\.para_ids: no head of 4242, 4243 is known in block \d+ .*127\.0\.0\.1/,
  );
});

Deno.test("relay source: parachains that the relay chain does not commit to are named, the hub is not", async () => {
  await using hub = await startBehind();
  const key = toHex(parachainHeadKey(4242));
  const head = toHex(bytes.enc(new Uint8Array(100)));
  hub.relay.alter = ({ method }, result) => {
    if (method !== "state_queryStorageAt" || !Array.isArray(result)) return result;
    return result.map((set) => ({
      ...set,
      changes: set.changes.map((change: readonly unknown[]) => change[0] === key ? [key, head] : change),
    }));
  };
  const detail = detailOf(await next(hub, hub.state, { paraIds: [4009, 4242] }));
  assert.match(detail, /^\[hub\.prover\]\.para_ids: the relay chain does not list 4242 as parachains/);
});

for (const leafHeads of ["listed", "all"] as const) {
  for (const missingMethods of [[], ["mmr_generateProof"]]) {
    const source = missingMethods.length === 0 ? "the node's own path" : "a path from headers";
    Deno.test(`relay source: leaves with ${leafHeads} heads are proved with ${source}`, async () => {
      const unlistedParachains = [900, 5_000];
      await using hub = await ProvenHub.start({ leafHeads, unlistedParachains, missingMethods });
      hub.post(stateMachine);
      await hub.rotate(false);
      hub.relay.produceBlocks(3);
      const found = await next(hub, hub.state);
      assert.ok(found.kind === "proofs" && found.purpose === "rotations", found.kind);
      // The relay chain's runtime names no other parachain: only the newer form has one of them.
      const wanted = next(hub, hub.state, { paraIds: [900, 4009] });
      const detail = detailOf(await wanted);
      assert.match(detail, leafHeads === "all" ? /holds no timestamp/ : /does not list 900 as parachains/);
    });
  }
}

Deno.test("relay source: parachains whose heads no host takes are named", async () => {
  await using hub = await startBehind();
  const detail = detailOf(await next(hub, hub.state, { paraIds: [1000, 4009] }));
  assert.match(detail, /^\[hub\.prover\]\.para_ids: a head .* holds no timestamp, .* among 1000$/);
});

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

Deno.test("relay source: a proof for messages waits for a block with a shorter one, a rotation does not", async () => {
  await using hub = await ProvenHub.start({ missingMethods: ["mmr_generateProof"] });
  hub.post(stateMachine);
  hub.makeBlocks(2);
  const log = new RecordedLog();
  const found = await next(hub, hub.state, { maxMessageLeaves: 0, log });
  assert.ok(found.kind === "nothing", found.kind);
  assert.match(found.reason, /127\.0\.0\.1.* waits for a block with a shorter proof$/);
  assert.equal((await next(hub, hub.state)).kind, "proofs");
  assert.deepEqual(log.events("info"), []);
  await hub.rotate(false);
  const rotation = await next(hub, hub.state, { maxMessageLeaves: 0, log });
  assert.ok(rotation.kind === "proofs" && rotation.purpose === "rotations", rotation.kind);
  const [line, ...others] = log.lines.filter(({ level }) => level === "info");
  assert.deepEqual(others, []);
  assert.equal(line?.event, "endpoint_limited.mmr_proofs");
  assert.ok(Number(line?.fields.leaves) >= 1);
});
