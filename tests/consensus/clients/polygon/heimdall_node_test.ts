import assert from "node:assert/strict";
import { runChecks } from "../../../../src/core/checks/check_row.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import type { HeimdallSigner } from "../../../../devnet/heimdall/signers.ts";
import { checkHeimdallNode } from "../../../../src/consensus/clients/polygon/heimdall_node.ts";
import { hashValidators } from "../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { AMOY, MemoryPolygon } from "./polygon_chain.ts";

const { signal } = new AbortController();

function grown(options: ConstructorParameters<typeof MemoryPolygon>[0] = {}): MemoryPolygon {
  const chain = new MemoryPolygon(options);
  chain.heimdall.growTo(5n);
  chain.finalize(150n);
  return chain;
}

Deno.test("a Heimdall node is read: status, header with votes, validators, milestone", async () => {
  const { node } = grown();
  assert.equal(node.host, "heimdall.example");
  const { chainId, latestHeight, isCatchingUp } = await node.fetchStatus(signal);
  assert.deepEqual([chainId, latestHeight, isCatchingUp], ["heimdallv2-80002", 7n, false]);
  const { header, commit } = await node.fetchSignedHeader(1n, signal);
  assert.deepEqual([header.lastBlockId, header.version, commit.height], [
    undefined,
    { block: 11n, app: 0n },
    1n,
  ]);
  assert.equal((await node.fetchValidators(8n, signal)).length, 5);
  assert.equal(await node.fetchMilestone(5n, signal), undefined);
  const found = await node.fetchMilestone(6n, signal);
  assert.deepEqual([found?.number, found?.milestone.endBlock], [1n, 150n]);
});

Deno.test("all pages of a set are read", async () => {
  const signers = Array.from({ length: 230 }, (_, key): HeimdallSigner => ({ key: key + 1, power: 5n }));
  const chain = new MemoryPolygon({ signersOf: () => signers });
  chain.heimdall.addBlock();
  const { header } = await chain.node.fetchSignedHeader(1n, signal);
  const validators = await chain.node.fetchValidators(1n, signal);
  assert.deepEqual([validators.length, chain.calls.get("validators")], [230, 3]);
  assert.equal(hashValidators(validators), header.validatorsHash);
});

Deno.test("blocks that a node lacks are told apart", async () => {
  const { node } = grown({ lowest: 4n });
  assert.equal((await catchFault(node.fetchSignedHeader(9n, signal))).code, "lagging");
  assert.equal((await catchFault(node.fetchSignedHeader(3n, signal))).code, "pruned");
  assert.equal((await catchFault(node.fetchValidators(3n, signal))).code, "pruned");
  assert.equal((await catchFault(node.fetchMilestone(3n, signal))).code, "pruned");
});

type Answer = { readonly [name: string]: Answer };

const lies: readonly (readonly [string, string, (result: Answer) => unknown, RegExp])[] = [
  ["another block", "commit", ({ signed_header: signed }) => ({
    signed_header: { header: { ...signed?.header, height: "4" }, commit: signed?.commit },
  }), /commit: block 4 for 5/],
  ["a header of another hash", "commit", ({ signed_header: signed }) => ({
    signed_header: { header: { ...signed?.header, chain_id: "other" }, commit: signed?.commit },
  }), /commit_block/],
  ["a header without its time", "commit", ({ signed_header: signed }) => ({
    signed_header: { header: { ...signed?.header, time: "never" }, commit: signed?.commit },
  }), /commit: refused: time/],
  ["no header", "commit", () => ({ signed_header: null }), /commit: signed_header/],
  ["a key of another kind", "validators", () => ({
    validators: [{
      address: "00".repeat(20),
      pub_key: { type: "tendermint/PubKeyEd25519", value: "" },
      voting_power: "1",
    }],
    total: "1",
  }), /validators: validators\.0\.pub_key\.type/],
  ["a milestone that is none", "abci_query", ({ response }) => ({
    response: { ...response, value: "AAAAAAAAAAE=" },
  }), /abci_query/],
];

for (const [what, method, lie, told] of lies) {
  Deno.test(`a Heimdall node that answers ${method} with ${what} is malformed`, async () => {
    const chain = grown();
    chain.alter = (asked, result) => asked === method ? lie(Object(result)) : result;
    const { node } = chain;
    const fault = await catchFault(
      method === "commit"
        ? node.fetchSignedHeader(5n, signal)
        : method === "validators"
        ? node.fetchValidators(5n, signal)
        : node.fetchMilestone(6n, signal),
    );
    assert.equal(fault.code, "malformed");
    assert.match(fault.detail ?? "", told);
  });
}

Deno.test("a node of another chain is not used", async () => {
  const chain = new MemoryPolygon({ borChainId: 137 });
  chain.heimdall.addBlock();
  const fault = await catchFault(chain.node.fetchSignedHeader(1n, signal));
  assert.deepEqual([fault.code, fault.reaction], ["wrong_chain", "retry"]);
});

Deno.test("the check of a Heimdall node says what it serves, that it is syncing, or why it does not answer", async () => {
  const chain = grown();
  const rows = async (): Promise<readonly (readonly [string, string])[]> => {
    const clock = new FakeClock();
    const checked = await clock.run(
      runChecks({ clock }, [checkHeimdallNode(clock, AMOY, chain.node)], signal),
    );
    return checked.map(({ result, found }) => [result, found]);
  };
  const serving = "answers in 0 ms, serves heimdallv2-80002 up to block 7";
  assert.deepEqual(await rows(), [["ok", serving]]);
  chain.heimdall.isSyncing = true;
  assert.deepEqual(await rows(), [["warning", `${serving}, and is still syncing`]]);
  chain.alter = () => ({ node_info: {} });
  const [[result, found] = ["", ""]] = await rows();
  assert.equal(result, "failed");
  assert.match(found, /^does not answer: (wrong_chain|malformed)/);
});
