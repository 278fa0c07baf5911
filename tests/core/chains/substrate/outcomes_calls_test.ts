import assert from "node:assert/strict";
import { fromHex, type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { hubScale } from "../../../support/hub_vectors.ts";
import { ScriptedError } from "../../../support/scripted_socket.ts";
import {
  blockHashes,
  hashOf,
  headerJson,
  type Script,
  type Scripted,
  scriptHub,
  unsignedExtrinsic,
} from "./scripted_hub.ts";

const { signal } = new AbortController();
const raw = fromHex(hubScale("call.nexus.Relayer.withdraw_fees").bareExtrinsicV4 ?? "0x");
const submission = unsignedExtrinsic(raw);

const inherent = "0x280402000b";
/** Events of extrinsic 1: System.ExtrinsicFailed with the error MissingCommitments of pallet 52, or nothing. */
const failed = "0x0400010000000001033409000000" + "0408000000";

/** A chain whose head moves, with the extrinsic in one block. */
interface NodeState {
  best: number;
  finalized: number;
  holder: number | undefined;
  isPending: boolean;
  events: string;
}

function scriptNode(
  nodeState: NodeState,
): Scripted<ReturnType<typeof scriptHub>["chain"]> & { bodies(): number } {
  let bodies = 0;
  const methods: Script = {
    author_pendingExtrinsics: () => nodeState.isPending ? [toHex(raw)] : [],
    chain_getHeader: (hash) => headerJson(hash === undefined ? nodeState.best : nodeState.finalized),
    chain_getFinalizedHead: () => hashOf(`b${nodeState.finalized}`),
    chain_getBlockHash: (height) => blockHashes(nodeState.best)(height),
    chain_getBlock: (hash) => {
      bodies += 1;
      const isHolder = nodeState.holder !== undefined && hashOf(`b${nodeState.holder}`) === hash;
      return { block: { extrinsics: isHolder ? [inherent, toHex(raw)] : [inherent] } };
    },
    state_getStorage: () => nodeState.events,
  };
  return { ...scriptHub(methods), bodies: () => bodies };
}

Deno.test("call outcome: a call is found far beyond the window of messages, a few windows at a time", async () => {
  const nodeState = { best: 600, finalized: 598, holder: 500, isPending: false, events: "0x00" };
  const hub = scriptNode(nodeState);
  const fetch = (): Promise<unknown> => hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.deepEqual(await fetch(), { kind: "pending" });
  // Four windows of 64 blocks.
  assert.equal(hub.bodies(), 256);
  assert.deepEqual(await fetch(), {
    kind: "included",
    block: { height: 500n, hash: hashOf("b500") },
    isFinal: true,
    succeeded: true,
    handled: [],
    refusal: undefined,
    advanced: [],
  });
  assert.equal(hub.bodies(), 512);
  assert.equal((await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal))).kind, "included");
  // What is known to be without the call is not read again.
  assert.equal(hub.bodies(), 512);
  await hub.chain.close();
});

Deno.test("outcome: what the pool lists is believed until the blocks of its validity are final without it", async () => {
  const isListed = [true, "unexposed"] as const;
  for (const kind of ["fetchOutcome", "fetchCallOutcome"] as const) {
    for (const listed of isListed) {
      const nodeState: NodeState = {
        best: 8,
        finalized: 6,
        holder: undefined,
        isPending: true,
        events: "0x00",
      };
      const hub = scriptNode(nodeState);
      if (listed === "unexposed") {
        hub.node.answer("author_pendingExtrinsics", () => {
          throw new ScriptedError(-32601, "Method not found");
        });
      }
      const fetch = async (best: number, finalized: number): Promise<string> => {
        Object.assign(nodeState, { best, finalized });
        return (await hub.run(hub.chain.outcomes[kind](submission, signal))).kind;
      };
      // Seen at block 40, or made at 5; and while finality stands still nothing is proved.
      const end = listed === true ? 40 + 64 : 5 + 64;
      assert.equal(await fetch(40, 38), "pending");
      assert.equal(await fetch(end + 50, end - 1), "pending");
      assert.equal(await fetch(end + 50, end), "unknown", `${kind}, ${listed}`);
      const warnings = hub.log.lines.filter(({ level }) => level === "warn").map(({ event }) => event);
      assert.deepEqual(warnings, listed === true ? ["transaction_failed.never_included"] : []);
      await hub.chain.close();
    }
  }
});

Deno.test("call outcome: while it is in the pool each new block is read once", async () => {
  const nodeState = {
    best: 8,
    finalized: 6,
    holder: undefined as number | undefined,
    isPending: true,
    events: "0x00",
  };
  const hub = scriptNode(nodeState);
  for (let height = 8; height <= 70; height++) {
    nodeState.best = height;
    nodeState.finalized = height - 2;
    const outcome = await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
    assert.equal(outcome.kind, "pending");
  }
  assert.equal(hub.bodies(), 70 - 5 + 1);
  nodeState.best = 71;
  nodeState.holder = 71;
  nodeState.isPending = false;
  const outcome = await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.ok(outcome.kind === "included");
  assert.deepEqual([outcome.block.height, outcome.isFinal], [71n, false]);
  await hub.chain.close();
});

