import assert from "node:assert/strict";
import { headerHash } from "../../../../src/core/chains/substrate/chain_checks.ts";
import { Secret } from "../../../../src/core/config/redact.ts";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { signatureCodec } from "../../../../src/core/ismp/fees.ts";
import { ismpMessagesCodec } from "../../../../src/core/ismp/ismp_message.ts";
import {
  SignatureError,
  signedMessage,
  sr25519PublicKey,
  toSignerBytes,
} from "../../../../src/core/ismp/signed_messages.ts";
import {
  stateCommitmentCodec,
  stateMachineHeightCodec,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import { blake2Concat, storagePrefix, twoxConcat } from "../../../../src/core/ismp/storage_keys.ts";
import { decodeStrict, u64 } from "../../../../src/core/encoding/scale.ts";
import {
  connectConsensus,
  ethereum,
  optimism,
  proofs,
  startConsensusHub,
  submitterKey,
} from "../../../../devnet/hub/consensus_work.ts";
import { hubMetadata } from "../../../support/hub_vectors.ts";
import { hashOf, headerJson, scriptConsensusHub } from "./scripted_hub.ts";
import { decodeBareExtrinsic } from "../../../../devnet/hub/extrinsic.ts";
import { verifySignature } from "../../../../devnet/hub/signatures.ts";
import { faultWith } from "../../../support/rpc_faults.ts";

const { signal } = new AbortController();
const { consensusStateId: id } = ethereum;
const opState = optimism.consensusStateId;

Deno.test("consensus hub: every message carries our sr25519 signature of its proof's hash", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const submission = await connection.hub.updates.prepareUpdates(
    { id: opState, proofs: proofs.opStack },
    signal,
  );
  assert.equal(submission.madeAtHeight, BigInt(simulated.best.number));
  assert.equal(submission.account, undefined);
  const messages = decodeStrict(ismpMessagesCodec, decodeBareExtrinsic(submission.raw).slice(2), "messages");
  assert.equal(messages.length, 2);
  for (const [index, message] of messages.entries()) {
    assert.ok(message.tag === "Consensus");
    const { consensusProof, consensusStateId, signer } = message.value;
    assert.equal(consensusStateId, opState);
    assert.deepEqual(consensusProof, proofs.opStack[index]);
    assert.match(toHex(signer), /^0x0180[0-9a-f]{64}0101[0-9a-f]{128}$/);
    const signature = decodeStrict(signatureCodec, signer, "Signature");
    assert.deepEqual(toSignerBytes(signature), sr25519PublicKey(fromHex(submitterKey)));
    assert.equal(verifySignature(signedMessage(consensusProof).digest, signature), true);
  }
  assert.throws(
    () => connectConsensus(simulated, { signer: new Secret("0x1234") }),
    (error) => error instanceof SignatureError && error.code === "bad_key",
  );
});

Deno.test("consensus hub: an extrinsic without updates is a defect of the caller", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  await assert.rejects(connection.hub.updates.prepareUpdates({ id, proofs: [] }, signal), /no update/);
  await assert.rejects(connection.hub.updates.dryRunUpdates({ id, proofs: [] }, signal), /no update/);
});

Deno.test("consensus hub: updates above the size limit are refused before they are sent", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated, { maxCallBytes: 1000 });
  const { hub } = connection;
  assert.equal(
    (await hub.updates.dryRunUpdates({ id: opState, proofs: proofs.opStack }, signal))?.code,
    "too_large",
  );
  await assert.rejects(
    hub.updates.prepareUpdates({ id: opState, proofs: proofs.opStack }, signal),
    faultWith("too_large"),
  );
});

Deno.test("consensus hub: bytes that the pool bans for a while are a fault, no refusal", async () => {
  await using simulated = await startConsensusHub({ pool: { banMs: 60_000 } });
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const submission = await hub.updates.prepareUpdates({ id: opState, proofs: [Uint8Array.of(1)] }, signal);
  assert.equal((await hub.sender.broadcast(submission, signal)).kind, "refused");
  await assert.rejects(hub.sender.broadcast(submission, signal), faultWith("pool_dropped"));
});

Deno.test("consensus hub: a right configuration has nothing to be told, a node without needed methods is named", async () => {
  await using simulated = await startConsensusHub({ now: Date.now });
  await using connection = connectConsensus(simulated);
  assert.deepEqual(await connection.hub.check(signal), []);
  const methods = ["author_submitExtrinsic", "chain_getBlock", "chain_getFinalizedHead"];
  simulated.fault = ({ method }) =>
    method === "rpc_methods" ? { kind: "result", result: { methods } } : undefined;
  const [row, ...more] = await connection.hub.check(signal);
  assert.deepEqual([row?.result, more], ["failed", []]);
  assert.match(row?.found ?? "", /lacks the RPC methods state_call$/);
});

