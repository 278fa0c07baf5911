/** What keeps proofs of the hub from a host without being a fault: told once, polled with patience, and over by itself. */
import assert from "node:assert/strict";
import { AcceptedSource } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { HubWork } from "../../../../src/core/hub_proofs/hub_work.ts";
import { type HostChain, HostDelivery } from "../../../../src/consensus/clients/beefy/host_delivery.ts";
import { clientWorker } from "../../../../src/consensus/chain_worker.ts";
import type { HostConsensusView } from "../../../../src/core/chains/hub_client.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { idOf } from "../../../support/memory_target.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { faultOf } from "../../../support/rpc_faults.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { usableHost as usable } from "./fixture.ts";
import { HubEvents } from "./proven_hub.ts";

/** A worker of a host that is seen so, and of a hub that lists a rotation whose bytes are not offered. */
class Scene implements AsyncDisposable {
  readonly clock = new FakeClock(0);
  readonly log = new RecordedLog();
  view: HostConsensusView;
  /** Seconds at which the host was read. */
  readonly looks: number[] = [];
  readonly #stop = new AbortController();
  readonly #end: Promise<unknown>;

  constructor(changes: Partial<HostConsensusView> = {}) {
    this.view = { ...usable, ...changes };
    const { clock, log } = this;
    const hubClient = {
      fetchConsensusView: () => {
        this.looks.push(clock.now() / 1_000);
        return Promise.resolve(this.view);
      },
      fetchClientKind: () => Promise.resolve("router"),
    };
    const acceptedProofs = {
      fetchAcceptedIndex: () => Promise.resolve({ rotations: new Map([[2n, 20n]]), messaging: [] }),
      fetchProofBytes: () => Promise.reject(faultOf("missing_method", "KUSAMA-4009")),
    };
    const source = new AcceptedSource({
      clock,
      log,
      hub: { acceptedProofs, close: () => Promise.resolve() },
      work: new HubWork(new HubEvents(() => 0n)),
      endpoint: "hub.example.org",
    });
    const delivery = new HostDelivery({
      clock,
      log,
      hub: idOf("KUSAMA-4009/PAS0"),
      sources: [source],
      chain: { id: idOf("EVM-1/ETH0"), hubClient } as unknown as HostChain,
    });
    const worker = clientWorker({ clock, random: fixedRandomness(0), intervalMs: 10_000 }, delivery);
    this.#end = worker.run(this.#stop.signal).catch((error: unknown) => error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#end;
  }
}

/** Which of them take no proofs, and how that is told; all are polled once a minute. */
const unusable = [
  ["frozen", "warn", { isFrozen: true }],
  ["unknown_layout", "warn", { state: undefined, stateBytes: 384 }],
  ["expired", "error", { updatedSec: 800n }],
  ["foreign_hub", "error", { acceptsHub: false }],
] as const;
for (const [code, level, changes] of unusable) {
  Deno.test(`beefy: a host that is unusable (${code}) is told once, polled once a minute, and continues by itself`, async () => {
    await using scene = new Scene(changes);
    await scene.clock.advance(125_000);
    assert.deepEqual(scene.looks, [0, 60, 120]);
    assert.deepEqual(scene.log.events(level), [`host_unusable.${code}`]);
    scene.view = usable;
    await scene.clock.advance(60_000);
    assert.equal(scene.log.linesOf("host_resumed").length, 1);
  });
}

Deno.test("beefy: a node that denies the bytes of proofs is told once, with what it needs, and asked again", async () => {
  await using scene = new Scene();
  await scene.clock.advance(65_000);
  assert.ok(scene.looks.length >= 6, `${scene.looks.length}`);
  assert.deepEqual(scene.log.events("error"), []);
  const [line, ...others] = scene.log.lines.filter(({ level }) => level === "warn");
  assert.deepEqual([line?.event, others], ["proofs_unavailable.withheld", []]);
  assert.match(
    String(line?.fields.explanation),
    /^hub\.example\.org .*offchain_localStorageGet.*--rpc-methods=unsafe.*--enable-offchain-indexing=true/,
  );
});
