/**
 * What is asked of a hub that announces its blocks, and of one whose announcements fail in each way: what the relayer
 * knows of the hub moves on whatever the subscription does.
 */
import assert from "node:assert/strict";
import { type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { ismpKeys, otherKeys } from "../../../../src/core/ismp/storage_keys.ts";
import {
  parseStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import { hashHeader, headerToJson, type SimulatedHeader } from "../../../../devnet/hub/digest.ts";
import { ScriptedError, SILENCE } from "../../../support/scripted_socket.ts";
import { hashOf, type Scripted, scriptHub } from "./scripted_hub.ts";
import type { HubChain } from "../../../../src/core/chains/hub.ts";

const { signal } = new AbortController();
const chains: readonly StateMachineId[] = ["EVM-1", "EVM-56"].map((name, index) => ({
  stateMachine: parseStateMachine(name),
  consensusStateId: toConsensusStateId(`ETH${index}`),
}));
const [first, second] = chains;
assert.ok(first !== undefined && second !== undefined);

/** Time between two blocks, ms; the hub is polled once a second. */
const BLOCK_MS = 6_000;
const POLL_MS = 1_000;

/** A hub whose best block is final at once, and which knows of each chain a height that rises with every block. */
class AnnouncingHub {
  readonly blocks: SimulatedHeader[] = [];
  /** `silent`: subscriptions are taken, nothing is ever announced. `hanging`: they are never answered. */
  announcements: "sent" | "refused" | "silent" | "hanging" = "sent";
  subscriptions = 0;
  readonly scripted: Scripted<HubChain>;
  #id = "";
  #polls = 0;

  constructor() {
    const subscribe = (): string | typeof SILENCE => {
      if (this.announcements === "hanging") return SILENCE;
      if (this.announcements === "refused") throw new ScriptedError(-32601, "Method not found");
      const id = this.#id = `final${++this.subscriptions}`;
      // As real nodes do, right behind the answer.
      void this.scripted.clock.settle().then(() => this.#announce(id));
      return id;
    };
    this.scripted = scriptHub({
      chain_subscribeFinalizedHeads: subscribe,
      chain_unsubscribeFinalizedHeads: () => true,
      chain_getFinalizedHead: () => hashHeader(this.best, "Keccak"),
      chain_getHeader: () => headerToJson(this.best),
      state_queryStorageAt: (keys) => {
        const at = this.best.number;
        const heights = chains.map((id): [string, string] => [
          toHex(ismpKeys.latestStateMachineHeight(id)),
          toHex(u64.enc(BigInt(at) * 10n)),
        ]);
        const known = new Map([...heights, [
          toHex(otherKeys.timestampNow()),
          toHex(u64.enc(BigInt(at * BLOCK_MS))),
        ]]);
        assert.ok(Array.isArray(keys));
        return [{ block: hashOf("any"), changes: keys.map((key) => [key, known.get(key) ?? null]) }];
      },
    });
    this.mint();
  }

  get best(): SimulatedHeader {
    return this.blocks.at(-1) ?? assert.fail("no block");
  }

  get asked(): readonly string[] {
    return this.scripted.node.exchanges.flatMap(({ methods }) => methods);
  }

  /** Makes a block and announces it. */
  mint(): void {
    const parent = this.blocks.at(-1);
    this.blocks.push({
      parentHash: parent === undefined ? hashOf("genesis") : hashHeader(parent, "Keccak"),
      number: (parent?.number ?? 0) + 1,
      stateRoot: hashOf(`state of ${this.blocks.length}`),
      extrinsicsRoot: hashOf("extrinsics"),
      digest: [],
    });
    this.announce();
  }

  announce(): void {
    this.#announce(this.#id);
  }

  /** Polls for a time, with a block now and then; returns what was asked meanwhile, by method. */
  async pass(ms: number): Promise<Readonly<Record<string, number>>> {
    const before = this.asked.length;
    for (let pollMs = 0; pollMs < ms; pollMs += POLL_MS) {
      await this.scripted.clock.advance(POLL_MS);
      this.#polls += POLL_MS;
      if (this.#polls % BLOCK_MS === 0) this.mint();
      await this.poll();
    }
    const counts = new Map<string, number>();
    for (const method of this.asked.slice(before)) counts.set(method, (counts.get(method) ?? 0) + 1);
    return Object.fromEntries(counts);
  }

  /** What the relayer knows now: of the hub's final block, and of what the hub knows of each chain. */
  async poll(): Promise<{ readonly final: bigint; readonly heights: readonly bigint[] }> {
    const { chain, run } = this.scripted;
    const heights: bigint[] = [];
    for (const id of chains) heights.push((await run(chain.reads.fetchView(id, signal))).height);
    return { final: await run(chain.reads.fetchFinalHeight(signal)), heights };
  }

  /** Asserts that everything that happened is known. */
  async assertUpToDate(): Promise<void> {
    const { number } = this.best;
    const height = BigInt(number) * 10n;
    assert.deepEqual(await this.poll(), { final: BigInt(number), heights: [height, height] });
  }

  #announce(id: string): void {
    if (this.announcements !== "sent") return;
    this.scripted.node.notify("chain_finalizedHead", id, headerToJson(this.best));
  }
}

const events = (hub: AnnouncingHub): readonly string[] => hub.scripted.log.lines.map(({ event }) => event);

/** All that is asked in a minute of a hub that announces nothing. */
const POLLED = { state_queryStorageAt: 120, chain_getFinalizedHead: 60, chain_getHeader: 60 };
/** As {@link POLLED}, of one that announces its final blocks. */
const ANNOUNCED = { state_queryStorageAt: 120 };

Deno.test("announced heads: a hub that announces its final blocks is not asked for them", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  assert.deepEqual(await hub.pass(60_000), ANNOUNCED);
  await hub.assertUpToDate();
  hub.mint();
  await hub.assertUpToDate();
  assert.equal(hub.subscriptions, 1);
  assert.deepEqual(events(hub), []);
  await hub.scripted.chain.close();
});

Deno.test("announced heads: a node that refuses subscriptions is polled, and asked again after five minutes", async () => {
  const hub = new AnnouncingHub();
  hub.announcements = "refused";
  await hub.pass(2_000);
  assert.deepEqual(await hub.pass(60_000), POLLED);
  await hub.assertUpToDate();
  assert.deepEqual(events(hub), ["endpoint_limited.subscriptions"]);
  hub.announcements = "sent";
  await hub.pass(300_000);
  assert.deepEqual(await hub.pass(60_000), ANNOUNCED);
  await hub.scripted.chain.close();
});

Deno.test("announced heads: a node that never answers to subscriptions is polled without a wait", async () => {
  const hub = new AnnouncingHub();
  hub.announcements = "hanging";
  await hub.pass(2_000);
  const startMs = hub.scripted.clock.now();
  const polled = await hub.pass(290_000);
  assert.equal(hub.scripted.clock.now() - startMs, 290_000, "no poll waits for anything");
  assert.equal(polled.chain_getFinalizedHead, 290);
  assert.equal(polled.chain_subscribeFinalizedHeads, undefined);
  await hub.assertUpToDate();
  await hub.scripted.chain.close();
});

Deno.test("announced heads: a node that takes subscriptions and never announces anything is polled", async () => {
  const hub = new AnnouncingHub();
  hub.announcements = "silent";
  await hub.pass(2_000);
  const { state_queryStorageAt, chain_getFinalizedHead } = await hub.pass(60_000);
  assert.deepEqual({ state_queryStorageAt, chain_getFinalizedHead }, {
    state_queryStorageAt: 120,
    chain_getFinalizedHead: 60,
  });
  await hub.assertUpToDate();
  await hub.pass(3_600_000);
  assert.ok(hub.subscriptions < 30, `${hub.subscriptions} subscriptions in an hour`);
  await hub.scripted.chain.close();
});

Deno.test("announced heads: a subscription that falls silent on an open connection is noticed within 15 seconds", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  hub.announcements = "silent";
  await hub.pass(16_000);
  await hub.assertUpToDate();
  await hub.pass(30_000);
  await hub.assertUpToDate();
  // The subscription is renewed by itself once the node works again.
  hub.announcements = "sent";
  await hub.pass(300_000);
  assert.deepEqual(await hub.pass(60_000), ANNOUNCED);
  await hub.assertUpToDate();
  await hub.scripted.chain.close();
});

Deno.test("announced heads: a node that announces the same old block again and again is polled", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  const stuck = hub.best;
  hub.announcements = "silent";
  for (let second = 0; second < 20; second++) {
    await hub.pass(POLL_MS);
    hub.scripted.node.notify("chain_finalizedHead", "final1", headerToJson(stuck));
  }
  assert.ok(hub.best.number > stuck.number + 2);
  await hub.assertUpToDate();
  await hub.scripted.chain.close();
});

