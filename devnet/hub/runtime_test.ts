import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { fromHex, type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { commitmentOfPost } from "../../src/core/ismp/message.ts";
import { requestMetadataCodec } from "../../src/core/ismp/host_state.ts";
import { encodeBareExtrinsic, ismpMessagesCodec } from "../../src/core/ismp/ismp_message.ts";
import { toConsensusClientId } from "../../src/core/ismp/state_machine.ts";
import {
  childTrieKey,
  childTrieKeys,
  hostExecutiveKeys,
  ismpKeys,
} from "../../src/core/ismp/storage_keys.ts";
import {
  commitSender,
  eventsOf,
  extrinsicOf,
  post,
  receiver,
  requestMessage,
  sender,
  startTestHub,
  submit,
} from "./deliveries.ts";
import type { Hub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";
import { RuntimeMetadata } from "./runtime_metadata.ts";

const root: Hash256 = `0x${"11".repeat(32)}`;
const senderJson = { state_id: "EVM-1", consensus_state_id: "ETH0" };

Deno.test("oracle: an update stores new heights only and reports the highest one", async () => {
  await using hub = await startTestHub();
  const at = (height: bigint): Parameters<Hub["plantCommitments"]>[1][number] => ({
    height,
    commitment: { timestampSec: height, overlayRoot: undefined, stateRoot: root },
  });
  const stored = hub.plantCommitments(sender, [at(12n), at(10n)]);
  const { number } = hub.produceBlock();
  equal((await stored).number, number);
  const updated = (height: number): unknown[] => [
    { StateMachineUpdated: { state_machine_id: senderJson, latest_height: height } },
  ];
  deepEqual(await eventsOf(hub), updated(12));
  void hub.plantCommitments(sender, [at(11n), at(12n)]);
  hub.produceBlock();
  deepEqual(await eventsOf(hub), []);
  void hub.plantCommitments(sender, [at(11n), at(13n)]);
  hub.produceBlock();
  deepEqual(await eventsOf(hub), updated(13));
  equal(hub.latestHeight(sender), 13n);
  const time = toHex(ismpKeys.boundedStateMachineUpdateTime(sender, 11n));
  equal(await resultHttp(hub.httpUrl, "state_getStorage", [time]), null);
});

Deno.test("oracle: a post of the hub gets the next nonce, an absolute timeout, metadata and a leaf", async () => {
  await using hub = await startTestHub();
  const outgoing = {
    dest: receiver.stateMachine,
    from: new TextEncoder().encode("ISMP-RLYR"),
    to: new Uint8Array(20).fill(2),
    body: new Uint8Array([1, 2, 3]),
  };
  const sending = [
    hub.dispatchPost({ ...outgoing, timeoutSec: 0n }),
    hub.dispatchPost({ ...outgoing, timeoutSec: 60n }),
  ];
  hub.produceBlock();
  const [first, second] = await Promise.all(sending);
  ok(first !== undefined && second !== undefined);
  deepEqual([first.request.nonce, second.request.nonce], [0n, 1n]);
  equal(first.request.source, hub.identity.stateMachine);
  equal(first.request.timeoutTimestampSec, 0n);
  ok(Math.abs(Number(second.request.timeoutTimestampSec) - hub.nowMs / 1000 - 60) < 5);
  equal(first.commitment, commitmentOfPost(first.request));
  equal((await eventsOf(hub)).length, 2);
  const stored = await resultHttp(hub.httpUrl, "childstate_getStorage", [
    toHex(childTrieKey()),
    toHex(childTrieKeys.requestCommitment(second.commitment)),
    second.block.hash,
  ]);
  const payer: Hash256 = `0x${"00".repeat(32)}`;
  const metadata = { offchain: { leafIndex: 1n, pos: 1n }, fee: { payer, fee: 0n }, claimed: false };
  equal(stored, toHex(requestMetadataCodec.enc(metadata)));
});

Deno.test("oracle: a request is in time in the last second before its timeout and late at it", async () => {
  let nowMs = 1_700_000_000_000;
  await using hub = await startTestHub({ now: () => nowMs });
  const request = post(1n, { timeoutTimestampSec: 1_700_000_100n });
  const source = await commitSender(hub, 10n, [request]);
  const proof = await source.prove([request]);
  const extrinsic = extrinsicOf(requestMessage([request], proof));
  const dryRun = async (): Promise<unknown> => {
    hub.produceBlock();
    return await resultHttp(hub.httpUrl, "system_dryRun", [toHex(extrinsic)]);
  };
  nowMs = 1_700_000_099_999;
  equal(await dryRun(), "0x0000");
  nowMs = 1_700_000_100_000;
  equal(await dryRun(), "0x0001032900000000");
  equal(hub.rejections.at(-1)?.ismp, "request_timeout");
});

Deno.test("oracle: hosts are stored where the runtime keeps them, and without one nothing is proven", async () => {
  await using hub = await startTestHub({ hosts: new Map() });
  const request = post(1n);
  const source = await commitSender(hub, 10n, [request]);
  const proof = await source.prove([request]);
  const extrinsic = (signer: number): Uint8Array =>
    extrinsicOf(requestMessage([request], proof, { signer: new Uint8Array([signer]) }));
  equal((await submit(hub, extrinsic(1))).kind, "error");
  equal(hub.rejections.at(-1)?.ismp, "ismp_contract_not_found");
  void hub.setHost(sender.stateMachine, new Uint8Array(20).fill(0xaa));
  hub.produceBlock();
  equal(
    await resultHttp(hub.httpUrl, "state_getStorage", [
      toHex(hostExecutiveKeys.evmHosts(sender.stateMachine)),
    ]),
    `0x${"aa".repeat(20)}`,
  );
  equal((await submit(hub, extrinsic(2))).kind, "result");
});

Deno.test("oracle: nexus has its own identity, indexes and list of retired senders", async () => {
  await using hub = await startTestHub({ runtime: "nexus" });
  equal(
    await resultHttp(hub.httpUrl, "state_call", ["IsmpRuntimeApi_host_state_machine", "0x"]),
    "0x01270d0000",
  );
  const retired = post(1n, { from: fromHex("0xfd413e3afe560182c4471f4d143a96d3e259b6de") });
  const source = await commitSender(hub, 10n, [retired]);
  const call = Uint8Array.of(
    ...RuntimeMetadata.load("nexus").callIndex("Ismp", "handle_unsigned"),
    ...ismpMessagesCodec.enc([requestMessage([retired], await source.prove([retired]))]),
  );
  equal((await submit(hub, encodeBareExtrinsic(call))).kind, "error");
  equal(hub.rejections.at(-1)?.ismp, "module_dispatch_error");
});

Deno.test("oracle: an action that the runtime refuses rejects and changes nothing", async () => {
  await using hub = await startTestHub();
  const tooLong = hub.setHost(sender.stateMachine, new Uint8Array(21));
  hub.produceBlock();
  await rejects(tooLong);
  deepEqual(await eventsOf(hub), []);
  const created = hub.createConsensusClient({
    stateId: sender.consensusStateId,
    clientId: toConsensusClientId("BEAC"),
    unbondingPeriodSec: 1n,
    challengePeriodsSec: new Map([[sender.stateMachine, 5n]]),
  });
  hub.produceBlock();
  await created;
  equal(await resultHttp(hub.httpUrl, "ismp_queryChallengePeriod", [senderJson]), 5);
});
