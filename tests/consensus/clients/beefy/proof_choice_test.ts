/** Decisions about hosts and proofs that need no network. */
import assert from "node:assert/strict";
import { isExpired, judgeHost } from "../../../../src/core/hub_proofs/host_watch.ts";
import { HubWork, SEARCHED_BLOCKS } from "../../../../src/core/hub_proofs/hub_work.ts";
import {
  areStillNeeded,
  type BatchedProof,
  isHeightDelivered,
} from "../../../../src/consensus/clients/beefy/proof_finder.ts";
import type { HostConsensusView } from "../../../../src/core/chains/hub_client.ts";
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { getResponseMessage, postMessage } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine, type StateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { faultOf } from "../../../support/rpc_faults.ts";
import { usableHost as view } from "./fixture.ts";
import { HubEvents } from "./proven_hub.ts";

const { signal } = new AbortController();
const root = toHash256(new Uint8Array(32));
const chain = parseStateMachine("EVM-97");
const other = parseStateMachine("EVM-1");

Deno.test("beefy: what a host takes nothing for is named, the incurable first", () => {
  const codeOf = (changes: Partial<HostConsensusView>): string => {
    const usability = judgeHost({ ...view, ...changes });
    return usability.kind === "usable" ? "usable" : usability.code;
  };
  assert.equal(codeOf({}), "usable");
  assert.equal(codeOf({ challengePeriodSec: 3_600n }), "usable");
  assert.equal(codeOf({ isFrozen: true }), "frozen");
  assert.equal(codeOf({ isFrozen: true, nowSec: 1_100n }), "expired");
  assert.equal(codeOf({ state: undefined }), "unknown_layout");
  assert.equal(codeOf({ acceptsHub: false, state: undefined }), "foreign_hub");
  const unknown = judgeHost({ ...view, state: undefined, stateBytes: 384 });
  assert.match(unknown.kind === "unusable" ? unknown.detail : "", /state of 384 bytes/);
});

Deno.test("beefy: a client expires in the very second that the host counts", () => {
  assert.equal(isExpired({ nowSec: 1_099n, updatedSec: 900n, unstakingSec: 200n }), false);
  assert.equal(isExpired({ nowSec: 1_100n, updatedSec: 900n, unstakingSec: 200n }), true);
});

const { state } = view;

function proof(bytes: number, blockNumber = 101n, setId?: bigint, hubHeight?: bigint): BatchedProof {
  const commitment = { timestampSec: 1n, overlayRoot: root, stateRoot: root };
  const heights = hubHeight === undefined ? [] : [{ paraId: 4009, height: hubHeight, commitment }];
  const after = { ...state, current: { ...state.current, id: setId ?? state.current.id } };
  const rotates = setId !== undefined;
  const checked = { kind: "ecdsa", blockNumber, isStale: false, rotates, state: after, heights } as const;
  return { bytes: new Uint8Array(bytes), checked };
}

const newerBlocks = [proof(1, 101n), proof(1, 105n)];
const newerSets = [proof(1, 105n, 2n), proof(1, 205n, 3n)];
const rotated = { ...state, latestHeight: 101n, current: state.next };

/** Proofs, what the host trusts, newest block and set with what is in the pool, and whether they are needed by either. */
const needs: readonly (readonly [readonly BatchedProof[], typeof state, bigint, bigint, boolean, boolean])[] =
  [
    [newerBlocks, state, 100n, 1n, true, true],
    [newerBlocks, state, 101n, 1n, true, false],
    [newerBlocks, { ...state, latestHeight: 104n }, 104n, 1n, false, false],
    // A change of the set that an earlier block has delivered makes another block's proof of it unnecessary.
    [newerSets, state, 100n, 1n, true, true],
    [newerSets, state, 101n, 2n, true, false],
    [newerSets, rotated, 101n, 2n, false, false],
    [newerSets, { ...state, latestHeight: 104n }, 104n, 1n, true, true],
  ];

Deno.test("beefy: a proof is needed while neither block nor pool has its block, or the set that it brings", () => {
  for (const [proofs, state, pendingHeight, pendingSetId, ...expected] of needs) {
    const needed = (["blocks", "pool"] as const).map((by) =>
      areStillNeeded(proofs, { state, pendingHeight, pendingSetId }, by)
    );
    assert.deepEqual(needed, expected, `${pendingHeight}, ${pendingSetId}`);
  }
});

Deno.test("beefy: a height of the hub that another block has delivered needs no proof for messages, but one of signers", () => {
  const isDelivered = (now: bigint, paraId = 4009, setId?: bigint): boolean =>
    isHeightDelivered([proof(1, 105n, setId, 20n)], paraId, { before: 10n, now });
  assert.deepEqual([10n, 19n, 20n].map((now) => isDelivered(now)), [false, false, true]);
  assert.deepEqual([isDelivered(20n, 2000), isDelivered(20n, 4009, 2n)], [false, false]);
});

/** A hub all of whose blocks are final. */
const longFinal = (): HubEvents => new HubEvents(() => 1_000_000n);

const request = {
  source: parseStateMachine("KUSAMA-4009"),
  dest: chain,
  nonce: 0n,
  from: new Uint8Array(4),
  timeoutTimestampSec: 0n,
};

function at(height: bigint): { readonly at: ChainEvent["at"] } {
  return { at: { height, transaction: undefined } };
}

