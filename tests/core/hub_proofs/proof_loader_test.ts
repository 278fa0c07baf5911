import assert from "node:assert/strict";
import { ProofLoader } from "../../../src/core/hub_proofs/proof_loader.ts";
import type { AcceptedProof } from "../../../src/core/chains/hub.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const never = new AbortController().signal;

/** A loader from a node with these bytes, by height, and the heights that were asked for. */
function loader(bytes: ReadonlyMap<bigint, Uint8Array>): {
  readonly loader: ProofLoader;
  readonly asked: bigint[];
  readonly log: RecordedLog;
  readonly clock: FakeClock;
} {
  const asked: bigint[] = [];
  const log = new RecordedLog();
  const clock = new FakeClock();
  const fetchProofBytes = ({ height }: AcceptedProof): Promise<Uint8Array | undefined> => {
    asked.push(height);
    return Promise.resolve(bytes.get(height));
  };
  return { loader: new ProofLoader({ fetchProofBytes }, { clock, log }), asked, log, clock };
}

const known = (height: number): Uint8Array => Uint8Array.of(height % 2, height);
const later = (kind: number): Uint8Array => Uint8Array.of(kind, 1, 2, 3);

Deno.test("proof loader: the newest proof of a known kind that the node has is taken, and read once a minute", async () => {
  const stored = new Map([[9n, later(2)], [7n, known(7)], [6n, known(6)]]);
  const { loader: loads, asked, log, clock } = loader(stored);
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await loads.loadFirst([9n, 8n, 7n, 6n], never), {
      height: 7n,
      newSetId: undefined,
      bytes: known(7),
    });
  }
  assert.deepEqual(asked, [9n, 8n, 7n, 8n]);
  assert.ok(loads.isSkipped({ height: 9n, newSetId: undefined }));
  assert.ok(!loads.isSkipped({ height: 8n, newSetId: undefined }));
  assert.deepEqual(log.events("warn"), ["proofs_unavailable.unknown_kind"]);
  assert.equal(await loads.loadFirst([], never), undefined);
  // All of it is the word of one node, which may be another one later.
  stored.set(9n, known(9));
  await clock.advance(60_000);
  assert.equal((await loads.loadFirst([9n, 8n, 7n], never))?.height, 9n);
});

Deno.test("proof loader: an unknown kind is named once, each kind by itself", async () => {
  const stored = new Map([[5n, later(2)], [6n, later(2)], [7n, later(9)], [8n, new Uint8Array(0)]]);
  const { loader: loads, log } = loader(stored);
  assert.equal(await loads.loadFirst([8n, 7n, 6n, 5n], never), undefined);
  assert.deepEqual(log.lines.map(({ fields }) => fields.kind), ["0x", "0x09", "0x02"]);
});

Deno.test("proof loader: rotations end before the first one that cannot be sent", async () => {
  const steps = [1, 2, 3, 4].map((set) => ({ height: BigInt(set), newSetId: BigInt(set) }));
  const setsOf = async (stored: ReadonlyMap<bigint, Uint8Array>): Promise<readonly (bigint | undefined)[]> =>
    (await loader(stored).loader.loadRotations(steps, never)).map(({ newSetId }) => newSetId);
  const tooLarge = new Uint8Array(1_048_577);
  assert.deepEqual(await setsOf(new Map([[1n, tooLarge]])), []);
  const all = new Map(steps.map(({ height }) => [height, known(Number(height))]));
  assert.deepEqual(await setsOf(all), [1n, 2n, 3n, 4n]);
  assert.deepEqual(await setsOf(new Map([...all, [2n, later(2)]])), [1n]);
  assert.deepEqual(await setsOf(new Map([...all].slice(1))), []);
});
