/** The hub's own node of a prover: asked for events once it is known to be the hub's. */
import assert from "node:assert/strict";
import { type GenesisReader, ProverHub } from "../../../../src/consensus/clients/beefy/client.ts";
import { type Hash256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";

const never = new AbortController().signal;
const genesis = (byte: number): Hash256 => toHash256(new Uint8Array(32).fill(byte));

/** What was asked, and a hub whose nodes have these first blocks. */
function scene(own: Hash256, main: Hash256): { readonly hub: ProverHub; readonly asked: string[] } {
  const asked: string[] = [];
  const reader = (host: string, first: Hash256): GenesisReader => ({
    host,
    fetchHash: (block) => {
      asked.push(`${host} block ${block}`);
      return Promise.resolve(first);
    },
    close: () => {
      asked.push(`${host} closed`);
      return Promise.resolve();
    },
  });
  const hub = new ProverHub({
    hub: parseStateMachine("KUSAMA-4009"),
    hubNode: {
      events: {
        fetchEvents: (from, to) => {
          asked.push(`events ${from} to ${to}`);
          return Promise.resolve([]);
        },
      },
      reads: {
        fetchFinalHeight: () => {
          asked.push("events final");
          return Promise.resolve(7n);
        },
      },
      close: () => {
        asked.push("events closed");
        return Promise.resolve();
      },
    },
    own: reader("para.example.org", own),
    main: reader("hub.example.org", main),
  });
  return { hub, asked };
}

Deno.test("prover hub: a node with the hub's first block is asked for events, and compared once", async () => {
  const { hub, asked } = scene(genesis(1), genesis(1));
  assert.deepEqual(await hub.events.fetchEvents(5n, 9n, never), []);
  assert.deepEqual(await hub.check(never), []);
  await hub.events.fetchEvents(10n, 11n, never);
  assert.equal(await hub.reads.fetchFinalHeight(never), 7n);
  await hub.close();
  assert.deepEqual(asked, [
    "para.example.org block 0",
    "hub.example.org block 0",
    "events 5 to 9",
    "events 10 to 11",
    "events final",
    "events closed",
    "para.example.org closed",
    "hub.example.org closed",
  ]);
});

Deno.test("prover hub: a node of another chain has failed, and no event of it is used", async () => {
  const { hub, asked } = scene(genesis(1), genesis(2));
  const [finding, ...others] = await hub.check(never);
  assert.equal(others.length, 0);
  assert.equal(finding?.result, "failed");
  assert.match(finding?.found ?? "", /para\.example\.org is a node of another chain than hub\.example\.org/);
  const isRefusal = (error: unknown): boolean => error instanceof RpcFault && error.code === "wrong_chain";
  await assert.rejects(hub.events.fetchEvents(1n, 2n, never), isRefusal);
  await assert.rejects(hub.reads.fetchFinalHeight(never), isRefusal);
  assert.equal(asked.some((each) => each.startsWith("events")), false);
});
