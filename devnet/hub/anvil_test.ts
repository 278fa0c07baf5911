import { equal, ok } from "node:assert/strict";
import { toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { requestSenderSlot } from "../../src/core/evm/host_storage.ts";
import { commitmentOfPost } from "../../src/core/ismp/message.ts";
import { evmStateProofCodec } from "../../src/core/ismp/proof.ts";
import { type AccountProofAnswer, buildEvmStateProof } from "../../src/core/merkle/evm_proof.ts";
import { startAnvil } from "../evm/anvil.ts";
import { extrinsicOf, post, requestMessage, sender, senderHost, startTestHub, submit } from "./deliveries.ts";
import { resultHttp } from "./json_rpc_client.ts";

function isAccountProof(answer: unknown): answer is AccountProofAnswer {
  return typeof answer === "object" && answer !== null && "accountProof" in answer &&
    "storageProof" in answer;
}

Deno.test("hub: a request proven by eth_getProof of a real EVM node is accepted, its neighbour is not", async () => {
  await using anvil = await startAnvil({ chainId: 1 });
  await using hub = await startTestHub();
  const requests = [post(1n), post(2n)];
  const [held] = requests;
  ok(held !== undefined);
  const host = toHex(senderHost);
  const slots = requests.map((request) => requestSenderSlot(commitmentOfPost(request)));
  const owner = `0x${"07".repeat(20).padStart(64, "0")}`;
  await resultHttp(anvil.rpcUrl, "anvil_setStorageAt", [host, slots[0], owner]);
  await resultHttp(anvil.rpcUrl, "anvil_setNonce", [host, "0x1"]);
  await resultHttp(anvil.rpcUrl, "anvil_mine", ["0x1"]);
  const block = await resultHttp(anvil.rpcUrl, "eth_getBlockByNumber", ["latest", false]);
  ok(typeof block === "object" && block !== null && "stateRoot" in block && "number" in block);
  const answer = await resultHttp(anvil.rpcUrl, "eth_getProof", [host, slots, block.number]);
  ok(isAccountProof(answer));
  const height = BigInt(String(block.number));
  void hub.plantCommitment(sender, height, {
    timestampSec: 1n,
    overlayRoot: undefined,
    stateRoot: toHash256(String(block.stateRoot)),
  });
  hub.produceBlock();
  const proof = evmStateProofCodec.enc(buildEvmStateProof([answer]));
  equal((await submit(hub, extrinsicOf(requestMessage(requests, proof, { height })))).kind, "error");
  equal(hub.rejections.at(-1)?.detail, "membership_proof_verification_failed: no_value");
  equal((await submit(hub, extrinsicOf(requestMessage([held], proof, { height })))).kind, "result");
  hub.produceBlock();
  ok(hub.hasRequest(commitmentOfPost(held)));
});
