import assert from "node:assert/strict";
import { toHash256 } from "../../src/core/protocol/bytes.ts";
import { readHistory } from "./chain_history.ts";
import { startDevnet } from "./devnet.ts";
import { DEVNET_ACCOUNTS } from "./evm/accounts.ts";
import { advanceHub } from "./evm/host_admin.ts";
import { delivered, sendPing, waitForDelivery, waitUntil } from "./messages.ts";
import { UpdateBoard } from "./update_board.ts";

Deno.test("devnet: one consensus relayer proves all chains; the hub's events tell how often", async () => {
  await using devnet = await startDevnet({ feeds: "together" });
  const updates = new UpdateBoard(devnet);
  await waitUntil("two updates of each chain", async () => {
    await updates.look();
    return devnet.chains.every((chain) => updates.updatesOf(chain) >= 2);
  });
  for (const [at, chain] of devnet.chains.entries()) {
    const height = devnet.hub.latestHeight(devnet.idOnHub(chain));
    assert.match(updates.lines()[at] ?? "", /^hub's view of [AB] {2}updates \d+, height \d+$/);
    assert.ok(Number(updates.lines()[at]?.split(" ").at(-1)) <= Number(height));
  }
});

Deno.test("devnet: chains and hub know each other when it is ready, and go on learning", async () => {
  await using devnet = await startDevnet();
  const [a] = devnet.chains;
  assert.ok(a !== undefined);
  const hub = devnet.hub.identity.stateMachine;
  const atStart = devnet.hub.latestHeight(devnet.idOnHub(a)) ?? 0n;
  assert.ok(atStart > 0n);
  await waitUntil("the hub knows a newer height of A", () => {
    return (devnet.hub.latestHeight(devnet.idOnHub(a)) ?? 0n) > atStart;
  });
  const toldBefore = devnet.oracle.told({ from: hub, to: a.stateMachine });
  await waitUntil(
    "A knows a newer height of the hub",
    () => devnet.oracle.told({ from: hub, to: a.stateMachine }) > toldBefore,
  );
});

Deno.test("devnet: a message is sent with its commitment, and nobody delivers it without a relayer", async () => {
  await using devnet = await startDevnet();
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

Deno.test("devnet: the hosts take the oracle's roots only with a newer proof of the authority", async () => {
  await using devnet = await startDevnet({ startsOracle: false });
  const [a] = devnet.chains;
  assert.ok(a !== undefined);
  const root = toHash256(new Uint8Array(32).fill(7));
  const state = { height: 9n, timestampSec: 1n, mmrRoot: root, childTrieRoot: root };
  await assert.rejects(advanceHub(a.host, { ...state, authority: DEVNET_ACCOUNTS.user }));
  await advanceHub(a.host, state);
});
