import assert from "node:assert/strict";
import { consensusDigestCodec, timestampDigestCodec } from "../../../src/core/protocol/ismp/host_state.ts";
import { findDigest } from "../../devnet/hub/digest.ts";
import { never, World } from "./world.ts";

Deno.test("GRANDPA prover: a chain follows the hub block by block, with the roots and the time of its headers", async () => {
  await using world = await World.start();
  const prover = world.prover();
  assert.deepEqual(await prover.next(never), { kind: "nothing", reason: "no newer final block" });
  for (let round = 0; round < 3; round++) {
    const header = world.advance(2);
    const finding = await prover.next(never);
    assert.ok(finding.kind === "updates");
    assert.equal(finding.height, BigInt(header.number));
    assert.equal(finding.hasMore, false);
    assert.equal(finding.proofs.length, 1);
    await world.submit(finding);
    assert.equal(world.knownHeight, BigInt(header.number));
    const roots = findDigest(header.digest, "ISMP", consensusDigestCodec);
    const time = findDigest(header.digest, "ISTM", timestampDigestCodec);
    const at = { id: world.hubId, height: BigInt(header.number) };
    assert.deepEqual(await world.sink.fetchCommitment(at, never), {
      timestampSec: time?.timestampSec,
      overlayRoot: roots?.mmrRoot,
      stateRoot: roots?.childTrieRoot,
    });
    assert.equal((await world.fetchTrusted()).latestHash, world.relay.finalized.hash);
    assert.deepEqual(await prover.next(never), { kind: "nothing", reason: "no newer final block" });
  }
});
