import assert from "node:assert/strict";
import type { HubChain, RelayerHubCall } from "../../../../src/core/chains/hub.ts";
import type { Chain } from "../../../../src/core/chains/port.ts";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import { createSubstrateChain } from "../../../../src/core/chains/substrate/substrate_chain.ts";
import { EndpointUrl, Secret } from "../../../../src/core/config/redact.ts";
import { type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { requestFeeSlot, requestReceiptSlot } from "../../../../src/core/evm/host_storage.ts";
import { type Message, postMessage } from "../../../../src/core/ismp/message.ts";
import type { HashAlgorithm } from "../../../../src/core/ismp/proof.ts";
import { sr25519PublicKey, withdrawMessage } from "../../../../src/core/ismp/signed_messages.ts";
import type { WithdrawalProof } from "../../../../src/core/ismp/fees.ts";
import { parseStateMachine, type StateMachineId } from "../../../../src/core/ismp/state_machine.ts";
import type { ChildTrieName } from "../../../../src/core/ismp/storage_keys.ts";
import { platformSocket } from "../../../../src/core/rpc/socket.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { paidRequest, post, receiver, sender } from "../../../../devnet/hub/deliveries.ts";
import { demoModuleId, type Hub } from "../../../../devnet/hub/hub.ts";
import { commitBlock, relayerAddress } from "../../../../devnet/hub/relayer_work.ts";
import { startTwoChains } from "../../../../devnet/hub/substrate_work.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { signed } from "../../../support/chain_calls.ts";
import { connect } from "./hub_connection.ts";

const { signal } = new AbortController();
const stateMachine = parseStateMachine("KUSAMA-2000");
const payer: Hash256 = `0x${"31".repeat(32)}`;
const unit = 10n ** 12n;
const seed = new Uint8Array(32).fill(5);
const account = sr25519PublicKey(seed);

function connectChain(node: Hub, hashing: HashAlgorithm): Chain & AsyncDisposable {
  const deps = {
    clock: systemClock,
    randomness: seededRandomness(2),
    openSocket: platformSocket,
    fetch,
    log: new RecordedLog(),
  };
  const chain = createSubstrateChain(deps, {
    id: { stateMachine, consensusStateId: node.identity.consensusStateId },
    hashing,
    rpcWs: new EndpointUrl(node.wsUrl),
    maxRpcPayloadSizeBytes: 10_000_000,
    maxConcurrentQueries: 10,
    feeTokenDecimals: 6,
    signer: new Secret(toHex(seed)),
  });
  return Object.assign(chain, { [Symbol.asyncDispose]: () => chain.close() });
}

/** Carries messages of `from`, proven at `height`, to `to`; its next block takes them. */
async function carry(
  from: Chain,
  messages: readonly Message[],
  height: bigint,
  to: Chain,
  target: Hub,
): Promise<void> {
  const proof = await from.proofs.proveMessages(messages, { height, target: to }, signal);
  await deliver({ steps: [{ kind: "messages", messages, proof }] }, to, target);
}

async function deliver(delivery: Delivery, to: Chain, target: Hub): Promise<void> {
  const submission = await signed(to, delivery);
  assert.deepEqual(await to.sender.broadcast(submission, signal), { kind: "sent" });
  target.produceBlock();
  target.produceBlock();
  const outcome = await to.outcomes.fetchOutcome(submission, signal);
  assert.ok(outcome.kind === "included" && outcome.succeeded && outcome.isFinal);
}

const kinds: readonly (readonly [HashAlgorithm, ChildTrieName])[] = [
  ["Blake2", "ISMPv2"],
  ["Blake2", "ISMP"],
  ["Keccak", "ISMPv2"],
];

/** What a claim proves of one side. */
interface Side {
  readonly id: StateMachineId;
  readonly height: bigint;
  readonly proof: Uint8Array;
}

/** Claims a fee on the hub, whose next block takes it. */
async function claim(
  { hub, node }: { readonly hub: HubChain; readonly node: Hub },
  commitment: Hash256,
  { source, dest, beneficiary }: {
    readonly source: Side;
    readonly dest: Side;
    readonly beneficiary?: WithdrawalProof["beneficiaryDetails"];
  },
): Promise<void> {
  const [sourceProof, destProof] = [source, dest].map(({ id, height, proof }) => ({
    height: { id, height },
    proof,
  }));
  assert.ok(sourceProof !== undefined && destProof !== undefined);
  const call: RelayerHubCall = {
    kind: "accumulate",
    proof: { commitments: [commitment], sourceProof, destProof, beneficiaryDetails: beneficiary },
  };
  assert.equal(await hub.hubCalls.dryRunCall(call, signal), undefined);
  await hub.sender.broadcast(await hub.hubCalls.prepareCall(call, signal), signal);
  node.produceBlock();
}

for (const [hashing, childTrie] of kinds) {
  Deno.test(`two chains: a ${hashing} chain with trie ${childTrie} and the hub exchange messages, and its fee is claimed`, async () => {
    const balances = new Map([[payer, 100n * unit]]);
    await using two = await startTwoChains({ stateMachine, hashing, childTrie, balances });
    await using connection = connect(two.hub, { signer: new Secret(toHex(seed)) });
    await using chain = connectChain(two.chain, hashing);
    const hub = connection.chain;
    const findings = await chain.check(hub.id, signal);
    assert.deepEqual(findings.filter(({ result }) => result === "failed"), []);
    const sending = two.chain.dispatchPost({
      dest: receiver.stateMachine,
      from: new Uint8Array(8).fill(3),
      to: new Uint8Array(20),
      body: new Uint8Array([1]),
      timeoutSec: 0n,
      fee: { payer, fee: 5n * unit },
    });
    two.chain.produceBlock();
    two.chain.produceBlock();
    const { request, commitment } = await sending;
    const events = await chain.events.fetchEvents(0n, await chain.reads.fetchHeight(signal), signal);
    const found = events.flatMap((event) => event.kind === "message" ? [event.message] : []);
    assert.deepEqual(found, [postMessage(request)]);
    const height = await two.update(two.chain, two.hub);
    await carry(chain, found, height, hub, two.hub);
    assert.deepEqual(await hub.reads.fetchReceipts(found, signal), [account]);
    assert.deepEqual((await chain.fees.fetchFees([commitment], signal)).units, [5n * unit]);

    const slot = requestReceiptSlot(commitment);
    const dest = await commitBlock(two.hub, receiver, 20n, [[slot, relayerAddress]]);
    const { proof } = await chain.proofs.proveFees([commitment], { height }, signal);
    await claim({ hub, node: two.hub }, commitment, {
      source: { id: chain.id, height, proof },
      dest: { id: receiver, height: 20n, proof: await dest.proveSlots([slot]) },
    });
    assert.equal(await hub.accounts.fetchFeeBalance(stateMachine, relayerAddress, signal), 5n * unit);
  });

  Deno.test(`two chains: a delivery to a ${hashing} chain with trie ${childTrie} is claimed by its receipt`, async () => {
    await using two = await startTwoChains({ stateMachine, hashing, childTrie });
    await using connection = connect(two.hub);
    await using chain = connectChain(two.chain, hashing);
    const hub = connection.chain;
    const request = post(1n, { dest: stateMachine, to: demoModuleId });
    const message = postMessage(request);
    const { commitment } = message;
    const source = await commitBlock(two.hub, sender, 10n, paidRequest(commitment, 7n));
    const at = { id: sender, height: 10n };
    const sent = { kind: "state", height: at, proof: await source.prove([request]) } as const;
    await deliver({ steps: [{ kind: "messages", messages: [message], proof: sent }] }, hub, two.hub);
    await carry(hub, [message], await two.update(two.hub, two.chain), chain, two.chain);
    assert.deepEqual(await chain.reads.fetchReceipts([message], signal), [account]);

    const height = await two.update(two.chain, two.hub);
    const other: Hash256 = `0x${"ee".repeat(32)}`;
    const shown = await chain.proofs.proveReceipts([commitment, other], { height }, signal);
    assert.deepEqual(shown.relayers, [account, undefined]);
    // Our key of the chain names our account on the sender.
    const nonce = await hub.accounts.fetchRelayerNonce(account, sender.stateMachine, signal);
    const beneficiary = new Uint8Array(20).fill(0x66);
    const permission = withdrawMessage({ nonce, destChain: sender.stateMachine, beneficiary });
    await claim({ hub, node: two.hub }, commitment, {
      source: { ...at, proof: await source.proveSlots([requestFeeSlot(commitment)]) },
      dest: {
        id: chain.id,
        height,
        proof: (await chain.proofs.proveReceipts([commitment], { height }, signal)).proof,
      },
      beneficiary: [beneficiary, await chain.signMessage(permission, signal)],
    });
    assert.equal(await hub.accounts.fetchFeeBalance(sender.stateMachine, beneficiary, signal), 7n);
    assert.equal(await hub.accounts.fetchRelayerNonce(account, sender.stateMachine, signal), 1n);
  });
}