Deno.test("announced heads: after a lost connection the hub is asked, until it announces blocks again", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  hub.announcements = "silent";
  hub.scripted.node.drop();
  await hub.scripted.clock.settle();
  hub.mint();
  await hub.assertUpToDate();
  hub.announcements = "sent";
  await hub.pass(60_000);
  assert.deepEqual(await hub.pass(60_000), ANNOUNCED);
  await hub.scripted.chain.close();
});

Deno.test("announced heads: a hub that stood still is followed again with its first block, and subscribed to as before", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  const { chain, clock, node } = hub.scripted;
  for (const lostMs of [0, 600_000]) {
    if (lostMs > 0) {
      node.refuseWith = "connection refused";
      node.drop();
    }
    // No block for ten minutes, as no call of `pass` mints one.
    for (let second = 0; second < 600; second++) {
      await clock.advance(POLL_MS);
      if (lostMs === 0) await hub.poll();
      else if (second % 60 === 0) await assert.rejects(hub.poll(), /unreachable/);
    }
    // One line, whatever is asked meanwhile.
    assert.deepEqual(events(hub), ["announcements_silent"]);
    node.refuseWith = undefined;
    await clock.advance(15_000);
    hub.mint();
    await hub.assertUpToDate();
    await hub.pass(30_000);
    assert.deepEqual(await hub.pass(60_000), ANNOUNCED, `${lostMs}`);
  }
  await chain.close();
});

