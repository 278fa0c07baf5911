import { deepEqual, equal, ok } from "node:assert/strict";
import { concatBytes, toHex } from "../../src/core/encoding/bytes.ts";
import { encodeBareExtrinsic } from "../../src/core/ismp/ismp_message.ts";
import { hubExtrinsicHash } from "./extrinsic.ts";
import { messagesTag } from "./pool_tags.ts";
import { bytes } from "../../src/core/encoding/scale.ts";
import {
  commitSender,
  extrinsicOf,
  post,
  requestMessage,
  sender,
  startTestHub,
  submit,
} from "./deliveries.ts";
import type { Hub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";
import { RuntimeMetadata } from "./runtime_metadata.ts";

async function errorCode(hub: Hub, extrinsic: Uint8Array): Promise<number | undefined> {
  const answer = await submit(hub, extrinsic);
  return answer.kind === "error" ? answer.error.code : undefined;
}

Deno.test("pool: the same bytes are 1013, the same messages of another signer 1014, included ones 1012", async () => {
  await using hub = await startTestHub();
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request]);
  const proof = await source.prove([request]);
  const ours = extrinsicOf(requestMessage([request], proof, { signer: new Uint8Array([1]) }));
  const theirs = extrinsicOf(requestMessage([request], proof, { signer: new Uint8Array([2]) }));
  equal(await errorCode(hub, ours), undefined);
  deepEqual(await submit(hub, ours), {
    kind: "error",
    error: { code: 1013, message: "Transaction Already Imported", data: hubExtrinsicHash(ours) },
  });
  deepEqual(await submit(hub, theirs), {
    kind: "error",
    error: {
      code: 1014,
      message: "Priority is too low: (100 vs 100)",
      data: "The transaction has too low priority to replace another transaction already in the pool.",
    },
  });
  deepEqual(await resultHttp(hub.httpUrl, "author_pendingExtrinsics"), [toHex(ours)]);
  hub.produceBlock();
  deepEqual(await resultHttp(hub.httpUrl, "author_pendingExtrinsics"), []);
  deepEqual(await submit(hub, ours), {
    kind: "error",
    error: { code: 1012, message: "Transaction is temporarily banned", data: undefined },
  });
  equal(await errorCode(hub, theirs), 1010);
  equal(await errorCode(hub, theirs), 1012);
  hub.advanceTime(30 * 60 * 1000);
  equal(await errorCode(hub, theirs), 1010);
});

Deno.test("pool: validity over state_call names tag, priority and longevity", async () => {
  await using hub = await startTestHub();
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request]);
  const message = requestMessage([request], await source.prove([request]));
  const ask = (extrinsic: Uint8Array): Promise<unknown> =>
    resultHttp(hub.httpUrl, "state_call", [
      "TaggedTransactionQueue_validate_transaction",
      toHex(concatBytes(Uint8Array.of(2), extrinsic, new Uint8Array(32))),
    ]);
  const tag = messagesTag([message]).slice(2);
  equal(await ask(extrinsicOf(message)), `0x006400000000000000000480${tag}190000000000000001`);
  equal(await ask(extrinsicOf(requestMessage([request], new Uint8Array()))), "0x010004");
  equal(await ask(extrinsicOf()), "0x010000");
});

Deno.test("pool: what a node does not take", async (t) => {
  await using hub = await startTestHub();
  const metadata = RuntimeMetadata.load("gargantua");
  const bare = (pallet: string, call: string, args: Uint8Array): Uint8Array =>
    encodeBareExtrinsic(concatBytes(metadata.callIndex(pallet, call), args));
  const cases: [string, Uint8Array, number, unknown][] = [
    ["no length prefix", Uint8Array.of(4, 4, 4), 1001, undefined],
    [
      "an unknown call",
      encodeBareExtrinsic(Uint8Array.of(250, 0)),
      1002,
      'RuntimeApi("Execution failed: Execution aborted due to trap")',
    ],
    [
      "an inherent",
      bare("Timestamp", "set", Uint8Array.of(4)),
      1010,
      "Transaction dispatch is mandatory; transactions must not be validated.",
    ],
    [
      "a call that needs a signature",
      bare("System", "remark", Uint8Array.of(0)),
      1011,
      "NoUnsignedValidator",
    ],
    [
      "a signed extrinsic without funds",
      bytes.enc(Uint8Array.of(0x84, 0, 0)),
      1010,
      "Inability to pay some fees (e.g. account balance too low)",
    ],
    ["no messages at all", extrinsicOf(), 1010, "Transaction call is not expected"],
  ];
  for (const [name, extrinsic, code, data] of cases) {
    await t.step(name, async () => {
      const answer = await submit(hub, extrinsic);
      ok(answer.kind === "error");
      deepEqual([answer.error.code, answer.error.data], [code, data]);
    });
  }
  const undecodable = await resultHttp(hub.httpUrl, "system_dryRun", [
    toHex(bare("System", "remark", Uint8Array.of(0))),
  ]);
  equal(undecodable, "0x010101");
});

Deno.test("pool: an extrinsic whose proof height goes away before the block is included and fails there", async () => {
  await using hub = await startTestHub();
  const requests = [post(1n), post(2n)];
  const source = await commitSender(hub, 10n, requests);
  const extrinsic = await source.deliver(requests);
  equal(await errorCode(hub, extrinsic), undefined);
  void hub.pruneCommitment({ id: sender, height: 10n });
  hub.produceBlock();
  equal(await errorCode(hub, extrinsic), 1012);
  equal(hub.rejections.at(-1)?.ismp, "state_commitment_not_found");
});
