import assert from "node:assert/strict";
import type { Chain } from "../../../../src/core/chains/port.ts";
import type { MessageRow } from "../../../../src/messaging/ledger/ledger.ts";
import type { Hex } from "../../../../src/core/encoding/bytes.ts";
import { Limit } from "../../../../src/core/runtime/limit.ts";
import { deliverDue } from "../../../../src/messaging/relay/deliver/deliver.ts";
import type { LegRun } from "../../../../src/messaging/relay/leg.ts";
import { toMessageRow } from "../../../../src/messaging/relay/messages.ts";
import { settleAll } from "../../../../src/messaging/relay/settle/settle_worker.ts";
import {
  chainOf,
  hub,
  never,
  postTo,
  proveFromHub,
  withHost,
} from "../../../core/chains/evm/chain_fixture.ts";
import { countReceived } from "../../../../devnet/evm/host_admin.ts";
import { Fixture, memoryLedger, Relayer } from "../fixture.ts";
import { trust } from "../rounds.ts";

const SPOILER: Hex = "0x00000000000000000000000000000000000bad00";
/** Returns true, whatever it is asked. */
const BEHAVES: Hex = "0x600160005260206000f3";
/** Says that it is an application, and burns all the gas that a message gives it. */
const BURNS: Hex = "0x36602510601157600160005260206000f35bfe";

Deno.test("reverting message on a node: a module that burns a batch's gas only when mined delays no other message for good", async () => {
  await withHost(31475, async (host) => {
    const { chain } = chainOf(host);
    const target = chain.id.stateMachine;
    const messages = Array.from(
      { length: 8 },
      (_, nonce) => postTo(host, BigInt(nonce), nonce === 1 ? { to: SPOILER } : {}),
    );
    const [, spoiler] = messages;
    assert.ok(spoiler !== undefined);
    const fixture = new Fixture();
    const relayer = new Relayer(fixture, memoryLedger(fixture));
    const { deps } = relayer;
    for (const message of messages) {
      deps.ledger.messages.record(
        toMessageRow(message, { source: hub.stateMachine, target }, { seenAtHeight: 1n, state: "seen" }),
      );
    }
    const misbehave = (code: Hex): Promise<void> => host.node.setCode({ address: SPOILER, bytecode: code });
    // Every proof is one of a height of its own, with exactly the messages of the batch. What waits is mined with it.
    let height = 10n;
    const turn = new Limit(1);
    const proveMessages: Chain["proofs"]["proveMessages"] = (batch) =>
      turn.run(async () => {
        await misbehave(BURNS);
        await host.node.setAutomine(true);
        const proof = await proveFromHub(host, batch, height++);
        await misbehave(BEHAVES);
        return proof;
      }, never);
    const broadcast = chain.sender.broadcast.bind(chain.sender);
    chain.sender.broadcast = (...args) =>
      turn.run(async () => {
        await host.node.setAutomine(false);
        return await broadcast(...args);
      }, never);
    const source = Object.assign(relayer.hub, { id: hub, proveMessages });
    const configured = new Set([hub.stateMachine, target, spoiler.request.source]);
    const settings = { ...relayer.settings, hub: hub.stateMachine, configured };
    const leg: LegRun = { ...relayer.leg(source, relayer.two), target: chain, settings, signal: never };
    trust(leg, messages);
    const rowsNow = (): readonly MessageRow[] =>
      messages.flatMap(({ commitment }) => deps.ledger.messages.find(commitment, target) ?? []);
    const isOver = (): boolean =>
      rowsNow().every(({ commitment, state }) =>
        state === (commitment === spoiler.commitment ? "held" : "delivered")
      );
    for (let round = 0; round < 8 && !isOver(); round++) {
      const view = await chain.reads.fetchView(hub, never);
      const facts = { view, proofHeight: 1n, consensusProofs: [] };
      await deliverDue(leg, facts);
      // Mined while it misbehaves; simulated while it does not.
      await misbehave(BURNS);
      await host.node.mine({ blocks: 5 });
      await misbehave(BEHAVES);
      for (let times = 0; times < 2; times++) {
        await settleAll({ ...deps, settings, target: chain, signal: never });
      }
      await fixture.clock.advance(5_000);
    }
    const failed = deps.ledger.submissions.listByItem(spoiler.commitment, target)
      .filter(({ state }) => state === "failed")
      .map(({ id }) => deps.ledger.submissions.itemsOf(id).length);
    assert.deepEqual(failed.slice(0, 2), [8, 4], "halved, not sent again whole");
    assert.ok(failed.reduce((sum, size) => sum + size, 0) <= 16, `${failed}`);
    assert.deepEqual(
      rowsNow().filter(({ commitment }) => commitment !== spoiler.commitment)
        .map(({ state, attempts }) => [state, attempts]),
      Array.from({ length: 7 }, () => ["delivered", 0]),
    );
    const [row] = rowsNow().filter(({ commitment }) => commitment === spoiler.commitment);
    assert.ok(row?.state === "held" && row.nextAttemptAtMs > fixture.clock.now(), `${row?.state}`);
    assert.equal(await countReceived(host), 7n);
  });
});
