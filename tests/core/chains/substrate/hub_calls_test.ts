import assert from "node:assert/strict";
import type { RelayerHubCall } from "../../../../src/core/chains/hub.ts";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import { encodeHubCall } from "../../../../src/core/chains/substrate/hub_calls.ts";
import { loadRuntime } from "../../../../src/core/chains/substrate/runtime.ts";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { getMessage, getResponseMessage, postMessage } from "../../../../src/core/ismp/message.ts";
import {
  outboundConsensusDeliveryClaimCodec,
  outboundRequestDeliveryClaimCodec,
  withdrawalInputDataCodec,
  withdrawalProofCodec,
} from "../../../../src/core/ismp/fees.ts";
import { getRequestsWithProofCodec } from "../../../../src/core/ismp/ismp_message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { bool, type Codec, decodeStrict, u64 } from "../../../../src/core/encoding/scale.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";
import { kindOf } from "../../../support/chain_calls.ts";
import { faultWith } from "../../../support/rpc_faults.ts";
import { ScriptedError } from "../../../support/scripted_socket.ts";
import { hashOf, headerJson, type Script, scriptChain, scriptHub } from "./scripted_hub.ts";
import { decodeBareExtrinsic } from "../../../../devnet/hub/extrinsic.ts";

const { signal } = new AbortController();

/** The argument of a known call. */
function argumentOf<T>(vector: string, codec: Codec<T>): T {
  return decodeStrict(codec, fromHex(hubScale(`call.nexus.${vector}`).scale).slice(2), vector);
}

const accumulate = {
  kind: "accumulate",
  proof: argumentOf("Relayer.accumulate_fees", withdrawalProofCodec),
} as const;
const answer = argumentOf("StateCoprocessor.handle_unsigned", getRequestsWithProofCodec);

const accumulateOf = (vector: string): RelayerHubCall => (
  { kind: "accumulate", proof: argumentOf(vector, withdrawalProofCodec) }
);
const withdrawOf = (vector: string): RelayerHubCall => (
  { kind: "withdraw", data: argumentOf(vector, withdrawalInputDataCodec) }
);

/** Per vector of a call: what it is made of. */
const known: Readonly<Record<string, (vector: string) => RelayerHubCall>> = {
  "Relayer.accumulate_fees": accumulateOf,
  "Relayer.accumulate_fees.beneficiary": accumulateOf,
  "Relayer.withdraw_fees": withdrawOf,
  "Relayer.withdraw_fees.beneficiary": withdrawOf,
  "StateCoprocessor.handle_unsigned": () => ({ kind: "answerGets", answer }),
  "Relayer.claim_outbound_consensus_delivery_reward": (vector) => (
    { kind: "claimRotation", claim: argumentOf(vector, outboundConsensusDeliveryClaimCodec) }
  ),
  "Relayer.claim_outbound_request_delivery_reward": (vector) => (
    { kind: "claimRequest", claim: argumentOf(vector, outboundRequestDeliveryClaimCodec) }
  ),
};

for (const [vector, callOf] of Object.entries(known)) {
  const call = callOf(vector);
  Deno.test(`hub calls: ${vector} has the bytes and the hash of the known answer, in one message`, async () => {
    for (const hub of ["nexus", "gargantua"] as const) {
      const { specName, specVersion, metadata } = hubMetadata(`${hub}-head`);
      const runtime = loadRuntime("hub", { specName, specVersion }, metadata);
      assert.equal(toHex(encodeHubCall(runtime, call)), hubScale(`call.${hub}.${vector}`).scale);
    }
    const { chain, run, trips } = scriptHub({ chain_getHeader: () => headerJson(77) });
    const { hash, raw, madeAtHeight, account } = await run(chain.hubCalls.prepareCall(call, signal));
    const expected = hubScale(`call.nexus.${vector}`);
    assert.deepEqual([toHex(raw), hash], [expected.bareExtrinsicV4, expected.bareExtrinsicHashKeccak]);
    assert.deepEqual([madeAtHeight, account], [77n, undefined]);
    // Version and metadata are read once.
    assert.equal(trips(), 3);
    await run(chain.hubCalls.prepareCall(call, signal));
    assert.equal(trips(), 1);
  });
}