Deno.test("call outcome: a call that failed in its block names the pallet's error", async () => {
  const hub = scriptNode({ best: 20, finalized: 18, holder: 9, isPending: false, events: failed });
  const outcome = await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.ok(outcome.kind === "included");
  assert.equal(outcome.succeeded, false);
  assert.deepEqual(outcome.refusal, { code: "unknown_message", detail: "Relayer.MissingCommitments" });
  await hub.chain.close();
});

Deno.test("call outcome: neither in a block nor in the pool is unknown, once all blocks are read", async () => {
  const nodeState = { best: 20, finalized: 18, holder: undefined, isPending: false, events: "0x00" };
  const hub = scriptNode(nodeState);
  const fetch = (): Promise<unknown> => hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.deepEqual(await fetch(), { kind: "unknown" });
  nodeState.best = 400;
  nodeState.finalized = 398;
  assert.deepEqual(await fetch(), { kind: "pending" });
  assert.deepEqual(await fetch(), { kind: "unknown" });
  await hub.chain.close();
});

Deno.test("call outcome: blocks that are not final are read again when others replace them", async () => {
  const nodeState = {
    best: 100,
    finalized: 30,
    holder: undefined as number | undefined,
    isPending: true,
    events: "0x00",
  };
  const hub = scriptNode(nodeState);
  let fork = "";
  const hashAt = (height: number): Hash256 | null =>
    height > nodeState.best ? null : hashOf(height > 30 ? `b${height}${fork}` : `b${height}`);
  hub.node.answer("chain_getBlockHash", (heights) => {
    assert.ok(Array.isArray(heights));
    return heights.map(hashAt);
  });
  hub.node.answer("chain_getBlock", (hash) => ({
    block: { extrinsics: hash === hashOf("b40 fork") ? [inherent, toHex(raw)] : [inherent] },
  }));
  assert.equal((await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal))).kind, "pending");
  fork = " fork";
  nodeState.isPending = false;
  const outcome = await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.deepEqual(outcome.kind === "included" && outcome.block, { height: 40n, hash: hashOf("b40 fork") });
  await hub.chain.close();
});

Deno.test("call outcome: a node without the bodies of old blocks is a fault, not a call that never was", async () => {
  const hub = scriptNode({ best: 200, finalized: 198, holder: undefined, isPending: false, events: "0x00" });
  hub.node.answer("chain_getBlock", () => null);
  await assert.rejects(
    hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal)),
    (error: unknown) => error instanceof RpcFault && error.code === "pruned",
  );
  await hub.chain.close();
});

Deno.test("call outcome: a foreign event that cannot be read is skipped with a warning that names it", async () => {
  // An event of extrinsic 0 whose pallet the metadata does not have, before those of the call.
  const events = "0x08" + "0000000000fd0302aabb00" + failed.slice(4);
  const hub = scriptNode({ best: 20, finalized: 18, holder: 9, isPending: false, events });
  const outcome = await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.ok(outcome.kind === "included");
  assert.equal(outcome.refusal?.detail, "Relayer.MissingCommitments");
  const [warning, ...more] = hub.log.lines.filter(({ level }) => level === "warn");
  assert.deepEqual(more, []);
  assert.equal(warning?.event, "messages_skipped.undecodable");
  assert.deepEqual([warning?.fields.event, warning?.fields.block], ["pallet 253.event 3", 9n]);
  await hub.chain.close();
});

Deno.test("call outcome: the events of a block are read with the runtime that executed it, its parent's", async () => {
  const hub = scriptNode({ best: 20, finalized: 18, holder: 9, isPending: false, events: failed });
  const asked: unknown[] = [];
  hub.node.answer("state_getRuntimeVersion", (block) => {
    asked.push(block);
    return { specName: "nexus", specVersion: 1 };
  });
  await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal));
  assert.deepEqual(asked, [hashOf("b8")]);
  await hub.chain.close();
});

Deno.test("call outcome: in a block that the node does not answer with, it is unknown once that is final", async () => {
  const nodeState = { best: 12, finalized: 8, holder: undefined, isPending: false, events: "0x00" };
  const hub = scriptNode(nodeState);
  const asked: unknown[] = [];
  hub.node.answer("chain_getBlock", (hash) => {
    asked.push(hash);
    if (hash !== hashOf("b10")) return { block: { extrinsics: [inherent] } };
    throw new ScriptedError(-32008, "Response is too big", "Exceeded max limit of 9");
  });
  const fetch = async (): Promise<unknown> =>
    (await hub.run(hub.chain.outcomes.fetchCallOutcome(submission, signal))).kind;
  assert.equal(await fetch(), "pending");
  assert.equal(
    asked.filter((hash) => hash === hashOf("b10")).length,
    3,
    "with others, with fewer, then alone",
  );
  assert.equal(await fetch(), "pending");
  nodeState.best = 14;
  nodeState.finalized = 10;
  assert.equal(await fetch(), "unknown");
  assert.equal(asked.filter((hash) => hash === hashOf("b10")).length, 3, "its size does not change");
  await hub.chain.close();
});
