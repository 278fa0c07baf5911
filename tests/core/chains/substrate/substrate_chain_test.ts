import assert from "node:assert/strict";
import type { Chain } from "../../../../src/core/chains/port.ts";
import type { SignedSubmission } from "../../../../src/core/chains/submission.ts";
import type { Hash256, Hex } from "../../../../src/core/encoding/bytes.ts";
import { blake2b256, fromHex, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { postMessage, type PostRequest } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";
import {
  hashOf,
  headerJson,
  type Script,
  scriptChain,
  type Scripted,
  unsignedExtrinsic,
} from "./scripted_hub.ts";
import { ismpToJson } from "../../../../devnet/hub/rpc/ismp_json.ts";
import { faultWith } from "../../../support/rpc_faults.ts";

const { signal } = new AbortController();
const id = { stateMachine: parseStateMachine("POLKADOT-2030"), consensusStateId: toConsensusStateId("DOT0") };
const hub = {
  stateMachine: parseStateMachine("POLKADOT-3367"),
  consensusStateId: toConsensusStateId("DOT0"),
};

/** A chain of Blake2 headers behind a scripted node. */
function setUp(methods: Script): Scripted<Chain> {
  return scriptChain(methods, { hashing: "Blake2" });
}

function header(height: number, parent: Hash256): unknown {
  return { ...Object(headerJson(height)), parentHash: parent };
}

const request: PostRequest = {
  source: id.stateMachine,
  dest: parseStateMachine("EVM-1"),
  nonce: 3n,
  from: new Uint8Array(8),
  to: new Uint8Array(20),
  timeoutTimestampSec: 18_446_744_073_709_551_615n,
  body: new Uint8Array([1]),
};

/** Scripts for a node with blocks 1 to 3, one request in block 2, and this difference of the chain's nonce there. */
function eventScripts(dispatched: bigint): Script {
  const meta = { block_hash: hashOf("b2"), transaction_hash: hashOf("x"), block_number: 2 };
  const event = { PostRequest: ismpToJson(request) };
  return {
    chain_getHeader: () => header(3, hashOf("b2")),
    chain_getBlockHash: (height) => hashOf(`b${height}`),
    state_getStorage: (key, block) => {
      assert.equal(key, toHex(ismpKeys.nonce()));
      const isAfter = block === hashOf("b2") || block === hashOf("b3");
      return toHex(u64.enc(isAfter ? 7n + dispatched : 7n));
    },
    ismp_queryEventsWithMetadata: (from, to) => {
      const heights = [1, 2, 3].filter((height) => height >= Number(from) && height <= Number(to));
      return Object.fromEntries(
        heights.map((height) => [hashOf(`b${height}`), height === 2 ? [{ meta, event }] : []]),
      );
    },
  };
}

Deno.test("substrate chain: requests are counted by the nonce, and u64 arrive without loss", async () => {
  const { clock, chain } = setUp(eventScripts(1n));
  assert.deepEqual(await clock.run(chain.events.fetchEvents(1n, 2n, signal)), [
    { kind: "message", message: postMessage(request), at: { height: 2n, transaction: hashOf("x") } },
  ]);
});

Deno.test("substrate chain: messages that a node continues lacking are named and skipped, the newer ones are read", async () => {
  const { clock, log, chain } = setUp(eventScripts(3n));
  for (let minute = 0; minute < 10; minute++) {
    await assert.rejects(
      clock.run(chain.events.fetchEvents(1n, 3n, signal)),
      (fault: unknown) => fault instanceof RpcFault && /2 messages of block 2/.test(fault.detail ?? ""),
    );
    await clock.advance(60_000);
  }
  const events = await clock.run(chain.events.fetchEvents(1n, 3n, signal));
  assert.deepEqual(events.map(({ kind, at }) => [kind, at.height]), [["message", 2n]]);
  const [line] = log.lines.filter(({ level }) => level === "error");
  assert.equal(line?.event, "messages_skipped.bodies_missing");
  assert.deepEqual(line?.fields?.block, 2n);
  assert.deepEqual(line?.fields?.messages, 2n);
});

Deno.test("substrate chain: a reorganisation between the answers is lagging", async () => {
  const { clock, node, chain } = setUp(eventScripts(1n));
  node.answer("chain_getBlockHash", (height) => hashOf(`other ${height}`));
  await assert.rejects(clock.run(chain.events.fetchEvents(1n, 2n, signal)), faultWith("lagging"));
});

Deno.test("substrate chain: a read is asked again after a lost connection, a submission is not", async () => {
  const { clock, node, chain } = setUp({});
  let asked = 0;
  const dropOnce = (): unknown => {
    asked += 1;
    if (asked === 1) node.drop();
    return header(9, hashOf("b8"));
  };
  node.answer("chain_getHeader", dropOnce);
  assert.equal(await clock.run(chain.reads.fetchHeight(signal)), 9n);
  assert.equal(asked, 2);
  let sent = 0;
  node.answer("author_submitExtrinsic", () => {
    sent += 1;
    node.drop();
    return hashOf("x");
  });
  await assert.rejects(clock.run(chain.sender.broadcast(submission, signal)), faultWith("unreachable"));
  assert.equal(sent, 1);
});

const raw = fromHex(hubScale("call.nexus.Ismp.handle_unsigned.Request").bareExtrinsicV4 ?? "0x");
const submission: SignedSubmission = { ...unsignedExtrinsic(raw), hash: toHash256(blake2b256(raw)) };

Deno.test("substrate chain: an outcome follows the extrinsic through a reorganisation", async () => {
  const { specName, specVersion, metadata } = hubMetadata("nexus-head");
  let fork = "a";
  let finalized = 5;
  const holds = new Set(["a6", "b8"]);
  const inherent = "0x280402000b";
  const events = hubScale("event.nexus.Ismp.PostRequestHandled").scale.replace("00020000", "00010000");
  const { clock, chain } = setUp({
    author_pendingExtrinsics: () => [],
    chain_getHeader: (hash) => header(hash === undefined ? 8 : finalized, hashOf("p")),
    chain_getFinalizedHead: () => hashOf(`a${finalized}`),
    chain_getBlockHash: (heights) =>
      [heights].flat().map((height) =>
        Number(height) > 8 ? null : hashOf(`${Number(height) > 5 ? fork : "a"}${height}`)
      ),
    chain_getBlock: (hash) => {
      const isHolder = [...holds].some((label) => hashOf(label) === hash);
      return { block: { extrinsics: isHolder ? [inherent, toHex(raw)] : [inherent] } };
    },
    state_getRuntimeVersion: () => ({ specName, specVersion }),
    state_getMetadata: () => toHex(metadata),
    state_getStorage: (key): Hex => {
      assert.equal(key, toHex(otherKeys.systemEvents()));
      return toHex(fromHex(events));
    },
  });
  const fetch = async (): Promise<unknown> => {
    const outcome = await clock.run(chain.outcomes.fetchOutcome(submission, signal));
    return outcome.kind === "included"
      ? [outcome.block, outcome.isFinal, outcome.handled.length]
      : outcome.kind;
  };
  assert.deepEqual(await fetch(), [{ height: 6n, hash: hashOf("a6") }, false, 1]);
  fork = "b";
  assert.deepEqual(await fetch(), [{ height: 8n, hash: hashOf("b8") }, false, 1]);
  holds.delete("b8");
  fork = "c";
  assert.deepEqual(await fetch(), "unknown");
  fork = "a";
  finalized = 6;
  assert.deepEqual(await fetch(), [{ height: 6n, hash: hashOf("a6") }, true, 1]);
});

Deno.test("substrate chain: a chain that does not know the hub yet is warned about, not refused", async () => {
  const block = header(4, hashOf("b3"));
  const { clock, chain } = setUp({
    state_call: () => "0x01ee070000",
    rpc_methods: () => ({
      methods: ["ismp_queryEventsWithMetadata", "ismp_queryChildTrieProof", "system_dryRun"],
    }),
    chain_getFinalizedHead: () => hashOf("unlike"),
    chain_getHeader: () => block,
    state_getStorage: (key) =>
      key === toHex(otherKeys.timestampNow()) ? toHex(u64.enc(BigInt(clock.now()))) : null,
  });
  const findings = await clock.run(chain.check(hub, signal));
  assert.deepEqual(findings.map(({ result }) => result), ["warning", "failed"]);
  assert.match(findings[0]?.found ?? "", /does not know the hub POLKADOT-3367\/DOT0 yet/);
  assert.match(findings[1]?.found ?? "", /neither Keccak nor Blake2/);
});

Deno.test("final height: polls at the same time ask the node once, what settles a message asks it again", async () => {
  let final = 5;
  const { clock, node, chain } = setUp({
    chain_getFinalizedHead: () => hashOf(`b${final}`),
    chain_getHeader: () => header(final, hashOf(`b${final - 1}`)),
  });
  const poll = (): Promise<bigint> => clock.run(chain.reads.fetchFinalHeight(signal));
  assert.deepEqual([await poll(), await poll()], [5n, 5n]);
  final = 8;
  await clock.advance(499);
  assert.deepEqual([await poll(), node.exchanges.length], [5n, 2]);
  await clock.advance(1);
  assert.deepEqual([await poll(), node.exchanges.length], [8n, 4]);
  final = 9;
  await clock.run(chain.certain.fetchCertainFees([], {}, signal));
  assert.deepEqual([await poll(), node.exchanges.length], [9n, 6]);
});
