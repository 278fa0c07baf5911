import assert from "node:assert/strict";
import { toHash256 } from "../src/core/encoding/bytes.ts";
import { readHistory } from "./traffic/chain_history.ts";
import { startDevnet } from "./devnet.ts";
import { advanceHub, readHubConsensus } from "./evm/host_admin.ts";
import { delivered, sendPing, waitForDelivery, waitUntil } from "./traffic/messages.ts";

Deno.test("devnet: a message is sent with its commitment, and is not delivered without a relayer", async () => {
  await using devnet = await startDevnet({ feeds: "planted" });
  const sent = [
    ...await sendPing(devnet, { from: "A", to: "B", count: 3, timeoutSec: 600n }),
    ...await sendPing(devnet, { from: "A", to: "hub", behaviour: "fail", fee: 5n }),
  ];
  assert.deepEqual(sent.map(({ request }) => `${request.source} ${request.dest}`), [
    "EVM-11155111 EVM-97",
    "EVM-11155111 EVM-97",
    "EVM-11155111 EVM-97",
    "EVM-11155111 KUSAMA-4009",
  ]);
  const history = await readHistory(devnet);
  assert.deepEqual(
    history.map(({ chain, sent, handled }) => [chain, sent.length, handled.length]),
    [["EVM-11155111", 4, 0], ["EVM-97", 0, 0], ["KUSAMA-4009", 0, 0]],
  );
  assert.deepEqual(
    history[0]?.sent.map(({ commitment }) => commitment),
    sent.map(({ commitment }) => commitment),
  );
  assert.deepEqual(await delivered(devnet, sent), []);
  await assert.rejects(waitForDelivery(devnet, sent, { deadlineMs: 300 }), { code: "not_delivered" });
});

Deno.test("devnet: hosts take only what the authorities of the relay chain signed, through all of its sessions", async () => {
  await using devnet = await startDevnet({
    feeds: "planted",
    startsOracle: false,
    blockTimeSec: "automine",
    hubBlockTimeMs: 200,
  });
  const a = devnet.chain("A");
  const root = toHash256(new Uint8Array(32).fill(7));
  await assert.rejects(
    advanceHub(a.host, { height: 9n, timestampSec: 1n, mmrRoot: root, childTrieRoot: root }),
    /SuperMajorityRequired|0xeaa43dfc/,
  );
  const direction = { from: devnet.hub.identity.stateMachine, to: a.stateMachine };
  await waitUntil("the hub has a height to prove", () => devnet.hub.finalized.number > 2);
  for (let session = 0n; session < 3n; session++) {
    const { current } = await readHubConsensus(a.host);
    assert.equal(current.id, devnet.relay.sessionOf(0).beefySetId + session);
    const { number } = devnet.hub.finalized;
    assert.ok(await devnet.oracle.step(direction) >= BigInt(number));
    devnet.relay.rotate();
    await devnet.oracle.step(direction);
  }
  // Sessions that nobody has proved are proved one after the other.
  for (let session = 0; session < 4; session++) devnet.relay.rotate();
  await devnet.oracle.step(direction);
  const { latestHeight } = await readHubConsensus(a.host);
  assert.deepEqual(await readHubConsensus(a.host), devnet.relay.beefyState(Number(latestHeight)));
  assert.equal(devnet.relay.sessionOf(Number(latestHeight)).index, 7);
});

Deno.test("devnet: a node that does not answer is named, and so is one that has ended", async () => {
  await using devnet = await startDevnet({ kinds: ["bsc"], feeds: "planted", startsOracle: false });
  const { node } = devnet.chain("A");
  assert.equal(await devnet.findBroken(), undefined);
  node.pause();
  const silent = "The node of chain A (EVM-97) does not answer";
  await waitUntil("the node stands still", async () => (await devnet.findBroken())?.message === silent);
  node.resume();
  Deno.kill(node.pid, "SIGKILL");
  const ended = { message: "The node of chain A (EVM-97) ended by itself, SIGKILL" };
  await assert.rejects(devnet.failed, ended);
  assert.equal((await devnet.findBroken())?.message, ended.message);
});
