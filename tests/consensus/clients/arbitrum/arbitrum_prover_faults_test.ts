// The prover of Arbitrum chains with nodes that lie or belong to another chain: nothing wrong is ever offered, and the
// endpoint is named where its answer can be distinguished from the truth.
import assert from "node:assert/strict";
import { type AlterAnswer, alteringFetch } from "../../../support/altered_answers.ts";
import { headerFields, lieAbout } from "../../rollup/lies.ts";
import { hostOf, outcomeOf } from "../../rollup/outcome.ts";
import { relay } from "../../rollup/fixture.ts";
import { onFixture, startArbitrum } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

/** Replaces one word of the data of all logs. */
function lieAboutWord(index: number): AlterAnswer {
  return lieAbout("eth_getLogs", "*.data", (data) => {
    const end = 2 + 64 * (index + 1);
    const last = data[end - 1] === "1" ? "2" : "1";
    return `${data.slice(0, end - 1)}${last}${data.slice(end)}`;
  });
}

test("arbitrum: an L1 endpoint that lies about any part of an assertion is found out and named", async (fixture) => {
  const { hub, nodes } = fixture;
  const assertion = await fixture.claimAssertion();
  const named = `bad_data EVM-11155111 ${hostOf(nodes.l1.rpcUrl)}`;
  const lies: readonly AlterAnswer[] = [
    lieAbout("eth_getLogs", "*.topics.1"),
    lieAbout("eth_getLogs", "*.topics.2"),
    // The end of the claim and the accumulator; what comes before them is no part of the name.
    ...[13, 14, 15, 16, 17, 18, 19].map(lieAboutWord),
    lieAbout("eth_getLogs", "*.data", (data) => data.slice(0, -64)),
    lieAbout("eth_getBlockByNumber", "stateRoot"),
    lieAbout("eth_getProof", "accountProof.0"),
    lieAbout("eth_getProof", "storageHash"),
    lieAbout("eth_getProof", "storageProof.0.proof.0"),
    lieAbout("eth_getProof", "storageProof.1.proof.0"),
  ];
  for (const [index, lie] of lies.entries()) {
    const prover = fixture.prover({ l1Transport: alteringFetch(lie) });
    assert.equal(await outcomeOf(prover), named, `lie ${index}`);
  }
  for (const word of ["0", "1"]) {
    // First a parent that is not there, then one with two children: this can only hide the assertion.
    const lie = lieAbout("eth_getStorageAt", "", () => `0x${`${word}`.repeat(64)}`);
    assert.match(await outcomeOf(fixture.prover({ l1Transport: alteringFetch(lie) })), /^nothing/);
  }
  assert.equal(await relay(hub, fixture.prover()), assertion.l2Height);
});

Deno.test("arbitrum: an L1 endpoint that lies about any part of a node is found out and named", async () => {
  await using fixture = await startArbitrum("ArbitrumOrbit");
  const { hub, nodes } = fixture;
  const { l2Height } = await fixture.claimNode();
  const named = `bad_data EVM-11155111 ${hostOf(nodes.l1.rpcUrl)}`;
  const lies: readonly (readonly [AlterAnswer, string | RegExp])[] = [
    [lieAbout("eth_getLogs", "*.topics.1"), named],
    // Word 6 is the hash of the last block: the rollup has no such block. Word 7 is the send root.
    [lieAboutWord(6), /^nothing: .*block_does_not_exist/],
    [lieAboutWord(7), /^nothing: .*send_root_mismatch/],
    [lieAboutWord(8), named],
    [lieAboutWord(9), named],
    [lieAboutWord(10), named],
    [lieAboutWord(14), named],
    [lieAbout("eth_getProof", "accountProof.0"), named],
    [lieAbout("eth_getProof", "storageProof.0.proof.0"), named],
  ];
  for (const [index, [lie, expected]] of lies.entries()) {
    const outcome = await outcomeOf(fixture.prover({ l1Transport: alteringFetch(lie) }));
    if (typeof expected === "string") assert.equal(outcome, expected, `lie ${index}`);
    else assert.match(outcome, expected, `lie ${index}`);
  }
  assert.equal(await relay(hub, fixture.prover()), l2Height);
});

test("arbitrum: an endpoint of the rollup that lies about a header is found out and named", async (fixture) => {
  const { hub, l2 } = fixture;
  const assertion = await fixture.claimAssertion();
  // Headers of Nitro end with the base fee.
  for (const field of headerFields.slice(0, headerFields.indexOf("withdrawalsRoot"))) {
    const prover = fixture.prover({ l2Transport: alteringFetch(lieAbout("eth_getBlockByHash", field)) });
    assert.equal(await outcomeOf(prover), `bad_data EVM-421614 ${hostOf(l2.rpcUrl)}`, field);
  }
  const absent: AlterAnswer = (method, result) => method === "eth_getBlockByHash" ? null : result;
  assert.match(
    await outcomeOf(fixture.prover({ l2Transport: alteringFetch(absent) })),
    /^nothing: .*block_does_not_exist/,
  );
  assert.equal(await relay(hub, fixture.prover()), assertion.l2Height);
});