const VALID = "0x0000000000000000000000000000000000000000";
const INVALID_CALL = "0x010000";

/** A node whose pool says `validity`, and whose dry run ends in `dryRun`. */
function withValidity(
  validity: string,
  dryRun: string | undefined,
  stored: ReadonlyMap<string, string> = new Map(),
): Script {
  return {
    state_call: (method) => {
      assert.equal(method, "TaggedTransactionQueue_validate_transaction");
      return validity;
    },
    system_dryRun: () => {
      if (dryRun === undefined) throw new ScriptedError(-32601, "RPC call is unsafe to be called externally");
      return dryRun;
    },
    chain_getHeader: () => headerJson(77),
    state_getStorage: () => null,
    childstate_getStorage: (_, key) => stored.get(String(key)) ?? null,
    childstate_getStorageEntries: (_, keys) => {
      assert.ok(Array.isArray(keys));
      return keys.map((key) => stored.get(String(key)) ?? null);
    },
    state_queryStorageAt: (keys) => {
      assert.ok(Array.isArray(keys));
      return [{ block: hashOf("best"), changes: keys.map((key) => [key, stored.get(key) ?? null]) }];
    },
  };
}

/** What the hub stores about both proofs of `call` when they are 500 seconds old and 100 have to pass. */
function ready(): Map<string, string> {
  const nowSec = 1_700_000_000n;
  const stored = new Map([[toHex(otherKeys.timestampNow()), toHex(u64.enc(nowSec * 1000n))]]);
  for (
    const { height } of [
      accumulate.proof.sourceProof,
      accumulate.proof.destProof,
      answer.source,
      answer.response,
    ]
  ) {
    const { id } = height;
    const updated = nowSec - 500n;
    stored.set(toHex(ismpKeys.challengePeriod(id)), toHex(u64.enc(100n)));
    stored.set(toHex(ismpKeys.boundedStateMachineUpdateTime(id, height.height)), toHex(u64.enc(updated)));
  }
  return stored;
}

Deno.test("hub calls: a call that the pool would take is not refused, and that takes one message", async () => {
  const { chain, run, trips } = scriptHub(withValidity(VALID, undefined));
  assert.equal(await run(chain.hubCalls.dryRunCall(accumulate, signal)), undefined);
  trips();
  assert.equal(await run(chain.hubCalls.dryRunCall(accumulate, signal)), undefined);
  assert.equal(trips(), 1);
});

/** SCALE of a dry run that ended in the error of a module: pallet Relayer is 52, StateCoprocessor 58. */
function moduleError(pallet: number, error: number): string {
  return toHex(Uint8Array.of(0, 1, 3, pallet, error, 0, 0, 0));
}

/** The keys under which the hub keeps that the client of `accumulate`'s destination is frozen. */
const frozen = toHex(
  ismpKeys.frozenConsensusClients(accumulate.proof.destProof.height.id.consensusStateId),
);

const refusals: readonly (readonly [
  sentence: string,
  dryRun: string | undefined,
  stored: ReadonlyMap<string, string>,
  expected: readonly [code: string, error: string | undefined],
])[] = [
  ["a node without dry runs leaves the error open", undefined, ready(), ["unspecified", undefined]],
  ["an error that is no module's is no pallet error", "0x000102", ready(), ["unspecified", undefined]],
  ["a dry run that knows no reason leaves the pool's word", "0x0000", ready(), ["unspecified", undefined]],
  [
    "a frozen client stops claims",
    moduleError(52, 0),
    ready().set(frozen, toHex(bool.enc(true))),
    ["host_frozen", "Relayer.ProofValidationError"],
  ],
];

