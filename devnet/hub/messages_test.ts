import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { commitmentOfPost, type PostRequest } from "../../src/core/ismp/message.ts";
import { signatureCodec } from "../../src/core/ismp/fees.ts";
import { toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../src/core/ismp/storage_keys.ts";
import {
  commitSender,
  compressedExtrinsic,
  eventsOf,
  EvmSource,
  extrinsicOf,
  handleUnsigned,
  post,
  receiver,
  requestMessage,
  sender,
  startTestHub,
  submit,
} from "./deliveries.ts";
import { demoModuleId, type Hub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";
import type { IsmpErrorCode } from "./pallets/ismp_error.ts";

/** Names of the events of the newest block. */
async function eventTags(hub: Hub): Promise<string[]> {
  return (await eventsOf(hub)).flatMap((event) => Object.keys(Object(event)));
}

/** What a refusal must not change. */
async function stateOf(hub: Hub): Promise<unknown> {
  hub.produceBlock();
  const { digest } = hub.header(hub.best.number);
  return { roots: digest[1], pending: await resultHttp(hub.httpUrl, "author_pendingExtrinsics") };
}

async function refuses(hub: Hub, extrinsic: Uint8Array, reason: IsmpErrorCode): Promise<void> {
  const before = await stateOf(hub);
  const dryRun = await resultHttp(hub.httpUrl, "system_dryRun", [toHex(extrinsic)]);
  equal(dryRun, "0x0001032900000000");
  const answer = await submit(hub, extrinsic);
  deepEqual(answer, {
    kind: "error",
    error: { code: 1010, message: "Invalid Transaction", data: "Transaction has a bad signature" },
  });
  equal(hub.rejections.at(-1)?.code, "BadProof");
  equal(hub.rejections.at(-1)?.ismp, reason);
  deepEqual(await stateOf(hub), before);
}

Deno.test("hub: a request proven by an EVM trie is routed on with receipt, metadata, leaf and events", async () => {
  await using hub = await startTestHub();
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request, post(2n), post(3n)]);
  const extrinsic = await source.deliver([request]);
  equal(await resultHttp(hub.httpUrl, "system_dryRun", [toHex(extrinsic)]), "0x0000");
  equal((await submit(hub, extrinsic)).kind, "result");
  hub.produceBlock();
  const commitment = commitmentOfPost(request);
  deepEqual(hub.findReceipt(commitment), new Uint8Array(20).fill(5));
  ok(hub.hasRequest(commitment));
  deepEqual(await eventTags(hub), ["PostRequest", "PostRequestHandled"]);
  const [known] = [await resultHttp(hub.httpUrl, "ismp_queryRequests", [[{ commitment }]])].flat();
  deepEqual(known, {
    Post: {
      source: "EVM-1",
      dest: "EVM-56",
      nonce: 1,
      from: toHex(request.from),
      to: toHex(request.to),
      timeoutTimestamp: 0,
      body: toHex(request.body),
    },
  });
});

Deno.test("hub: a batch is delivered as a whole, requests before their handled events", async () => {
  await using hub = await startTestHub();
  const requests = [post(1n), post(2n, { dest: hub.identity.stateMachine, to: demoModuleId }), post(3n)];
  const source = await commitSender(hub, 10n, requests);
  equal((await submit(hub, await source.deliver(requests))).kind, "result");
  hub.produceBlock();
  deepEqual(await eventTags(hub), [
    "PostRequest",
    "PostRequest",
    "PostRequestHandled",
    "PostRequestHandled",
    "PostRequestHandled",
  ]);
  deepEqual(requests.map((request) => hub.hasRequest(commitmentOfPost(request))), [true, false, true]);
});