Deno.test("consensus hub: a runtime that takes other consensus messages is fatal", async () => {
  // Pallet Ismp of nexus' genesis takes messages by another call.
  const { specName, specVersion, metadata } = hubMetadata("nexus-genesis");
  const root = hashOf("root");
  const fields = { stateRoot: root, extrinsicsRoot: root, logs: [] };
  const header = { height: 5n, parent: hashOf("parent"), fields };
  const { chain, run } = scriptConsensusHub({
    state_getRuntimeVersion: () => ({ specName, specVersion }),
    state_getMetadata: () => toHex(metadata),
    state_call: () => "0x01270d0000",
    rpc_methods: () => ({
      methods: [
        "author_submitExtrinsic",
        "chain_getBlock",
        "chain_getFinalizedHead",
        "state_call",
      ],
    }),
    chain_getFinalizedHead: () => headerHash(header, "Keccak"),
    chain_getHeader: () => headerJson(5),
    state_getStorage: () => null,
  });
  const findings = await run(chain.check(signal));
  assert.deepEqual([...new Set(findings.map(({ check, result }) => `${result} ${check}`))], [
    "failed runtime_unsupported",
  ]);
  assert.match(
    findings[0]?.found ?? "",
    /no consensus update can be submitted to it: no call Ismp\.handle_unsigned; Ismp\.LatestStateMachineHeight: key/,
  );
});

Deno.test("consensus hub: a node without state_queryStorageAt is read value by value, all of one block", async () => {
  const best = hashOf("best");
  const asked: unknown[] = [];
  const { chain, run } = scriptConsensusHub({
    chain_getBlockHash: () => best,
    state_getStorage: (_, block) => {
      asked.push(block);
      return null;
    },
  });
  assert.equal(await run(chain.reads.fetchClient(toConsensusStateId("ETH0"), "best", signal)), undefined);
  assert.deepEqual(await run(chain.reads.fetchStorage([fromHex("0x12"), fromHex("0x34")], signal)), [
    undefined,
    undefined,
  ]);
  assert.deepEqual(new Set(asked), new Set([best]));
});

Deno.test("consensus hub: older releases keep commitments and their times under other names", async () => {
  const { specName, specVersion, metadata } = hubMetadata("gargantua-genesis");
  const at = { id: ethereum, height: 9n };
  const commitment = { timestampSec: 7n, overlayRoot: undefined, stateRoot: hashOf("state") };
  const key = stateMachineHeightCodec.enc(at);
  const stored = new Map<unknown, string>();
  const put = (item: string, hashed: Uint8Array, value: Uint8Array): void => {
    stored.set(toHex(concatBytes(storagePrefix("Ismp", item), hashed)), toHex(value));
  };
  put("StateCommitments", blake2Concat(key), stateCommitmentCodec.enc(commitment));
  put("StateMachineUpdateTime", twoxConcat(key), u64.enc(77n));
  const { chain, run } = scriptConsensusHub({
    state_getRuntimeVersion: () => ({ specName, specVersion }),
    state_getMetadata: () => toHex(metadata),
    state_getStorage: (name) => stored.get(name) ?? null,
  });
  assert.deepEqual(await run(chain.reads.fetchCommitment(at, signal)), commitment);
  assert.equal(await run(chain.reads.fetchUpdateTime(at, signal)), 77n);
  assert.equal(await run(chain.reads.fetchCommitment({ ...at, height: 8n }, signal)), undefined);
});

Deno.test("consensus hub: values are read at the block that was asked for, and what does not decode is malformed", async () => {
  const asked: unknown[] = [];
  const { chain, run } = scriptConsensusHub({
    chain_getFinalizedHead: () => hashOf("final"),
    state_queryStorageAt: (keys, block) => {
      assert.ok(Array.isArray(keys));
      asked.push(block);
      return [{ block: hashOf("b"), changes: keys.map((key) => [key, "0x0102"]) }];
    },
    state_getStorage: () => "0x01",
  });
  await assert.rejects(
    run(chain.reads.fetchClient(toConsensusStateId("ETH0"), "final", signal)),
    faultWith("malformed"),
  );
  await assert.rejects(
    run(chain.reads.fetchClient(toConsensusStateId("ETH0"), "best", signal)),
    faultWith("malformed"),
  );
  assert.deepEqual(asked, [hashOf("final"), undefined]);
  await assert.rejects(run(chain.reads.fetchLatestHeight(ethereum, signal)), faultWith("malformed"));
  await assert.rejects(
    run(chain.reads.fetchCommitment({ id: ethereum, height: 1n }, signal)),
    faultWith("malformed"),
  );
});
