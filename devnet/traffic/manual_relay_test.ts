import { deepEqual, equal, ok } from "node:assert/strict";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { decodeHostLog } from "../../src/core/evm/host_events.ts";
import {
  contractSlotKey,
  requestFeeSlot,
  requestReceiptSlot,
  requestSenderSlot,
  word,
} from "../../src/core/evm/host_storage.ts";
import { parseIsmpEvent } from "../../src/core/ismp/rpc_json.ts";
import { evmSignature } from "../hub/signatures.ts";
import { withdrawMessage } from "../../src/core/ismp/signed_messages.ts";
import { type DevnetChain, startDevnet } from "../devnet.ts";
import { FEE_TOKEN_ABI } from "../evm/abi.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../evm/accounts.ts";
import { deliveredIn, sendGet } from "../evm/host_admin.ts";
import { deliverPosts, deliverResponses, proveSlots, submitToHub, tellHub } from "./manual_relay.ts";
import { extrinsicOf } from "../hub/deliveries.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { relayerCalls } from "../hub/relayer_work.ts";
import { sendPing } from "./messages.ts";

const token = 10n ** 18n;
const relayer = DEVNET_ACCOUNTS.relayer;
const fast = { blockTimeSec: "automine", hubBlockTimeMs: 100, oracleEveryMs: 50 } as const;

function balance({ host }: DevnetChain): Promise<bigint> {
  return host.reader.readContract({
    address: host.addresses.feeToken,
    abi: FEE_TOKEN_ABI,
    functionName: "balanceOf",
    args: [relayer.address],
  });
}

Deno.test("devnet: the fee of a delivered message ends as fee tokens of the relayer, with proofs of real nodes", async () => {
  await using devnet = await startDevnet(fast);
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const [sent] = await sendPing(devnet, { from: "A", to: "B", fee: 12n * token });
  ok(sent !== undefined);
  const { commitment, request } = sent;
  const sentHeight = await tellHub(devnet, a);
  const proof = await proveSlots(devnet, a, { height: sentHeight, slots: [requestSenderSlot(commitment)] });
  const message = { requests: [request], proof, signer: fromHex(relayer.address) };
  await submitToHub(devnet, extrinsicOf({ tag: "Request", value: message }));
  const receipt = await deliverPosts(devnet, b, [request], relayer);
  deepEqual(deliveredIn(b.host, receipt), [commitment]);

  const height = await tellHub(devnet, b);
  await submitToHub(
    devnet,
    relayerCalls.accumulateFees({
      commitments: [commitment],
      sourceProof: await proveSlots(devnet, a, { height: sentHeight, slots: [requestFeeSlot(commitment)] }),
      destProof: await proveSlots(devnet, b, { height, slots: [requestReceiptSlot(commitment)] }),
      beneficiaryDetails: undefined,
    }),
  );
  const { governance } = devnet.hub;
  const address = fromHex(relayer.address);
  equal(governance.feesOf(a.stateMachine, address), 12n * token);
  equal(governance.isClaimed(commitment), true);

  const { digest } = withdrawMessage({ nonce: 0n, destChain: a.stateMachine });
  const block = devnet.hub.best.number;
  await submitToHub(
    devnet,
    relayerCalls.withdrawFees({
      signature: evmSignature(digest, fromHex(DEVNET_KEYS.relayer)),
      destChain: a.stateMachine,
      beneficiary: undefined,
    }),
  );
  equal(governance.feesOf(a.stateMachine, address), 0n);
  const answer = await resultHttp(devnet.hub.httpUrl, "ismp_queryEvents", [block, devnet.hub.best.number]);
  const payouts = Object.values(Object(answer)).flat().map(parseIsmpEvent).flatMap((event) =>
    event.tag === "PostRequest" && event.value.source === devnet.hub.identity.stateMachine
      ? [event.value]
      : []
  );
  equal(payouts.length, 1);
  equal(await balance(a), 0n);
  await deliverPosts(devnet, a, payouts, DEVNET_ACCOUNTS.relayer2);
  equal(await balance(a), 12n * token);
});

Deno.test("devnet: a chain's question about another chain's storage is answered through the hub", async () => {
  await using devnet = await startDevnet({ ...fast, feeds: "planted" });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const height = await tellHub(devnet, b);
  const contract = toAddress(b.host.addresses.host);
  const slot = word(12n);
  const key = contractSlotKey(fromHex(contract), slot);
  const sent = await sendGet(a.host, { dest: b.stateMachine, height, keys: [toHex(key)] });
  const host = toAddress(a.host.addresses.host);
  const [get] = sent.logs.flatMap((log) => {
    const decoded = decodeHostLog(log, host);
    const message = decoded.kind === "event" && decoded.event.kind === "message" && decoded.event.message;
    return message && message.kind === "get" ? [message] : [];
  });
  ok(get !== undefined);
  const asked = await tellHub(devnet, a);
  const block = devnet.hub.best.number;
  await submitToHub(
    devnet,
    relayerCalls.answerGets({
      requests: [get.request],
      source: await proveSlots(devnet, a, { height: asked, slots: [requestSenderSlot(get.commitment)] }),
      response: await proveSlots(devnet, b, { height, slots: [slot], contract }),
      address: fromHex(relayer.address),
    }),
  );
  const answer = await resultHttp(devnet.hub.httpUrl, "ismp_queryEvents", [block, devnet.hub.best.number]);
  const events = Object.values(Object(answer)).flat();
  const made = events.map(parseIsmpEvent).flatMap((event) =>
    event.tag === "GetResponse" ? [event.value] : []
  );
  // 1,814,400 seconds in RLP.
  deepEqual(made.map(({ values }) => values), [[{ key, value: fromHex("0x831baf80") }]]);
  const receipt = await deliverResponses(devnet, a, made, relayer);
  deepEqual(deliveredIn(a.host, receipt), [get.commitment]);
});
