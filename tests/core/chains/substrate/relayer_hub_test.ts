import assert from "node:assert/strict";
import type { Counterparty, HubChain, RelayerHubCall } from "../../../../src/core/chains/hub.ts";
import type { SubmissionOutcome } from "../../../../src/core/chains/submission.ts";
import { type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import {
  contractSlotKey,
  epochRelayerSlot,
  requestReceiptSlot,
} from "../../../../src/core/evm/host_storage.ts";
import { toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import type { GetRequest, Message, PostRequest } from "../../../../src/core/ismp/message.ts";
import { commitmentOfGet, getMessage, postMessage } from "../../../../src/core/ismp/message.ts";
import type { WithdrawalProof } from "../../../../src/core/ismp/fees.ts";
import type { GetRequestsWithProof } from "../../../../src/core/ismp/ismp_message.ts";
import {
  consensusClaimMessage,
  requestClaimMessage,
  withdrawMessage,
} from "../../../../src/core/ismp/signed_messages.ts";
import { commitSender, post, receiver, sender } from "../../../../devnet/hub/deliveries.ts";
import {
  askQuestions,
  commitBlock,
  heldSlot,
  paidWork,
  question,
  receiverHost,
  relayerAddress,
  relayerKey,
  senderHostParams,
  startGetHub,
  withdrawal,
} from "../../../../devnet/hub/relayer_work.ts";
import { demoModuleId, type Hub } from "../../../../devnet/hub/hub.ts";
import { treasuryAccount } from "../../../../devnet/hub/pallets/balances.ts";
import { type HubWork, onHub, relayerId } from "./hub_connection.ts";
import { signed } from "../../../support/chain_calls.ts";
import { evmSignature } from "../../../../devnet/hub/signatures.ts";

const { signal } = new AbortController();
const test = (name: string, work: HubWork): void => Deno.test(name, onHub(startGetHub, work));
const token = 10n ** 18n;
const payee: Hash256 = `0x${"77".repeat(32)}`;
const evmTarget = {
  id: sender,
  capabilities: { hubProofs: "mmr" },
  reads: { fetchStateRoot: () => Promise.resolve(undefined) },
} as const;

/** Sends a call, makes the block that takes it final, and returns how it succeeded, with the messages of its block. */
async function include(
  hub: Hub,
  chain: HubChain,
  call: RelayerHubCall,
): Promise<Extract<SubmissionOutcome, { kind: "included" }> & { readonly messages: readonly Message[] }> {
  assert.equal(await chain.hubCalls.dryRunCall(call, signal), undefined);
  const submission = await chain.hubCalls.prepareCall(call, signal);
  assert.deepEqual(await chain.sender.broadcast(submission, signal), { kind: "sent" });
  hub.produceBlock();
  hub.produceBlock();
  const outcome = await chain.outcomes.fetchOutcome(submission, signal);
  assert.ok(outcome.kind === "included" && outcome.isFinal && outcome.succeeded);
  const { height } = outcome.block;
  const events = await chain.events.fetchEvents(height, height, signal);
  return { ...outcome, messages: events.flatMap((event) => event.kind === "message" ? [event.message] : []) };
}

function balanceOf({ accounts }: HubChain, account = relayerAddress): Promise<bigint> {
  return accounts.fetchFeeBalance(sender.stateMachine, account, signal);
}

async function refusalOf(chain: HubChain, call: RelayerHubCall): Promise<string> {
  const refusal = await chain.hubCalls.dryRunCall(call, signal);
  return refusal === undefined ? "taken" : `${refusal.code} ${refusal.error}`;
}

function accumulate(proof: WithdrawalProof): RelayerHubCall {
  return { kind: "accumulate", proof };
}

test("relayer hub: fees are accumulated once, and seen in status, balance and outcome", async ({ hub, chain }) => {
  const work = await paidWork(hub, [3n * token, 8n * token]);
  const unknown: Hash256 = `0x${"ee".repeat(32)}`;
  const status = (): Promise<unknown> =>
    chain.accounts.fetchClaimStatus([...work.commitments, unknown], signal);
  assert.deepEqual(await status(), ["unknown", "unknown", "unknown"], "before their block is final");
  hub.produceBlock();
  assert.deepEqual(await status(), ["unclaimed", "unclaimed", "unknown"]);
  const call = accumulate(await work.prove());
  await include(hub, chain, call);
  assert.deepEqual(await status(), ["claimed", "claimed", "unknown"]);
  assert.equal(await balanceOf(chain), 11n * token);
  assert.equal(await refusalOf(chain, call), "unknown_message Relayer.MissingCommitments");
});

test("relayer hub: refused claims have the pallet's error and the reason behind it", async ({ hub, chain }) => {
  const work = await paidWork(hub, [1n, 2n, 4n], [relayerAddress, undefined, new Uint8Array(20).fill(9)]);
  const [first = payee, undelivered = payee, foreign = payee] = work.commitments;
  const good = await work.prove([first]);
  const tampered = {
    ...good.sourceProof,
    proof: good.sourceProof.proof.map((byte, at) => at === 50 ? byte ^ 1 : byte),
  };
  const early = { ...good.destProof, height: { id: receiver, height: 21n } };
  const cases: readonly (readonly [WithdrawalProof, string])[] = [
    [await work.prove([first, first]), "duplicate Relayer.DuplicateCommitment"],
    [await work.prove([first, undelivered]), "bad_proof Relayer.ProofValidationError"],
    [await work.prove([first, foreign]), "unspecified Relayer.MixedDeliveryAddressesInBatch"],
    [{ ...good, sourceProof: tampered }, "bad_proof Relayer.ProofValidationError"],
    [{ ...good, destProof: early }, "not_ready Relayer.ProofValidationError"],
  ];
  for (const [proof, expected] of cases) assert.equal(await refusalOf(chain, accumulate(proof)), expected);
  void hub.setChallengePeriod(receiver, 600n);
  hub.produceBlock();
  assert.equal(await refusalOf(chain, accumulate(good)), "not_ready Relayer.ProofValidationError");
  hub.fault = ({ method }) =>
    method === "system_dryRun" ? { kind: "error", code: -32601, message: "Method not found" } : undefined;
  assert.equal(await refusalOf(chain, accumulate(good)), "not_ready undefined");
  hub.fault = undefined;
  hub.advanceTime(601_000);
  hub.produceBlock();
  assert.equal(await refusalOf(chain, accumulate(good)), "taken");
});

test("relayer hub: a beneficiary is credited by the deliverer's signature over the nonce of the hub", async ({ hub, chain }) => {
  const work = await paidWork(hub, [5n]);
  const beneficiary = new Uint8Array(20).fill(0x66);
  const nonce = (): Promise<bigint> =>
    chain.accounts.fetchRelayerNonce(relayerAddress, sender.stateMachine, signal);
  const signedWith = (value: bigint): WithdrawalProof["beneficiaryDetails"] => {
    const message = withdrawMessage({ nonce: value, destChain: sender.stateMachine, beneficiary });
    return [beneficiary, evmSignature(message.digest, relayerKey)];
  };
  const claim = async (value: bigint): Promise<RelayerHubCall> =>
    accumulate(await work.prove(work.commitments, { beneficiaryDetails: signedWith(value) }));
  assert.equal(await refusalOf(chain, await claim(1n)), "unspecified Relayer.InvalidPublicKey");
  await include(hub, chain, await claim(await nonce()));
  assert.equal(await nonce(), 1n);
  assert.deepEqual([await balanceOf(chain, beneficiary), await balanceOf(chain)], [5n, 0n]);
});

test("relayer hub: a withdrawal below the minimum is refused, one above it becomes a request", async ({ hub, chain }) => {
  const work = await paidWork(hub, [9n * token, 2n * token]);
  void hub.governance.setHostParams(sender.stateMachine, senderHostParams);
  assert.equal(await chain.accounts.fetchMinimumWithdrawal(sender.stateMachine, signal), 10n * token);
  const order: RelayerHubCall = { kind: "withdraw", data: withdrawal(0n) };
  await include(hub, chain, accumulate(await work.prove(work.commitments.slice(0, 1))));
  assert.equal(await refusalOf(chain, order), "unspecified Relayer.NotEnoughBalance");
  void hub.governance.setMinimumWithdrawal(sender.stateMachine, 9n * token);
  hub.produceBlock();
  assert.equal(await chain.accounts.fetchMinimumWithdrawal(sender.stateMachine, signal), 9n * token);
  const { messages: [sent, ...others] } = await include(hub, chain, order);
  assert.ok(sent?.kind === "post" && others.length === 0);
  const { dest, from } = sent.request;
  assert.deepEqual([dest, new TextDecoder().decode(from)], [sender.stateMachine, "ISMP-RLYR"]);
  assert.equal(await balanceOf(chain), 0n);
  assert.equal(await refusalOf(chain, order), "unspecified Relayer.InvalidPublicKey");
});

function questionOfOne(nonce: bigint, change: Partial<GetRequest> = {}): GetRequest {
  return question(nonce, { keys: [contractSlotKey(receiverHost, heldSlot)], ...change });
}

function askOne(hub: Hub, requests: readonly GetRequest[]): Promise<GetRequestsWithProof> {
  return askQuestions(hub, requests, [heldSlot]);
}

test("relayer hub: an answered get becomes a response that is proven for its EVM chain", async ({ hub, chain }) => {
  const answer = await askOne(hub, [questionOfOne(1n), questionOfOne(2n)]);
  const { handled, messages: responses, block: { height } } = await include(hub, chain, {
    kind: "answerGets",
    answer,
  });
  assert.deepEqual(handled.map(({ commitment }) => commitment), answer.requests.map(commitmentOfGet));
  assert.deepEqual(responses.map(({ kind }) => kind), ["getResponse", "getResponse"]);
  const proof = await chain.proofs.proveMessages(responses, { height, target: evmTarget }, signal);
  assert.deepEqual(proof.kind === "mmr" && proof.leafIndices, [0n, 1n]);
  assert.deepEqual(await chain.reads.fetchReceipts(answer.requests.map(getMessage), signal), [
    answer.address,
    answer.address,
  ]);
  assert.equal(
    await refusalOf(chain, { kind: "answerGets", answer }),
    "duplicate StateCoprocessor.HandlingError",
  );
});

test("relayer hub: refused answers have a reason that the pallet does not give", async ({ hub, chain }) => {
  const late = questionOfOne(2n, { timeoutTimestampSec: 1_700_000_000n });
  const answer = await askOne(hub, [questionOfOne(1n), late, questionOfOne(3n, { height: 21n })]);
  const [good, , other] = answer.requests;
  assert.ok(good !== undefined && other !== undefined);
  const of = (
    requests: readonly GetRequest[],
    change: Partial<GetRequestsWithProof> = {},
  ): RelayerHubCall => ({
    kind: "answerGets",
    answer: { ...answer, requests, ...change },
  });
  const unknownHeight = { ...answer.source, height: { id: sender, height: 11n } };
  const error = "StateCoprocessor.HandlingError";
  assert.equal(await refusalOf(chain, of([good, late])), `timed_out ${error}`);
  assert.deepEqual((await chain.hubCalls.dryRunCall(of([good, late]), signal))?.messages, [1]);
  assert.equal(await refusalOf(chain, of([good, good])), `duplicate ${error}`);
  assert.equal(await refusalOf(chain, of([other])), `bad_proof ${error}`);
  assert.equal(await refusalOf(chain, of([good], { source: unknownHeight })), `not_ready ${error}`);
  assert.equal(await refusalOf(chain, of([questionOfOne(9n)])), `unspecified ${error}`);
  assert.equal(await refusalOf(chain, of([good])), "taken");
});

test("relayer hub: a chain, its host and its consensus state id are compared with what the hub stores", async ({ hub, chain }) => {
  await commitBlock(hub, receiver, 20n, []);
  const other = { ...receiver, consensusStateId: toConsensusStateId("ARB0") };
  const [right, wrong] = [receiverHost, new Uint8Array(20)];
  const rows: readonly (readonly [Counterparty, string])[] = [
    [{ id: receiver, ismpHost: right }, ""],
    [{ id: receiver, ismpHost: wrong }, `host_contract_mismatch .*${toHex(right)}; set ismp_host to it`],
    [
      { id: other, ismpHost: right },
      `chain_unknown .*"ARB0"; it knows that chain by "${receiver.consensusStateId}"`,
    ],
  ];
  for (const [entry, expected] of rows) {
    const found = await chain.counterparties.checkCounterparty(entry, signal);
    const texts = found.map((row) => `${row.check} ${row.result} ${row.found}`);
    assert.match(texts.join("\n"), new RegExp(`^${expected.replace(" ", " failed ")}$`));
  }
});

test("relayer hub: the reward of a rotation is claimed once", async ({ hub, chain }) => {
  const source = await commitBlock(hub, receiver, 20n, [[epochRelayerSlot(7n), relayerAddress]]);
  const claim = async (setId: bigint): Promise<RelayerHubCall> => {
    const { digest } = consensusClaimMessage({ setId, destChain: receiver.stateMachine, payee });
    const proof = await source.proveSlots([epochRelayerSlot(setId)]);
    return {
      kind: "claimRotation",
      claim: {
        stateProof: { height: { id: receiver, height: 20n }, proof },
        setId,
        payee,
        signature: evmSignature(digest, relayerKey),
      },
    };
  };
  const reward = (): Promise<unknown> => chain.rewards.fetchRotationReward(receiver.stateMachine, 7n, signal);
  assert.equal(await refusalOf(chain, await claim(7n)), "unspecified Relayer.OutboundNoRewardConfigured");
  assert.deepEqual(await reward(), { amount: 0n, isClaimed: false });
  void hub.governance.setConsensusReward(receiver.stateMachine, 10n ** 12n);
  void hub.governance.setBalance(treasuryAccount, 5n * 10n ** 12n);
  hub.produceBlock();
  assert.equal(await refusalOf(chain, await claim(8n)), "bad_proof Relayer.OutboundDeliveryNotProven");
  await include(hub, chain, await claim(7n));
  assert.deepEqual(await reward(), { amount: 10n ** 12n, isClaimed: true });
  assert.equal(await refusalOf(chain, await claim(7n)), "duplicate Relayer.OutboundRotationAlreadyClaimed");
});

test("relayer hub: the reward of a request of the hub is listed by module and claimed once", async ({ hub, chain }) => {
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
  const { digest } = requestClaimMessage({ commitment, destChain: receiver.stateMachine, payee });
  const claimOf = async (claimed: PostRequest): Promise<RelayerHubCall> => ({
    kind: "claimRequest",
    claim: {
      request: claimed,
      stateProof: {
        height: { id: receiver, height: 20n },
        proof: await source.proveSlots([requestReceiptSlot(commitment)]),
      },
      payee,
      signature: evmSignature(digest, relayerKey),
    },
  });
  assert.equal((await chain.rewards.fetchRewardedModules(signal)).size, 0);
  void hub.governance.setRequestReward(from, 10n ** 12n);
  void hub.governance.setBalance(treasuryAccount, 10n ** 13n);
  hub.produceBlock();
  assert.deepEqual([...await chain.rewards.fetchRewardedModules(signal)], [[toHex(from), 10n ** 12n]]);
  const unknown = await claimOf({ ...request, nonce: 9n });
  assert.equal(await refusalOf(chain, unknown), "unknown_message Relayer.OutboundRequestNotKnown");
  assert.equal(await chain.rewards.fetchIsRequestClaimed(commitment, signal), false);
  const call = await claimOf(request);
  await include(hub, chain, call);
  assert.equal(await chain.rewards.fetchIsRequestClaimed(commitment, signal), true);
  assert.equal(await refusalOf(chain, call), "duplicate Relayer.OutboundRequestAlreadyClaimed");
});

test("relayer hub: receipts on the hub itself are proven below the root of its header", async ({ hub, chain }) => {
  const request = post(1n, { dest: hub.identity.stateMachine, to: demoModuleId });
  const source = await commitSender(hub, 10n, [request]);
  const message = postMessage(request);
  const at = { id: sender, height: 10n };
  const proof = { kind: "state", height: at, proof: await source.prove([request]) } as const;
  const submission = await signed(chain, { steps: [{ kind: "messages", messages: [message], proof }] });
  await chain.sender.broadcast(submission, signal);
  const height = BigInt(hub.produceBlock().number);
  const other: Hash256 = `0x${"ee".repeat(32)}`;
  const shown = await chain.proofs.proveReceipts([message.commitment, other], { height }, signal);
  assert.deepEqual(shown.relayers, [relayerId, undefined]);
});
