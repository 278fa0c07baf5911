import { deepEqual, equal, ok } from "node:assert/strict";
import { blake2b256, type Hash256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { requestReceiptSlot } from "../../src/core/evm/host_storage.ts";
import { commitmentOfPost, type PostRequest } from "../../src/core/ismp/message.ts";
import type { Proof } from "../../src/core/ismp/proof.ts";
import { parseIsmpEvent } from "../../src/core/ismp/rpc_json.ts";
import { evmSignature } from "./signatures.ts";
import { sr25519PublicKey, withdrawMessage } from "../../src/core/ismp/signed_messages.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../src/core/ismp/storage_keys.ts";
import {
  eventsOf,
  EvmSource,
  extrinsicOf,
  post,
  receiver,
  sender,
  senderHost,
  submit,
} from "./deliveries.ts";
import { encodeHeader } from "./digest.ts";
import { demoModuleId, type Hub } from "./hub.ts";
import { callHttp, resultHttp } from "./json_rpc_client.ts";
import { relayerFeeAccount } from "./pallets/balances.ts";
import type { IsmpErrorCode } from "./pallets/ismp_error.ts";
import { commitBlock, fetchRefusal, relayerAddress, relayerCalls, relayerKey } from "./relayer_work.ts";
import { childProof, startTwoChains } from "./substrate_work.ts";

const kusama2000 = parseStateMachine("KUSAMA-2000");
const payer: Hash256 = `0x${"31".repeat(32)}`;
const unit = 10n ** 12n;
const signer = new Uint8Array(32).fill(0x44);

/** The extrinsic of one batch; the two runtimes have pallet Ismp at the same index. */
function delivery(requests: readonly PostRequest[], proof: Proof): Uint8Array {
  return extrinsicOf({ tag: "Request", value: { requests, proof, signer } });
}

async function reasonOf(of: Hub, extrinsic: Uint8Array): Promise<IsmpErrorCode | undefined> {
  const answer = await submit(of, extrinsic);
  return answer.kind === "result" ? undefined : of.rejections.at(-1)?.ismp;
}

function commitmentKeys(requests: readonly PostRequest[]): Uint8Array[] {
  return requests.map((request) => childTrieKeys.requestCommitment(commitmentOfPost(request)));
}

Deno.test("substrate chain: requests of EVM chains come through the hub, others are refused with their reason", async () => {
  await using two = await startTwoChains({ stateMachine: kusama2000, hashing: "Blake2" });
  const { hub, chain } = two;
  const forChain = (nonce: bigint, change: Partial<PostRequest> = {}): PostRequest =>
    post(nonce, { dest: kusama2000, to: demoModuleId, ...change });
  const good = forChain(1n);
  const unknownModule = forChain(2n, { to: new Uint8Array(8) });
  const feeOrder = forChain(3n, { to: new TextEncoder().encode("HYPR-FEE") });
  const held = await EvmSource.holding(senderHost, [good, unknownModule, feeOrder]);
  void hub.plantCommitment(sender, 11n, {
    timestampSec: 1n,
    overlayRoot: undefined,
    stateRoot: held.stateRoot,
  });
  hub.produceBlock();
  const toHub = async (request: PostRequest): Promise<Uint8Array> =>
    delivery([request], { height: { id: sender, height: 11n }, proof: await held.prove([request]) });
  // The module of fee payments hears the hub only, wherever the request goes.
  equal(await reasonOf(hub, await toHub(feeOrder)), "module_dispatch_error");
  equal(await reasonOf(hub, await toHub(good)), undefined);
  equal(await reasonOf(hub, await toHub(unknownModule)), undefined);
  hub.produceBlock();
  hub.produceBlock();
  const height = await two.update(hub, chain);
  const proof = await childProof(hub, "Keccak", height, commitmentKeys([good, unknownModule]));
  equal(await reasonOf(chain, delivery([unknownModule], proof)), "module_not_found");
  const elsewhere = forChain(9n, { dest: receiver.stateMachine });
  equal(await reasonOf(chain, delivery([elsewhere], proof)), "invalid_request_destination");
  equal(await reasonOf(chain, delivery([forChain(8n)], proof)), "membership_proof_verification_failed");
  const own = { ...good, source: kusama2000 };
  equal(await reasonOf(chain, delivery([own], proof)), "membership_proof_verification_failed");
  equal(await reasonOf(chain, delivery([good], proof)), undefined);
  chain.produceBlock();
  deepEqual(chain.findReceipt(commitmentOfPost(good)), signer);
  equal(
    await reasonOf(chain, delivery([good], { ...proof, proof: proof.proof.slice() })),
    "duplicate_request",
  );
});

Deno.test("substrate chain: its fees are accumulated on the hub, and withdrawn from its fee account", async () => {
  await using two = await startTwoChains({
    stateMachine: kusama2000,
    hashing: "Blake2",
    balances: new Map([[payer, 100n * unit]]),
  });
  const { hub, chain } = two;
  const sending = chain.dispatchPost({
    dest: receiver.stateMachine,
    from: new Uint8Array(8).fill(3),
    to: new Uint8Array(20),
    body: new Uint8Array(),
    timeoutSec: 0n,
    fee: { payer, fee: 5n * unit },
  });
  chain.produceBlock();
  chain.produceBlock();
  const { request, commitment } = await sending;
  equal(chain.governance.balanceOf(relayerFeeAccount), 5n * unit);
  equal(chain.governance.balanceOf(payer), 95n * unit);
  const height = await two.update(chain, hub);
  const keys = commitmentKeys([request]);
  const misread = await childProof(chain, "Keccak", height, keys);
  equal(await reasonOf(hub, delivery([request], misread)), "membership_proof_verification_failed");
  equal(await reasonOf(hub, delivery([request], await childProof(chain, "Blake2", height, keys))), undefined);
  hub.produceBlock();
  const dest = await commitBlock(hub, receiver, 20n, [[requestReceiptSlot(commitment), relayerAddress]]);
  const key = new Uint8Array(32).fill(5);
  const account = sr25519PublicKey(key);
  const claim = relayerCalls.accumulateFees({
    commitments: [commitment],
    sourceProof: await childProof(chain, "Blake2", height, keys),
    destProof: {
      height: { id: receiver, height: 20n },
      proof: await dest.proveSlots([requestReceiptSlot(commitment)]),
    },
    beneficiaryDetails: undefined,
  });
  equal(await fetchRefusal(hub, claim), undefined);
  hub.produceBlock();
  equal(hub.governance.feesOf(kusama2000, relayerAddress), 5n * unit);
  void hub.governance.setMinimumWithdrawal(kusama2000, unit);
  void hub.governance.setFeeTokenDecimals(kusama2000, 12);
  hub.produceBlock();
  const { digest } = withdrawMessage({ nonce: 0n, destChain: kusama2000, beneficiary: account });
  const order = { signature: evmSignature(digest, relayerKey), destChain: kusama2000, beneficiary: account };
  equal(await fetchRefusal(hub, relayerCalls.withdrawFees(order)), undefined);
  const block = hub.produceBlock();
  hub.produceBlock();
  const [event] = await eventsOf(hub, block.number);
  const parsed = parseIsmpEvent(event);
  ok(parsed.tag === "PostRequest");
  const hubHeight = await two.update(hub, chain);
  const proof = await childProof(hub, "Keccak", hubHeight, commitmentKeys([parsed.value]));
  equal(await reasonOf(chain, delivery([parsed.value], proof)), undefined);
  chain.produceBlock();
  equal(chain.governance.balanceOf(toHex(account)), 5n * unit);
  equal(chain.governance.balanceOf(relayerFeeAccount), 0n);
});

Deno.test("substrate chain: hashes with its own function, and has nothing that only the hub has", async () => {
  await using two = await startTwoChains({
    stateMachine: parseStateMachine("SUBSTRATE-abcd"),
    hashing: "Blake2",
  });
  const { chain } = two;
  const header = chain.finalizedHeader;
  equal(chain.finalized.hash, toHash256(blake2b256(encodeHeader(header))));
  const missing = async (method: string, params: readonly unknown[]): Promise<number | undefined> => {
    const answer = await callHttp(chain.httpUrl, method, params);
    return answer.kind === "error" ? answer.error.code : undefined;
  };
  equal(await missing("mmr_queryProof", [1, { Requests: [] }]), -32601);
  equal(
    await resultHttp(chain.httpUrl, "state_call", ["IsmpRuntimeApi_host_state_machine", "0x"]),
    "0x0361626364",
  );
  // Pallet 53 is Relayer on gargantua; this runtime does not know the call.
  const foreign = relayerCalls.withdrawFees({
    signature: evmSignature(payer, relayerKey),
    destChain: kusama2000,
    beneficiary: undefined,
  });
  const answer = await submit(chain, foreign);
  equal(answer.kind === "error" && answer.error.code, 1002);
});
