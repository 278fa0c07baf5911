import assert from "node:assert/strict";
import { fromHex, type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { HubChain } from "../../../../src/core/chains/hub.ts";
import type { SubmissionOutcome } from "../../../../src/core/chains/submission.ts";
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

/** The node, with its answers about the outcome of the extrinsic, and how many bodies of blocks it gave. */
function scriptNode(change: Partial<NodeState> = {}): Scripted<HubChain> & {
  readonly state: NodeState;
  bodies(): number;
  fetch(): Promise<SubmissionOutcome>;
} {
  const nodeState: NodeState = {
    best: 20,
    finalized: 18,
    holder: undefined,
    isPending: false,
    events: "0x00",
    ...change,
  };
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
  const hub = scriptHub(methods);
  const fetch = (): Promise<SubmissionOutcome> =>
    hub.run(hub.chain.outcomes.fetchOutcome(submission, signal));
  return { ...hub, state: nodeState, bodies: () => bodies, fetch };
}

Deno.test("call outcome: a call is found far beyond the window of messages, a window at a time", async () => {
  const hub = scriptNode({ best: 300, finalized: 298, holder: 150 });
  for (const bodies of [64, 128]) {
    assert.deepEqual(await hub.fetch(), { kind: "pending" });
    assert.equal(hub.bodies(), bodies);
  }
  assert.deepEqual(await hub.fetch(), {
    kind: "included",
    block: { height: 150n, hash: hashOf("b150") },
    isFinal: true,
    succeeded: true,
    handled: [],
    refusal: undefined,
    advanced: [],
  });
  assert.equal(hub.bodies(), 192);
  assert.equal((await hub.fetch()).kind, "included");
  // What is known to be without the call is not read again.
  assert.equal(hub.bodies(), 192);
});

Deno.test("outcome: what the pool lists is believed until the blocks of its validity are final without it", async () => {
  const isListed = [true, "unexposed"] as const;
  for (const listed of isListed) {
    const hub = scriptNode({ best: 8, finalized: 6, isPending: true });
    if (listed === "unexposed") {
      hub.node.answer("author_pendingExtrinsics", () => {
        throw new ScriptedError(-32601, "Method not found");
      });
    }
    const fetch = async (best: number, finalized: number): Promise<string> => {
      Object.assign(hub.state, { best, finalized });
      return (await hub.run(hub.chain.outcomes.fetchOutcome(submission, signal))).kind;
    };
    // Seen at block 40, or made at 5; and while finality stands still nothing is proved.
    const end = listed === true ? 40 + 64 : 5 + 64;
    assert.equal(await fetch(40, 38), "pending");
    assert.equal(await fetch(end + 50, end - 1), "pending");
    let ended = "pending";
    for (let window = 0; window < 3 && ended === "pending"; window++) ended = await fetch(end + 50, end);
    assert.equal(ended, "unknown", `${listed}`);
    const warnings = hub.log.lines.filter(({ level }) => level === "warn").map(({ event }) => event);
    assert.deepEqual(warnings, listed === true ? ["transaction_failed.never_included"] : []);
  }
});

Deno.test("call outcome: while it is in the pool each new block is read once", async () => {
  const hub = scriptNode({ isPending: true });
  for (let height = 8; height <= 70; height++) {
    Object.assign(hub.state, { best: height, finalized: height - 2 });
    assert.equal((await hub.fetch()).kind, "pending");
  }
  assert.equal(hub.bodies(), 70 - 5 + 1);
  Object.assign(hub.state, { best: 71, holder: 71, isPending: false });
  const outcome = await hub.fetch();
  assert.ok(outcome.kind === "included");
  assert.deepEqual([outcome.block.height, outcome.isFinal], [71n, false]);
});

Deno.test("call outcome: neither in a block nor in the pool is unknown, once all blocks are read", async () => {
  const hub = scriptNode();
  assert.deepEqual(await hub.fetch(), { kind: "unknown" });
  Object.assign(hub.state, { best: 100, finalized: 98 });
  assert.deepEqual(await hub.fetch(), { kind: "pending" });
  assert.deepEqual(await hub.fetch(), { kind: "unknown" });
});

Deno.test("call outcome: one that moves from the pool into a block between two answers is found", async () => {
  const hub = scriptNode();
  hub.node.answer("chain_getBlock", (hash) => {
    hub.state.best = 21;
    return { block: { extrinsics: hash === hashOf("b21") ? [inherent, toHex(raw)] : [inherent] } };
  });
  assert.equal((await hub.fetch()).kind, "included");
});

Deno.test("call outcome: blocks that are not final are read again when others replace them", async () => {
  const hub = scriptNode({ best: 100, finalized: 30, isPending: true });
  let fork = "";
  const hashAt = (height: number): Hash256 | null =>
    height > hub.state.best ? null : hashOf(height > 30 ? `b${height}${fork}` : `b${height}`);
  hub.node.answer("chain_getBlockHash", (heights) => {
    assert.ok(Array.isArray(heights));
    return heights.map(hashAt);
  });
  hub.node.answer("chain_getBlock", (hash) => ({
    block: { extrinsics: hash === hashOf("b40 fork") ? [inherent, toHex(raw)] : [inherent] },
  }));
  assert.equal((await hub.fetch()).kind, "pending");
  fork = " fork";
  hub.state.isPending = false;
  const outcome = await hub.fetch();
  assert.deepEqual(outcome.kind === "included" && outcome.block, { height: 40n, hash: hashOf("b40 fork") });
});

Deno.test("call outcome: a node without the bodies of old blocks is a fault, not a call that never was", async () => {
  const hub = scriptNode({ best: 200, finalized: 198 });
  hub.node.answer("chain_getBlock", () => null);
  await assert.rejects(
    hub.fetch(),
    (error: unknown) => error instanceof RpcFault && error.code === "pruned",
  );
});

Deno.test("call outcome: in a block whose events cannot be read, or are pruned, it is unknown once that is final", async () => {
  // An event whose pallet the metadata does not have, before those of the call.
  const unreadable = scriptNode({ holder: 19, events: "0x08" + "0000000000fd0302aabb00" + failed.slice(4) });
  const pruned = scriptNode({ holder: 19 });
  pruned.node.answer("state_getStorage", () => {
    throw new ScriptedError(4003, "Client error: UnknownBlock: State already discarded for 0x12");
  });
  for (
    const [hub, code, told] of [[unreadable, "malformed", ["messages_skipped.undecodable"]], [
      pruned,
      "pruned",
      [],
    ]] as const
  ) {
    await assert.rejects(hub.fetch(), { code });
    Object.assign(hub.state, { best: 22, finalized: 20 });
    assert.deepEqual(await hub.fetch(), { kind: "unknown" });
    assert.deepEqual(hub.log.events("warn"), told);
  }
});

Deno.test("call outcome: the events of a block are read with the runtime that executed it, its parent's", async () => {
  const hub = scriptNode({ holder: 9, events: failed });
  const asked: unknown[] = [];
  hub.node.answer("state_getRuntimeVersion", (block) => {
    asked.push(block);
    return { specName: "nexus", specVersion: 1 };
  });
  const outcome = await hub.fetch();
  const refusal = { code: "unknown_message", detail: "Relayer.MissingCommitments" };
  assert.deepEqual(outcome.kind === "included" && outcome.refusal, refusal);
  assert.deepEqual(asked, [hashOf("b8")]);
});

Deno.test("call outcome: in a block that the node does not answer with, it is unknown once that is final", async () => {
  const hub = scriptNode({ best: 12, finalized: 8 });
  const asked: unknown[] = [];
  hub.node.answer("chain_getBlock", (hash) => {
    asked.push(hash);
    if (hash !== hashOf("b10")) return { block: { extrinsics: [inherent] } };
    throw new ScriptedError(-32008, "Response is too big", "Exceeded max limit of 9");
  });
  assert.equal((await hub.fetch()).kind, "pending");
  assert.equal(
    asked.filter((hash) => hash === hashOf("b10")).length,
    3,
    "with others, with fewer, then alone",
  );
  assert.equal((await hub.fetch()).kind, "pending");
  Object.assign(hub.state, { best: 14, finalized: 10 });
  assert.equal((await hub.fetch()).kind, "unknown");
  assert.equal(asked.filter((hash) => hash === hashOf("b10")).length, 3, "its size does not change");
});