Deno.test("announced heads: nothing is believed longer because the clock was set back", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  hub.announcements = "silent";
  hub.mint();
  hub.scripted.clock.jump(-3_600_000);
  await hub.assertUpToDate();
  await hub.scripted.clock.settle();
  await hub.scripted.chain.close();
});

Deno.test("announced heads: accepted proofs take one call for each final block", async () => {
  const hub = new AnnouncingHub();
  await hub.pass(30_000);
  const { chain, run } = hub.scripted;
  hub.scripted.node.answer("state_queryStorageAt", (_keys, at) => [{ block: at, changes: [] }]);
  const follow = async (): Promise<readonly string[]> => {
    const before = hub.asked.length;
    await run(chain.acceptedProofs.fetchAcceptedIndex(signal));
    return hub.asked.slice(before);
  };
  await follow();
  assert.deepEqual(await follow(), []);
  hub.mint();
  assert.deepEqual(await follow(), ["state_queryStorageAt"]);
  assert.deepEqual(await follow(), []);
  await chain.close();
});

Deno.test("announced heads: events of announced blocks take one message, with the counter that they are checked by", async () => {
  const hub = new AnnouncingHub();
  const hashAt = (number: unknown): Hash256 =>
    hashHeader(hub.blocks[Number(number) - 1] ?? assert.fail("unknown"), "Keccak");
  hub.scripted.node.answer("chain_getBlockHash", hashAt);
  hub.scripted.node.answer("ismp_queryEventsWithMetadata", (from, to) => {
    const numbers = Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => Number(from) + index);
    return Object.fromEntries(numbers.map((number) => [hashAt(number), []]));
  });
  let counted = 3n;
  hub.scripted.node.answer("state_getStorage", () => toHex(u64.enc(counted++)));
  await hub.pass(30_000);
  const { chain, run, trips } = hub.scripted;
  const to = BigInt(hub.best.number);
  trips();
  // The counter says that a message was dispatched, and the events lack it.
  await assert.rejects(run(chain.events.fetchEvents(to, to, signal)), /pruned/);
  assert.equal(trips(), 1);
  hub.scripted.node.answer("state_getStorage", () => toHex(u64.enc(counted)));
  assert.deepEqual(await run(chain.events.fetchEvents(to, to, signal)), []);
  assert.equal(trips(), 1);
  // After a lost connection the blocks before it are not known any more.
  hub.scripted.node.drop();
  await hub.scripted.clock.settle();
  assert.deepEqual(await run(chain.events.fetchEvents(to, to, signal)), []);
  assert.equal(trips(), 2);
  await chain.close();
});