Deno.test("hub: refuses with the live reason, all or nothing, and keeps no trace", async (t) => {
  await using hub = await startTestHub();
  const nowSec = BigInt(Math.floor(hub.nowMs / 1000));
  const good = post(1n);
  const late = post(2n, { timeoutTimestampSec: nowSec });
  const foreign = post(3n, { source: receiver.stateMachine });
  const unknownModule = post(4n, { dest: hub.identity.stateMachine, to: new Uint8Array(8) });
  const oddModule = post(5n, { dest: hub.identity.stateMachine, to: new Uint8Array(7) });
  const absent = post(6n);
  const source = await commitSender(hub, 10n, [good, late, foreign, unknownModule, oddModule]);
  const of = (...requests: PostRequest[]): Promise<Uint8Array> => source.deliver(requests);
  const cases: [string, () => Promise<Uint8Array> | Uint8Array, IsmpErrorCode][] = [
    ["an empty batch", () => of(), "empty_batch"],
    ["the same request twice", () => of(good, good), "duplicate_request"],
    ["one timed out request among good ones", () => of(good, late), "request_timeout"],
    ["another source than the proven chain", () => of(foreign), "request_proxy_prohibited"],
    ["a module that the hub does not have", () => of(good, unknownModule), "module_not_found"],
    ["a module id of seven bytes", () => of(oddModule), "module_not_found"],
    [
      "a request that the source does not hold",
      () => of(good, absent),
      "membership_proof_verification_failed",
    ],
    [
      "a height that was never committed",
      () => source.deliver([good], { height: 11n }),
      "state_commitment_not_found",
    ],
    [
      "an unknown consensus state",
      () => source.deliver([good], { id: { ...sender, consensusStateId: toConsensusStateId("NONE") } }),
      "consensus_state_id_not_recognized",
    ],
    [
      "a changed request under a good proof",
      async () => extrinsicOf(requestMessage([{ ...good, nonce: 99n }], await source.prove([good]))),
      "membership_proof_verification_failed",
    ],
    ["a proof with a flipped bit", async () => {
      const proof = await source.prove([good]);
      const at = proof.length - 40;
      proof[at] = (proof[at] ?? 0) ^ 1;
      return extrinsicOf(requestMessage([good], proof));
    }, "membership_proof_verification_failed"],
    [
      "a truncated proof",
      async () => extrinsicOf(requestMessage([good], (await source.prove([good])).slice(0, -1))),
      "membership_proof_verification_failed",
    ],
    [
      "a long signer that is no signature",
      () => source.deliver([good], { signer: new Uint8Array(33).fill(9) }),
      "signature_decoding_failed",
    ],
    ["a consensus update that is none", () =>
      extrinsicOf({
        tag: "Consensus",
        value: {
          consensusProof: new Uint8Array(3),
          consensusStateId: sender.consensusStateId,
          signer: good.from,
        },
      }), "consensus_proof_verification_failed"],
  ];
  for (const [name, make, reason] of cases) {
    await t.step(name, async () => refuses(hub, await make(), reason));
  }
  await t.step("a request that was delivered before", async () => {
    const first = await of(good);
    equal((await submit(hub, first)).kind, "result");
    hub.produceBlock();
    await refuses(hub, await source.deliver([good], { signer: late.to }), "duplicate_request");
  });
});

Deno.test("hub: a commitment counts only after its challenge period, and not when vetoed or frozen", async () => {
  await using hub = await startTestHub({ now: () => 1_800_000_000_000 });
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request]);
  const make = (signer: number): Promise<Uint8Array> =>
    source.deliver([request], { signer: new Uint8Array([signer]) });
  void hub.setChallengePeriod(sender, 60n);
  hub.produceBlock();
  await refuses(hub, await make(1), "challenge_period_not_elapsed");
  hub.advanceTime(59_000);
  await refuses(hub, await make(2), "challenge_period_not_elapsed");
  hub.advanceTime(3_000);
  hub.produceBlock();
  equal(await resultHttp(hub.httpUrl, "system_dryRun", [toHex(await make(3))]), "0x0000");
  void hub.freezeClient(sender.consensusStateId);
  hub.produceBlock();
  await refuses(hub, await make(4), "frozen_consensus_client");
});

Deno.test("hub: a veto removes the commitment and moves the latest height back", async () => {
  await using hub = await startTestHub();
  const request = post(1n);
  await commitSender(hub, 9n, []);
  const source = await commitSender(hub, 10n, [request]);
  equal(hub.latestHeight(sender), 10n);
  void hub.veto({ id: sender, height: 10n });
  hub.produceBlock();
  equal(hub.latestHeight(sender), 9n);
  deepEqual(await eventTags(hub), ["StateCommitmentVetoed"]);
  await refuses(hub, await source.deliver([request]), "state_commitment_not_found");
});

