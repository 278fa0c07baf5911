import assert from "node:assert/strict";
import type { AcceptedProofs } from "../../../../src/core/chains/hub.ts";
import {
  checkAcceptedProofs,
  checkMessageBodies,
} from "../../../../src/core/chains/substrate/offchain_rows.ts";
import type { CheckRow } from "../../../../src/core/checks/check_row.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { type ScriptedMethod } from "../../../support/scripted_socket.ts";
import { blockHashes, hashOf, headerJson, scriptContext } from "./scripted_hub.ts";

const never = new AbortController().signal;
const BEST = 1_000_000;

type Context = ReturnType<typeof scriptContext>["chain"];

/** Runs `work` with a chain behind a node with these methods; counts its messages on the wire. */
async function withNode(
  methods: Readonly<Record<string, ScriptedMethod>>,
  work: (context: Context) => Promise<readonly CheckRow[]>,
): Promise<{ readonly row: CheckRow | undefined; readonly trips: number }> {
  const { chain: context, clock, node } = scriptContext(methods, { isHub: false, use: "relayed" }, {
    id: { stateMachine: parseStateMachine("POLKADOT-2030"), consensusStateId: toConsensusStateId("DOT0") },
  });
  const rows = await clock.run(work(context));
  await context.endpoint.close();
  assert.ok(rows.length <= 1);
  return { row: rows[0], trips: node.exchanges.length };
}

/** A chain that dispatched messages in some blocks, behind a node that has some of their bodies. */
interface SentMessages {
  /** Number of messages by height. */
  readonly sent: Readonly<Record<number, number>>;
  /** Bodies that the node has of a block; all of them when absent. */
  readonly bodies?: number;
}

const request = {
  source: "POLKADOT-2030",
  dest: "EVM-1",
  nonce: 1,
  from: "0x01",
  to: "0x02",
  timeoutTimestamp: 0,
  body: "0x",
};

function checkBodies({ sent, bodies = Infinity }: SentMessages): ReturnType<typeof withNode> {
  const heightOf = new Map<unknown, number>();
  const remember = (height: unknown): unknown => {
    const hash = blockHashes(BEST)(height);
    heightOf.set(hash, Number(height));
    return hash;
  };
  const eventsAt = (height: number): unknown[] =>
    Array.from({ length: Math.min(sent[height] ?? 0, bodies) }, () => ({
      meta: { block_hash: hashOf(`b${height}`), transaction_hash: hashOf("x"), block_number: height },
      event: { PostRequest: request },
    }));
  return withNode({
    chain_getFinalizedHead: () => hashOf("final"),
    chain_getHeader: () => headerJson(BEST),
    chain_getBlockHash: (which) => Array.isArray(which) ? which.map(remember) : remember(which),
    state_getStorage: (key, hash) => {
      assert.equal(key, toHex(ismpKeys.nonce()));
      const height = heightOf.get(hash) ?? assert.fail("an unknown block");
      const count = Object.entries(sent).filter(([at]) => Number(at) <= height)
        .reduce((sum, [, messages]) => sum + messages, 0);
      return count === 0 ? null : toHex(u64.enc(BigInt(count)));
    },
    ismp_queryEventsWithMetadata: (from, to) =>
      Object.fromEntries(
        Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => Number(from) + at)
          .map((height) => [hashOf(`b${height}`), eventsAt(height)]),
      ),
  }, ({ node }) => checkMessageBodies(node, never));
}

Deno.test("offchain index: the messages of the newest blocks are read, as many as the chain counts", async () => {
  const { row, trips } = await checkBodies({ sent: { 17: 5, [BEST - 19]: 1, [BEST]: 2 } });
  assert.deepEqual([row?.result, row?.found], ["ok", "has the messages of blocks 999981 to 1000000"]);
  assert.ok(trips <= 4, `${trips} round trips`);
});

Deno.test("offchain index: a node that lacks bodies is named with the flag that it needs", async () => {
  const { row } = await checkBodies({ sent: { 999_990: 3 }, bodies: 1 });
  assert.deepEqual(row, {
    chain: "POLKADOT-2030",
    endpoint: "node.example",
    check: "offchain_index",
    result: "warning",
    found:
      "2 messages of block 999990 are missing from the node's offchain database: they cannot be delivered",
    advice:
      "start the node with --enable-offchain-indexing=true before it imports the blocks, or use such a node",
  });
});

Deno.test("offchain index: where there is no message to look at, nothing is claimed", async () => {
  const { row } = await checkBodies({ sent: { 17: 5, [BEST - 20]: 1 } });
  assert.deepEqual([row?.result, row?.found], ["ok", "blocks 999981 to 1000000 hold no message to read"]);
});

Deno.test("offchain index: the hub's node without the newest accepted proof is named", async () => {
  const proofs = (bytes: Uint8Array | undefined, messaging: readonly bigint[]): AcceptedProofs => ({
    fetchProofBytes: () => Promise.resolve(bytes),
    fetchAcceptedIndex: () => Promise.resolve({ rotations: new Map(), messaging }),
  });
  const of = async (accepted: AcceptedProofs): Promise<CheckRow | undefined> =>
    (await withNode({}, ({ node }) => checkAcceptedProofs(node, accepted, never))).row;
  assert.equal((await of(proofs(new Uint8Array(9), [7n])))?.result, "ok");
  assert.equal((await of(proofs(undefined, [])))?.result, "ok");
  const missing = await of(proofs(undefined, [7n]));
  assert.equal(missing?.result, "warning");
  assert.match(missing?.advice ?? "", /--enable-offchain-indexing=true/);
});
