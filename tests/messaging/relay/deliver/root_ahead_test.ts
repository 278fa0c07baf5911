import assert from "node:assert/strict";
import { RootAhead } from "../../../../src/messaging/relay/leg_worker.ts";
import type { Leg } from "../../../../src/messaging/relay/leg.ts";
import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";
import type { StateMachineHeight, StateMachineId } from "../../../../src/core/ismp/state_machine.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";

const { signal } = new AbortController();
const source: StateMachineId = {
  stateMachine: parseStateMachine("EVM-1"),
  consensusStateId: toConsensusStateId("ETH0"),
};
const root = (height: bigint): Hash256 => `0x${height.toString(16).padStart(64, "0")}`;

interface Scene {
  readonly roots: RootAhead;
  /** Heights that the target was asked for. */
  readonly asked: bigint[];
  take(height: bigint): Promise<Hash256 | undefined>;
}

function scene(
  provesStoredRoot = true,
  answer: (height: bigint, question: number) => Promise<Hash256 | undefined> = (height) =>
    Promise.resolve(root(height)),
): Scene {
  const asked: bigint[] = [];
  const fetchStateRoot = ({ height }: StateMachineHeight): Promise<Hash256 | undefined> =>
    answer(height, asked.push(height));
  const ends = {
    source: { id: source, capabilities: { provesStoredRoot } },
    target: { id: source, capabilities: { hubProofs: "state" }, reads: { fetchStateRoot } },
  };
  // Checked: nothing else of a leg is used.
  const roots = new RootAhead(ends as unknown as Pick<Leg, "source" | "target">);
  const take = (height: bigint): Promise<Hash256 | undefined> =>
    roots.reads.fetchStateRoot({ id: source, height }, signal);
  return { roots, asked, take };
}

Deno.test("root ahead: the root of a new height is asked once, and given to one proof", async () => {
  const { roots, asked, take } = scene();
  roots.begin(7n, signal);
  roots.begin(7n, signal);
  assert.deepEqual(asked, [7n]);
  assert.equal(await take(7n), root(7n));
  assert.deepEqual(asked, [7n], "the proof waits for no further question");
  assert.equal(await take(7n), root(7n));
  assert.deepEqual(asked, [7n, 7n], "a second proof reads what is stored then");
});

Deno.test("root ahead: a proof at another height reads its own root", async () => {
  const { roots, asked, take } = scene();
  roots.begin(7n, signal);
  assert.equal(await take(5n), root(5n));
  assert.deepEqual(asked, [7n, 5n]);
});

Deno.test("root ahead: an answer that failed or was empty is asked for again", async () => {
  for (const first of [Promise.reject(new Error("down")), Promise.resolve(undefined)]) {
    first.catch(() => undefined);
    const { roots, take } = scene(
      true,
      (height, question) => question === 1 ? first : Promise.resolve(root(height)),
    );
    roots.begin(7n, signal);
    assert.equal(await take(7n), root(7n));
  }
});

Deno.test("root ahead: nothing is asked for a source whose proofs need no stored root", () => {
  const { roots, asked } = scene(false);
  roots.begin(7n, signal);
  assert.deepEqual(asked, []);
});