function post(dest: StateMachine, height: bigint): ChainEvent {
  const message = postMessage({ ...request, dest, to: new Uint8Array(20), body: new Uint8Array() });
  return { kind: "message", message, ...at(height) };
}

Deno.test("beefy: requests to a chain, answers for it and handled timeouts of it are work; the rest is none", async () => {
  const get = { ...request, source: chain, dest: other, keys: [], height: 1n, context: new Uint8Array() };
  const answer: ChainEvent = {
    kind: "message",
    message: getResponseMessage({ get, values: [] }),
    ...at(20n),
  };
  const timeout: ChainEvent = {
    kind: "timeoutHandled",
    of: "post",
    commitment: root,
    source: chain,
    ...at(20n),
  };
  const cases: readonly (readonly [ChainEvent, boolean])[] = [
    [post(chain, 20n), true],
    [post(other, 20n), false],
    [answer, true],
    [timeout, true],
    [{ ...timeout, of: "get" }, false],
    [{ kind: "updated", stateMachine: chain, id: undefined, height: 1n, ...at(20n) }, false],
  ];
  for (const [event, expected] of cases) {
    const hub = longFinal();
    hub.list.push(event);
    const work = new HubWork(hub);
    assert.equal(
      await work.hasWork(chain, { known: 10n, upTo: 30n }, signal),
      expected,
      JSON.stringify(event.kind),
    );
    assert.equal(await work.hasWork(chain, { known: 20n, upTo: 30n }, signal), false);
    assert.equal(await work.hasWork(chain, { known: 10n, upTo: 19n }, signal), false);
  }
});

Deno.test("beefy: every block of the hub is read once for all chains, and no more than a day of them", async () => {
  const hub = longFinal();
  const work = new HubWork(hub);
  assert.equal(await work.hasWork(chain, { known: 100n, upTo: 350n }, signal), false);
  assert.deepEqual(hub.asked, ["101-200", "201-300", "301-350"]);
  assert.equal(await work.hasWork(other, { known: 100n, upTo: 350n }, signal), false);
  assert.equal(hub.asked.length, 3);
  assert.equal(await work.hasWork(other, { known: 90n, upTo: 360n }, signal), false);
  assert.deepEqual(hub.asked.slice(3), ["91-100", "351-360"]);
  hub.list.push(post(other, 370n));
  assert.equal(await work.hasWork(other, { known: 360n, upTo: 380n }, signal), true);
  assert.equal(await work.hasWork(chain, { known: 360n, upTo: 380n }, signal), false);
  assert.equal(hub.asked.length, 6);
  const fresh = new HubWork(longFinal());
  const newest = SEARCHED_BLOCKS * 3n;
  assert.equal(await fresh.hasWork(chain, { known: newest - SEARCHED_BLOCKS, upTo: newest }, signal), false);
  assert.equal(
    await fresh.hasWork(chain, { known: 0n, upTo: newest }, signal),
    true,
    "older blocks count as work",
  );
});

Deno.test("beefy: blocks that are not final on the hub's node are read again until they are", async () => {
  let final = 15n;
  const hub = new HubEvents(() => final);
  const work = new HubWork(hub);
  assert.equal(await work.hasWork(chain, { known: 10n, upTo: 20n }, signal), false);
  assert.deepEqual(hub.asked, ["11-20"]);
  // The node followed a fork.
  hub.list.push(post(chain, 18n));
  assert.equal(await work.hasWork(chain, { known: 10n, upTo: 20n }, signal), true);
  // And it comes back to it: what was said of a block that is not final is not kept.
  hub.list.length = 0;
  assert.equal(await work.hasWork(chain, { known: 16n, upTo: 20n }, signal), false);
  assert.deepEqual(hub.asked.slice(1), ["16-20", "17-20"]);
  final = 20n;
  hub.list.push(post(chain, 18n));
  assert.equal(await work.hasWork(chain, { known: 10n, upTo: 20n }, signal), true);
  assert.equal(await work.hasWork(chain, { known: 10n, upTo: 20n }, signal), true);
  assert.deepEqual(hub.asked.slice(3), ["16-20"]);
  final = 5n;
  assert.equal(
    await work.hasWork(chain, { known: 20n, upTo: 20n + SEARCHED_BLOCKS + 1n }, signal),
    true,
    "too many to read",
  );
  assert.equal(hub.asked.length, 4);
});

Deno.test("beefy: blocks that the hub's node has pruned count as work", async () => {
  const fetchEvents = (): Promise<never> => Promise.reject(faultOf("pruned", "KUSAMA-4009"));
  const finalAt = (height: bigint) => (): Promise<bigint> => Promise.resolve(height);
  for (const fetchFinalHeight of [finalAt(20n), finalAt(0n)]) {
    const work = new HubWork({ events: { fetchEvents }, reads: { fetchFinalHeight } });
    assert.equal(await work.hasWork(chain, { known: 10n, upTo: 20n }, signal), true);
  }
  const unreachable = (): Promise<never> => Promise.reject(faultOf("unreachable"));
  const down = new HubWork({
    events: { fetchEvents: unreachable },
    reads: { fetchFinalHeight: finalAt(20n) },
  });
  await assert.rejects(down.hasWork(chain, { known: 10n, upTo: 20n }, signal), { code: "unreachable" });
});
