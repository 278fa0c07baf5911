import { hostParamCodec } from "./hub/pallets/host_executive.ts";
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { fromHex, type Hex, toHex } from "../src/core/encoding/bytes.ts";
import { stateMachineCodec } from "../src/core/ismp/state_machine.ts";
import { offchainKeys, stored, twox } from "../src/core/ismp/storage_keys.ts";
import { decodeStrict } from "../src/core/encoding/scale.ts";
import { parseMessagingConfig } from "../src/messaging/config/read.ts";
import { type Devnet, startDevnet } from "./devnet.ts";
import { deliverProof, readHubConsensus, readHubHeight } from "./evm/host_admin.ts";
import { demoModuleId, type Hub } from "./hub/hub.ts";
import { resultHttp } from "./hub/json_rpc_client.ts";
import { delivered, waitUntil } from "./traffic/messages.ts";
import { relayerConfig } from "./programs/relayer_config.ts";
import { sendFromSubstrate } from "./traffic/messages.ts";

/** Changes the hub's child trie, and waits until a proof of it is accepted. */
async function untilProven(devnet: Devnet): Promise<void> {
  const { block } = await devnet.hub.dispatchPost({
    dest: devnet.hub.identity.stateMachine,
    from: demoModuleId,
    to: demoModuleId,
    body: new Uint8Array(),
    timeoutSec: 0n,
  });
  const hub = devnet.hub.identity.stateMachine;
  await waitUntil(
    "the hub is proven to itself",
    () => devnet.oracle.lastHeight({ from: hub, to: hub }) >= BigInt(block.number),
  );
}

/** Bytes of an accepted proof, as a relayer reads them. */
async function proofBytes(devnet: Devnet, key: Uint8Array): Promise<Hex> {
  const found = await resultHttp(devnet.hub.httpUrl, "offchain_localStorageGet", ["PERSISTENT", toHex(key)]);
  return toHex(fromHex(String(found)));
}

/** Blocks in which a chain learnt a height without an extrinsic that proved it. @throws when it has learnt none. */
async function unprovenUpdates(node: Hub): Promise<readonly string[]> {
  const events = Object(
    await resultHttp(node.httpUrl, "ismp_queryEventsWithMetadata", [1, node.best.number]),
  );
  const updates = Object.entries(events).flatMap(([block, found]) =>
    [Object(found)].flat().filter(({ event }) => "StateMachineUpdated" in event).map(({ meta }) => ({
      block,
      extrinsic: BigInt(meta.transaction_hash),
    }))
  );
  ok(updates.length > 0);
  return updates.filter(({ extrinsic }) => extrinsic === 0n).map(({ block }) => block);
}

Deno.test("devnet: accepted proofs wait on the hub for relayers, and hosts take them rotation by rotation", async () => {
  await using devnet = await startDevnet({
    acceptsProofs: { rotateEvery: 2 },
    blockTimeSec: "automine",
    hubBlockTimeMs: 100,
    oracleEveryMs: 50,
  });
  const a = devnet.chain("A");
  // The first proof is accepted at the start; every second one rotates.
  for (let proofs = 0; proofs < 4; proofs++) await untilProven(devnet);
  equal(await readHubHeight(a.host), 1n);
  const { ownProofs } = devnet.hub;
  const firstSet = devnet.relay.sessionOf(0).beefySetId;
  deepEqual([...ownProofs.rotationProofs.keys()], [firstSet + 1n, firstSet + 2n]);
  const newest = ownProofs.messagingProofs.at(-1) ?? 0n;
  // Without the rotations the host does not know the set that signed the newest proof.
  const newestProof = await proofBytes(devnet, offchainKeys.beefyMessagingProof(newest));
  await deliverProof(a.host, newestProof).then(() => ok(false, "accepted"), () => undefined);
  for (const [setId, height] of ownProofs.rotationProofs) {
    await deliverProof(a.host, await proofBytes(devnet, offchainKeys.beefyRotationProof(setId)));
    equal((await readHubConsensus(a.host)).current.id, setId);
    equal(await readHubHeight(a.host), height);
  }
  await deliverProof(a.host, newestProof);
  equal(await readHubHeight(a.host), newest);
  equal((await readHubConsensus(a.host)).latestHeight, BigInt(ownProofs.state?.latestBeefyHeight ?? 0));
  ok(devnet.prover !== undefined);
  devnet.prover.rotateNext();
  await waitUntil("a rotation without messages", () => ownProofs.rotationProofs.has(firstSet + 3n));
  const params = await resultHttp(devnet.hub.httpUrl, "state_getStorage", [
    toHex(stored("HostExecutive.HostParams", hostParamCodec, twox(stateMachineCodec))(a.stateMachine)),
  ]);
  const { value } = decodeStrict(hostParamCodec, fromHex(String(params)), "HostParam");
  equal(toHex(value.hostManager), a.host.addresses.hostManager.toLowerCase());
  equal(toHex(value.feeToken), a.host.addresses.feeToken.toLowerCase());
});

Deno.test("devnet: Substrate chains and the hub know each other by proofs alone, and the relayer's configuration names them", async () => {
  await using devnet = await startDevnet({
    kinds: ["bsc"],
    substrateChains: [{ stateMachine: "KUSAMA-2000", hashing: "Keccak" }, { stateMachine: "SUBSTRATE-abcd" }],
    blockTimeSec: "automine",
    hubBlockTimeMs: 100,
    oracleEveryMs: 50,
  });
  const hub = devnet.hub.identity;
  deepEqual(devnet.substrateChains.map(({ name, consensusStateId }) => [name, consensusStateId]), [
    ["B", "PAS0"],
    ["C", "SUB1"],
  ]);
  deepEqual(devnet.substrateChains.map(({ clientId, hubClientId }) => [clientId, hubClientId]), [
    ["PARA", "PARA"],
    ["GRNP", "GRNP"],
  ]);
  for (const node of [devnet.hub, ...devnet.substrateChains.map((chain) => chain.node)]) {
    deepEqual(await unprovenUpdates(node), []);
  }
  for (const chain of devnet.substrateChains) {
    ok((devnet.hub.latestHeight(devnet.idOnHub(chain)) ?? 0n) > 0n);
    ok((chain.node.latestHeight(hub) ?? 0n) > 0n);
  }
  const chain = devnet.substrateChain("B");
  const [sent] = await sendFromSubstrate(chain, [{
    dest: hub.stateMachine,
    to: demoModuleId,
    fee: 10n ** 12n,
  }]);
  ok(sent !== undefined);
  deepEqual([sent.request.source, sent.request.dest], ["KUSAMA-2000", "KUSAMA-4009"]);
  deepEqual(await delivered(devnet, [sent]), []);
  const files = {
    readFile: (path: string): never => {
      throw new Deno.errors.NotFound(path);
    },
  };
  const { config, problems } = parseMessagingConfig(files, relayerConfig(devnet.endpoints));
  deepEqual(problems, []);
  deepEqual(
    config?.chains.map((each) => each.type === "substrate" && [each.hashing, each.feeTokenDecimals]),
    [false, ["Keccak", 12], ["Blake2", 12]],
  );
});

Deno.test("devnet: chains that cannot be proved are refused before anything starts", async () => {
  for (
    const [stateMachine, change] of [
      ["POLKADOT-2000", {}],
      ["SUBSTRATE-abcd", { hashing: "Keccak" }],
      ["SUBSTRATE-abcd", { followsHubBy: "PARA" }],
    ] as const
  ) {
    await rejects(startDevnet({ kinds: [], substrateChains: [{ stateMachine, ...change }] }), {
      code: "unsupported_chain",
    });
  }
});
