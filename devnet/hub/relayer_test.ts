import { evmSignature } from "./signatures.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { fromHex, type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { epochRelayerSlot, requestReceiptSlot } from "../../src/core/evm/host_storage.ts";
import { commitmentOfPost } from "../../src/core/ismp/message.ts";
import { type Signature, type WithdrawalProof, withdrawalProofCodec } from "../../src/core/ismp/fees.ts";
import { relayerCallTag } from "./pool_tags.ts";
import { decodeBareExtrinsic } from "./extrinsic.ts";
import {
  consensusClaimMessage,
  requestClaimMessage,
  sr25519PublicKey,
  sr25519Signature,
  withdrawMessage,
} from "../../src/core/ismp/signed_messages.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { otherKeys, relayerKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict, u256, u64 } from "../../src/core/encoding/scale.ts";
import { compressedExtrinsic, eventsOf, receiver, sender, submit } from "./deliveries.ts";
import type { Hub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";
import { treasuryAccount } from "./pallets/balances.ts";
import {
  commitBlock,
  fetchRefusal,
  paidWork,
  relayerAddress,
  relayerCalls,
  relayerKey,
  senderHostParams,
  startGetHub,
  withdrawal,
} from "./relayer_work.ts";

const token = 10n ** 18n;
const payee: Hash256 = `0x${"77".repeat(32)}`;

async function storage(hub: Hub, key: Uint8Array): Promise<Uint8Array | undefined> {
  const value = await resultHttp(hub.httpUrl, "state_getStorage", [toHex(key)]);
  return value === null ? undefined : fromHex(String(value));
}

/** The hub refuses a call with this error of its pallet. */
async function refuses(hub: Hub, extrinsic: Uint8Array, error: string): Promise<void> {
  equal(await fetchRefusal(hub, extrinsic), `Relayer.${error}`);
}

async function include(hub: Hub, extrinsic: Uint8Array): Promise<void> {
  equal(await fetchRefusal(hub, extrinsic), undefined);
  hub.produceBlock();
}

/** Changes one byte. */
function tampered(bytes: Uint8Array, at = bytes.length - 1): Uint8Array {
  const copy = bytes.slice();
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

Deno.test("relayer: accumulated fees are credited where they were paid, and their requests are claimed", async () => {
  await using hub = await startGetHub();
  const work = await paidWork(hub, [3n * token, 0n, 8n * token]);
  const { governance } = hub;
  deepEqual(work.commitments.map((each) => governance.isClaimed(each)), [false, false, false]);
  await include(hub, relayerCalls.accumulateFees(await work.prove()));
  equal(governance.feesOf(sender.stateMachine, relayerAddress), 11n * token);
  // A request without fee is skipped and stays unclaimed.
  deepEqual(work.commitments.map((each) => governance.isClaimed(each)), [true, false, true]);
  const stored = await storage(hub, relayerKeys.fees(sender.stateMachine, relayerAddress));
  ok(stored !== undefined);
  equal(decodeStrict(u256, stored, "Fees"), 11n * token);
  const events = toHex(await storage(hub, otherKeys.systemEvents()) ?? new Uint8Array());
  ok(events.includes(`3500${toHex(Uint8Array.of(80, ...relayerAddress)).slice(2)}0001000000`));
  await refuses(
    hub,
    relayerCalls.accumulateFees(await work.prove([work.commitments[0] ?? payee])),
    "MissingCommitments",
  );
});

Deno.test("relayer: every rule of accumulation has its error", async (t) => {
  await using hub = await startGetHub();
  const other = new Uint8Array(20).fill(0x99);
  const shortAddress = Uint8Array.of(0, ...new Uint8Array(19).fill(0x98));
  const fees = [1n, 2n, 0n, 4n, 5n, 6n];
  const work = await paidWork(hub, fees, [
    relayerAddress,
    relayerAddress,
    undefined,
    other,
    undefined,
    shortAddress.slice(1),
  ]);
  const [first = payee, second = payee, free = payee, foreign = payee, undelivered = payee, short = payee] =
    work.commitments;
  const good = await work.prove([first, second]);
  const { sourceProof, destProof } = good;
  const at = (proof: typeof sourceProof, height: bigint): typeof sourceProof => ({
    ...proof,
    height: { ...proof.height, height },
  });
  const cases: readonly (readonly [string, WithdrawalProof, string])[] = [
    ["the same request twice", await work.prove([first, first]), "DuplicateCommitment"],
    ["no requests", { ...good, commitments: [] }, "MissingCommitments"],
    ["a request that the hub does not know", { ...good, commitments: [payee] }, "MissingCommitments"],
    ["an unknown source height", { ...good, sourceProof: at(sourceProof, 11n) }, "ProofValidationError"],
    ["an unknown destination height", { ...good, destProof: at(destProof, 21n) }, "ProofValidationError"],
    [
      "a tampered source proof",
      { ...good, sourceProof: { ...sourceProof, proof: tampered(sourceProof.proof) } },
      "ProofValidationError",
    ],
    [
      "a tampered destination proof",
      { ...good, destProof: { ...destProof, proof: tampered(destProof.proof) } },
      "ProofValidationError",
    ],
    [
      "an undecodable proof",
      { ...good, destProof: { ...destProof, proof: new Uint8Array([9]) } },
      "ProofValidationError",
    ],
    [
      "proofs the wrong way round",
      { ...good, sourceProof: destProof, destProof: sourceProof },
      "ProofValidationError",
    ],
    [
      "a proof of fewer requests",
      { ...good, sourceProof: (await work.prove([first])).sourceProof },
      "ProofValidationError",
    ],
    ["a request that nobody delivered", await work.prove([first, undelivered]), "ProofValidationError"],
    ["a relayer whose address begins with a zero byte", await work.prove([short]), "ProofValidationError"],
    ["requests without fee only", await work.prove([free]), "IncompleteProof"],
    ["deliveries of two relayers", await work.prove([first, foreign]), "MixedDeliveryAddressesInBatch"],
  ];
  for (const [name, proof, error] of cases) {
    await t.step(name, async () => {
      equal(await fetchRefusal(hub, relayerCalls.accumulateFees(proof)), `Relayer.${error}`);
    });
  }
  await t.step("a destination in its challenge period", async () => {
    void hub.setChallengePeriod(receiver, 60n);
    hub.produceBlock();
    await refuses(hub, relayerCalls.accumulateFees(good), "ProofValidationError");
    equal(hub.rejections.at(-1)?.ismp, "challenge_period_not_elapsed");
    hub.advanceTime(61_000);
    hub.produceBlock();
  });
  await t.step("then all is well", async () => {
    await include(hub, relayerCalls.accumulateFees(good));
    equal(hub.governance.feesOf(sender.stateMachine, relayerAddress), 3n);
  });
  await t.step("a commitment already claimed is left out of the rest", async () => {
    equal(
      await fetchRefusal(hub, relayerCalls.accumulateFees(await work.prove([first, foreign]))),
      undefined,
    );
    hub.produceBlock();
    equal(hub.governance.feesOf(sender.stateMachine, other), 4n);
  });
});

Deno.test("relayer: a beneficiary needs the deliverer's signature over the nonce, once", async () => {
  await using hub = await startGetHub();
  const work = await paidWork(hub, [5n, 7n]);
  const [first = payee, second = payee] = work.commitments;
  const beneficiary = new Uint8Array(32).fill(0x31);
  const sign = (nonce: bigint, key = relayerKey): Signature =>
    evmSignature(withdrawMessage({ nonce, destChain: sender.stateMachine, beneficiary }).digest, key);
  const claim = async (commitment: Hash256, signature: Signature): Promise<Uint8Array> =>
    relayerCalls.accumulateFees(
      await work.prove([commitment], { beneficiaryDetails: [beneficiary, signature] }),
    );
  const stranger = new Uint8Array(32).fill(0x42);
  await refuses(hub, await claim(first, sign(0n, stranger)), "InvalidPublicKey");
  await refuses(hub, await claim(first, sign(1n)), "InvalidPublicKey");
  const broken: Signature = { tag: "Evm", value: { address: relayerAddress, signature: new Uint8Array(64) } };
  await refuses(hub, await claim(first, broken), "InvalidSignature");
  const { digest } = withdrawMessage({ nonce: 0n, destChain: sender.stateMachine, beneficiary });
  const otherScheme = sr25519Signature(digest, stranger, new Uint8Array(32));
  await refuses(hub, await claim(first, otherScheme), "InvalidSignature");
  await include(hub, await claim(first, sign(0n)));
  const { governance } = hub;
  equal(governance.feesOf(sender.stateMachine, beneficiary), 5n);
  equal(governance.feesOf(sender.stateMachine, relayerAddress), 0n);
  equal(governance.nonceOf(relayerAddress, sender.stateMachine), 1n);
  const nonce = await storage(hub, relayerKeys.nonce(relayerAddress, sender.stateMachine));
  ok(nonce !== undefined);
  equal(decodeStrict(u64, nonce, "Nonce"), 1n);
  await refuses(hub, await claim(second, sign(0n)), "InvalidPublicKey");
  await include(hub, await claim(second, sign(1n)));
  equal(governance.feesOf(sender.stateMachine, beneficiary), 12n);
});

Deno.test("relayer: the pool knows a call by its whole argument, and compressed calls by the inner one", async () => {
  await using hub = await startGetHub();
  const work = await paidWork(hub, [5n]);
  const proof = await work.prove();
  const extrinsic = relayerCalls.accumulateFees(proof);
  const validity = String(
    await resultHttp(hub.httpUrl, "state_call", [
      "TaggedTransactionQueue_validate_transaction",
      toHex(Uint8Array.of(2, ...extrinsic, ...fromHex(hub.best.hash))),
    ]),
  );
  // Ok, priority 100, no requires, one tag of 32 bytes, longevity u64::MAX, propagate.
  const tag = relayerCallTag(withdrawalProofCodec.enc(proof)).slice(2);
  equal(validity, `0x00640000000000000000${"0480"}${tag}${"ff".repeat(8)}01`);
  equal((await submit(hub, compressedExtrinsic(decodeBareExtrinsic(extrinsic)))).kind, "result");
  const second = await submit(hub, extrinsic);
  equal(second.kind === "error" && second.error.code, 1014);
  hub.produceBlock();
  equal(hub.governance.feesOf(sender.stateMachine, relayerAddress), 5n);
  await refuses(hub, extrinsic, "MissingCommitments");
  equal(
    await fetchRefusal(
      hub,
      compressedExtrinsic(decodeBareExtrinsic(relayerCalls.withdrawFees(withdrawal(0n)))),
    ),
    "CallDecompressor.CallNotSupported",
  );
});

Deno.test("relayer: a withdrawal pays the whole credit through the host manager, once per nonce", async () => {
  await using hub = await startGetHub();
  const { governance } = hub;
  const work = await paidWork(hub, [9n * token, 2n * token]);
  await refuses(hub, relayerCalls.withdrawFees(withdrawal(0n)), "NotEnoughBalance");
  await include(hub, relayerCalls.accumulateFees(await work.prove(work.commitments.slice(0, 1))));
  await refuses(hub, relayerCalls.withdrawFees(withdrawal(0n)), "NotEnoughBalance");
  await include(hub, relayerCalls.accumulateFees(await work.prove(work.commitments.slice(1))));
  await refuses(hub, relayerCalls.withdrawFees(withdrawal(0n)), "MissingMangerAddress");
  void governance.setHostParams(sender.stateMachine, senderHostParams);
  hub.produceBlock();
  await refuses(hub, relayerCalls.withdrawFees(withdrawal(1n)), "InvalidPublicKey");
  const signed = withdrawal(0n);
  await refuses(
    hub,
    relayerCalls.withdrawFees({ ...signed, destChain: receiver.stateMachine }),
    "InvalidPublicKey",
  );
  await refuses(
    hub,
    relayerCalls.withdrawFees(withdrawal(0n, { beneficiary: new Uint8Array(32) })),
    "InvalidPublicKey",
  );
  await include(hub, relayerCalls.withdrawFees(signed));
  equal(governance.feesOf(sender.stateMachine, relayerAddress), 0n);
  equal(governance.nonceOf(relayerAddress, sender.stateMachine), 1n);
  const events = await eventsOf(hub);
  const amount = (11n * token).toString(16).padStart(64, "0");
  deepEqual(events, [{
    PostRequest: {
      source: "KUSAMA-4009",
      dest: "EVM-1",
      nonce: 0,
      from: toHex(new TextEncoder().encode("ISMP-RLYR")),
      to: toHex(senderHostParams.hostManager),
      timeoutTimestamp: 0,
      body: `0x00${toHex(relayerAddress).slice(2).padStart(64, "0")}${amount}${
        "11".repeat(20).padStart(64, "0")
      }`,
    },
  }]);
  await refuses(hub, relayerCalls.withdrawFees(signed), "InvalidPublicKey");
  await refuses(hub, relayerCalls.withdrawFees(withdrawal(1n)), "NotEnoughBalance");
});

Deno.test("relayer: the minimum can be set, and Substrate chains pay accounts through HYPR-FEE", async () => {
  await using hub = await startGetHub();
  const { governance } = hub;
  const key = new Uint8Array(32).fill(5);
  const account = sr25519PublicKey(key);
  const chain = parseStateMachine("KUSAMA-2000");
  const order = (nonce: bigint, change: { beneficiary?: Uint8Array } = {}): Uint8Array => {
    const { digest } = withdrawMessage({ nonce, destChain: chain, beneficiary: change.beneficiary });
    const signature = sr25519Signature(digest, key, new Uint8Array(32));
    return relayerCalls.withdrawFees({ signature, destChain: chain, beneficiary: change.beneficiary });
  };
  void governance.setMinimumWithdrawal(chain, 0n);
  hub.produceBlock();
  await refuses(hub, order(1n), "InvalidSignature");
  await refuses(hub, order(0n, { beneficiary: new Uint8Array(20) }), "InvalidPublicKey");
  await include(hub, order(0n));
  const events = await eventsOf(hub);
  const { to, body } = Object(events[0]).PostRequest;
  deepEqual([to, body], [
    toHex(new TextEncoder().encode("HYPR-FEE")),
    `0x00${"00".repeat(16)}${toHex(account).slice(2)}`,
  ]);
});

Deno.test("relayer: a rotation's first deliverer is paid from the treasury, once", async () => {
  await using hub = await startGetHub();
  const { governance } = hub;
  const slot = epochRelayerSlot(7n);
  const source = await commitBlock(hub, receiver, 20n, [[slot, relayerAddress]]);
  const claim = async (
    change: { setId?: bigint; key?: Uint8Array; payee?: Hash256; signature?: Signature } = {},
  ): Promise<Uint8Array> => {
    const setId = change.setId ?? 7n;
    const { digest } = consensusClaimMessage({ setId, destChain: receiver.stateMachine, payee });
    return relayerCalls.claimConsensus({
      stateProof: {
        height: { id: receiver, height: 20n },
        proof: await source.proveSlots([epochRelayerSlot(setId)]),
      },
      setId,
      payee: change.payee ?? payee,
      signature: change.signature ?? evmSignature(digest, change.key ?? relayerKey),
    });
  };
  const sr25519 = sr25519Signature(payee, relayerKey, new Uint8Array(32));
  await refuses(hub, await claim({ signature: sr25519 }), "OutboundSignatureNotEvm");
  await refuses(hub, await claim({ setId: 8n }), "OutboundDeliveryNotProven");
  await refuses(hub, await claim({ key: new Uint8Array(32).fill(9) }), "OutboundSignerMismatch");
  await refuses(hub, await claim({ payee: treasuryAccount }), "OutboundSignerMismatch");
  await refuses(hub, await claim(), "OutboundNoRewardConfigured");
  void governance.setConsensusReward(receiver.stateMachine, 10n ** 12n);
  hub.produceBlock();
  await refuses(hub, await claim(), "OutboundRewardTransferFailed");
  void governance.setBalance(treasuryAccount, 5n * 10n ** 12n);
  hub.produceBlock();
  await include(hub, await claim());
  equal(governance.balanceOf(payee), 10n ** 12n);
  equal(governance.balanceOf(treasuryAccount), 4n * 10n ** 12n);
  await refuses(hub, await claim(), "OutboundRotationAlreadyClaimed");
  const unit = await storage(hub, relayerKeys.outboundConsensusRotationsClaimed(receiver.stateMachine, 7n));
  deepEqual(unit, new Uint8Array());
});

Deno.test("relayer: the deliverer of a listed module's request is paid, and no other account that asks", async () => {
  await using hub = await startGetHub();
  const { governance } = hub;
  const from = new TextEncoder().encode("ISMP-RLYR");
  const sending = hub.dispatchPost({
    dest: receiver.stateMachine,
    from,
    to: new Uint8Array(20),
    body: new Uint8Array(),
    timeoutSec: 0n,
  });
  hub.produceBlock();
  const { request, commitment } = await sending;
  const source = await commitBlock(hub, receiver, 20n, [[requestReceiptSlot(commitment), relayerAddress]]);
  const proof = await source.proveSlots([requestReceiptSlot(commitment)]);
  const claim = (change: Partial<typeof request> = {}, key = relayerKey, id = receiver): Uint8Array => {
    const claimed = { ...request, ...change };
    const { digest } = requestClaimMessage({
      commitment: commitmentOfPost(claimed),
      destChain: receiver.stateMachine,
      payee,
    });
    return relayerCalls.claimRequest({
      request: claimed,
      stateProof: { height: { id, height: 20n }, proof },
      payee,
      signature: evmSignature(digest, key),
    });
  };
  await refuses(hub, claim({ source: sender.stateMachine }), "OutboundRequestSourceNotHyperbridge");
  await refuses(hub, claim({ nonce: 9n }), "OutboundRequestNotKnown");
  await refuses(hub, claim(), "OutboundRequestNoRewardConfigured");
  void governance.setRequestReward(from, 2n * 10n ** 12n);
  void governance.setBalance(treasuryAccount, 10n ** 12n);
  hub.produceBlock();
  await refuses(hub, claim({}, relayerKey, sender), "MismatchedStateMachine");
  await refuses(hub, claim({}, new Uint8Array(32).fill(9)), "OutboundRequestSignerMismatch");
  await refuses(hub, claim(), "OutboundRequestRewardTransferFailed");
  void governance.setBalance(treasuryAccount, 10n ** 13n);
  hub.produceBlock();
  await include(hub, claim());
  equal(governance.balanceOf(payee), 2n * 10n ** 12n);
  await refuses(hub, claim(), "OutboundRequestAlreadyClaimed");
  equal((await storage(hub, relayerKeys.outboundRequestsClaimed(commitment)))?.length, 0);
});