Deno.test("hub: commitments above the cap push out the oldest", async () => {
  await using hub = await startTestHub();
  void hub.setCommitmentCap(sender, 2);
  for (const height of [10n, 11n, 12n]) await commitSender(hub, height, []);
  const time = (height: bigint): Promise<unknown> =>
    resultHttp(hub.httpUrl, "state_getStorage", [
      toHex(ismpKeys.boundedStateMachineUpdateTime(sender, height)),
    ]);
  equal(await time(10n), null);
  notEqual(await time(11n), null);
  notEqual(await time(12n), null);
});

Deno.test("hub: two groupings of one request both enter the pool; the second fails in the block", async () => {
  await using hub = await startTestHub();
  const requests = [post(1n), post(2n)];
  const source = await commitSender(hub, 10n, requests);
  const one = extrinsicOf(requestMessage(requests.slice(0, 1), await source.prove(requests)));
  const both = await source.deliver(requests);
  equal((await submit(hub, one)).kind, "result");
  equal((await submit(hub, both)).kind, "result");
  hub.produceBlock();
  equal(hub.rejections.at(-1)?.stage, "block");
  equal(hub.rejections.at(-1)?.ismp, "duplicate_request");
  deepEqual(requests.map((request) => hub.hasRequest(commitmentOfPost(request))), [true, false]);
});

Deno.test("hub: a long signer is stored as the key of the signature", async () => {
  await using hub = await startTestHub();
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request]);
  const publicKey = new Uint8Array(32).fill(0x42);
  const signer = signatureCodec.enc({
    tag: "Sr25519",
    value: { publicKey, signature: new Uint8Array(64) },
  });
  equal((await submit(hub, await source.deliver([request], { signer }))).kind, "result");
  hub.produceBlock();
  deepEqual(hub.findReceipt(commitmentOfPost(request)), publicKey);
});

Deno.test("hub: a compressed call does what the plain one does, within its limits", async (t) => {
  await using hub = await startTestHub();
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request]);
  const call = handleUnsigned([requestMessage([request], await source.prove([request]))]);
  const refusal = { code: 1010, message: "Invalid Transaction", data: "Transaction call is not expected" };
  const bad: [string, Uint8Array][] = [
    ["a size one too small", compressedExtrinsic(call, call.length - 1)],
    ["a size one too large", compressedExtrinsic(call, call.length + 1)],
    ["a size above the limit", compressedExtrinsic(new Uint8Array(2_000_000))],
    ["padding behind the call", compressedExtrinsic(Uint8Array.of(...call, 0))],
    ["a compressed compressed call", compressedExtrinsic(compressedExtrinsic(call).slice(5))],
    ["an invalid inner batch", compressedExtrinsic(handleUnsigned([]))],
  ];
  for (const [name, extrinsic] of bad) {
    await t.step(
      name,
      async () => deepEqual(await submit(hub, extrinsic), { kind: "error", error: refusal }),
    );
  }
  await t.step("shares the tag of the plain call", async () => {
    equal((await submit(hub, compressedExtrinsic(call))).kind, "result");
    const answer = await submit(hub, await source.deliver([request]));
    equal(answer.kind === "error" && answer.error.code, 1014);
  });
  hub.produceBlock();
  ok(hub.hasRequest(commitmentOfPost(request)));
});

Deno.test("hub: the bandwidth gate charges the sender and refuses without allowance", async () => {
  await using hub = await startTestHub({ bandwidthGate: true });
  const requests = [post(1n), post(2n), post(3n)];
  const source = await EvmSource.holding(new Uint8Array(20).fill(0xaa), requests);
  void hub.plantCommitment(sender, 10n, {
    timestampSec: 1n,
    overlayRoot: undefined,
    stateRoot: source.stateRoot,
  });
  hub.produceBlock();
  const of = (index: number): Promise<Uint8Array> => source.deliver(requests.slice(index, index + 1));
  await refuses(hub, await of(0), "module_dispatch_error");
  const { from } = post(1n);
  const credit = {
    source: sender.stateMachine,
    app: from,
    tier: "TierOne",
    bytes: 700n,
    durationSec: 60n,
  } as const;
  void hub.creditBandwidth(credit);
  hub.produceBlock();
  equal((await submit(hub, await of(1))).kind, "result");
  hub.produceBlock();
  ok(hub.hasRequest(commitmentOfPost(post(2n))));
  await refuses(hub, await of(2), "module_dispatch_error");
  void hub.setBandwidthAllowlist(sender.stateMachine, from, true);
  hub.advanceTime(31 * 60 * 1000);
  hub.produceBlock();
  equal((await submit(hub, await of(2))).kind, "result");
});