for (const [sentence, dryRun, stored, expected] of refusals) {
  Deno.test(`hub calls: ${sentence}`, async () => {
    const { chain, run } = scriptHub(withValidity(INVALID_CALL, dryRun, stored));
    const refusal = await run(chain.hubCalls.dryRunCall(accumulate, signal));
    assert.deepEqual([refusal?.code, refusal?.error], expected);
  });
}

Deno.test("hub calls: a node without the pool's API is asked for a dry run alone", async () => {
  const refuses: Script = {
    ...withValidity(VALID, moduleError(52, 9), ready()),
    state_call: () => {
      throw new ScriptedError(-32601, "Method not found");
    },
  };
  const { node, chain, run } = scriptHub(refuses);
  assert.equal(
    (await run(chain.hubCalls.dryRunCall(accumulate, signal)))?.error,
    "Relayer.MissingCommitments",
  );
  node.answer("system_dryRun", () => "0x0000");
  assert.equal(await run(chain.hubCalls.dryRunCall(accumulate, signal)), undefined);
  node.answer("system_dryRun", () => {
    throw new ScriptedError(-32601, "Method not found");
  });
  await assert.rejects(run(chain.hubCalls.dryRunCall(accumulate, signal)), faultWith("missing_method"));
});

Deno.test("hub calls: what exceeds the size limit is refused without asking", async () => {
  const { node, chain, run } = scriptHub(withValidity(VALID, undefined), { maxCallBytes: 100 });
  assert.equal((await run(chain.hubCalls.dryRunCall(accumulate, signal)))?.code, "too_large");
  assert.equal(node.exchanges.some(({ methods }) => methods.includes("state_call")), false);
});

Deno.test("hub calls: a claim that shrinks by a fifth is sent compressed", async () => {
  const { proof } = accumulate;
  const sourceProof = { ...proof.sourceProof, proof: new Uint8Array(5_000).fill(9) };
  const large = { kind: "accumulate", proof: { ...proof, sourceProof } } as const;
  const { chain, run } = scriptHub({ chain_getHeader: () => headerJson(77) });
  const call = decodeBareExtrinsic((await run(chain.hubCalls.prepareCall(large, signal))).raw);
  // Pallet CallDecompressor of nexus, call decompress_call.
  assert.deepEqual([...call.slice(0, 2)], [54, 0]);
});

Deno.test("hub chain: what a Substrate host does not take is refused by value, when tried and when signed", async () => {
  const [request] = answer.requests;
  assert.ok(request !== undefined);
  const { chain, run, trips } = scriptChain({});
  const post = postMessage({
    source: parseStateMachine("EVM-1"),
    dest: parseStateMachine("POLKADOT-2030"),
    nonce: 1n,
    from: new Uint8Array(20),
    to: new Uint8Array(8),
    timeoutTimestampSec: 0n,
    body: new Uint8Array(),
  });
  const { height } = answer.source;
  const state = { kind: "state", height, proof: new Uint8Array() } as const;
  const mmr = { kind: "mmr", height, leafCount: 1n, items: [], leafIndices: [0n] } as const;
  const good = { kind: "messages", messages: [post], proof: state } as const;
  const response = getResponseMessage({ get: request, values: [] });
  const cases: readonly Delivery["steps"][] = [
    [{ kind: "consensus", proof: new Uint8Array(3) }, good],
    [good, { kind: "messages", messages: [getMessage(request)], proof: state }],
    [{ kind: "messages", messages: [response], proof: state }],
    [{ kind: "messages", messages: [post], proof: mmr }],
  ];
  const accepted = {
    kind: "accepted",
    handled: [true],
    gasUsed: 0n,
    gasLimit: 0n,
    messageGas: [0n],
    gasPriceWei: 0n,
    dataCostWei: 0n,
  } as const;
  for (const steps of cases) {
    const delivery = { steps };
    assert.equal(kindOf(await run(chain.simulator.simulate(delivery, signal))), "bad_destination");
    const input = { simulation: accepted, nonceAtLeast: undefined };
    assert.equal(kindOf(await run(chain.sender.sign(delivery, input, signal))), "bad_destination");
  }
  assert.equal(trips(), 0);
});
