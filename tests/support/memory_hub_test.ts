import assert from "node:assert/strict";
import type { RelayerHubCall } from "../../src/core/chains/hub.ts";
import { toEvmAddress, withdrawMessage } from "../../src/core/ismp/signed_messages.ts";
import { parseStateMachine, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { keccak256 } from "../../src/core/encoding/bytes.ts";
import { evmSignature } from "../../devnet/hub/signatures.ts";
import { FakeClock } from "./fake_clock.ts";
import { MemoryHub } from "./memory_hub.ts";
import { MemoryNode } from "./memory_node.ts";

const never = new AbortController().signal;
const chain = parseStateMachine("EVM-1");
const key = keccak256(Uint8Array.of(1));
const address = toEvmAddress(key);
const one = 10n ** 18n;

/** A hub whose relayer has 30 units to withdraw. */
function startHub(): { readonly node: MemoryNode; readonly hub: MemoryHub } {
  const clock = new FakeClock();
  const id = { stateMachine: parseStateMachine("KUSAMA-4009"), consensusStateId: toConsensusStateId("PARA") };
  const node = new MemoryNode(clock, { id, family: "substrate", isHub: true });
  const hub = new MemoryHub(node, clock, { relayer: address });
  hub.accounts.credit(chain, address, 30n * one);
  node.produceBlock();
  return { node, hub };
}

function order(nonce: bigint): RelayerHubCall {
  const { digest } = withdrawMessage({ nonce, destChain: chain, beneficiary: undefined });
  const signature = evmSignature(digest, key);
  return { kind: "withdraw", data: { signature, destChain: chain, beneficiary: undefined } };
}

Deno.test("memory hub: an order pays out in its block, and a reorganisation takes that back", async () => {
  const { node, hub } = startHub();
  const submission = await hub.hubCalls.prepareCall(order(0n), never);
  assert.deepEqual(await hub.broadcast(submission, never), { kind: "sent" });
  assert.equal(hub.accounts.balanceOf(chain, address), 30n * one);
  assert.deepEqual(node.produceBlock().events.map(({ kind }) => kind), ["message"]);
  assert.equal(hub.accounts.balanceOf(chain, address), 0n);
  assert.equal((await hub.fetchOutcome(submission, never)).kind, "included");
  node.reorganise(1, "forget");
  assert.equal(hub.accounts.balanceOf(chain, address), 30n * one);
  assert.equal((await hub.fetchOutcome(submission, never)).kind, "unknown");
});

Deno.test("memory hub: the pool takes an order once, and none with a nonce that was used", async () => {
  const { node, hub } = startHub();
  const call = order(0n);
  for (const kind of ["sent", "alreadyKnown"] as const) {
    assert.deepEqual(await hub.broadcast(await hub.hubCalls.prepareCall(call, never), never), { kind });
  }
  node.produceBlock();
  assert.equal((await hub.hubCalls.dryRunCall(call, never))?.error, "Relayer.InvalidSignature");
  const late = await hub.broadcast(await hub.hubCalls.prepareCall(call, never), never);
  assert.equal(late.kind === "refused" && late.refusal.detail, "InvalidSignature");
});

Deno.test("memory hub: less than the smallest payment is not paid out", async () => {
  const { hub } = startHub();
  hub.accounts.minimums.set(chain, 31n * one);
  assert.equal((await hub.hubCalls.dryRunCall(order(0n), never))?.error, "Relayer.NotEnoughBalance");
});

Deno.test("memory hub: the proofs that it lists are those of its newest final block", async () => {
  const { node, hub } = startHub();
  for (let block = 0; block < 5; block++) node.produceBlock();
  node.acceptProof("messaging", 2n);
  node.acceptProof("rotation", 3n);
  node.produceBlock();
  assert.deepEqual(await hub.acceptedProofs.fetchAcceptedIndex(never), {
    rotations: new Map(),
    messaging: [],
  });
  for (let block = 0; block < 2; block++) node.produceBlock();
  assert.deepEqual(await hub.acceptedProofs.fetchAcceptedIndex(never), {
    rotations: new Map([[1n, 3n]]),
    messaging: [2n],
  });
});
