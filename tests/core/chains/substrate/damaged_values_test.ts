/** Stored values and events that are cut off, lengthened or of other types: named faults of the node, never a crash. */
import assert from "node:assert/strict";
import { metadata as metadataCodec } from "@polkadot-api/substrate-bindings";
import { loadRuntime, RuntimeFault } from "../../../../src/core/chains/substrate/runtime.ts";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { evmStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Randomness } from "../../../../src/core/runtime/clock.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { blockHashes, hashOf, headerJson, scriptConsensusHub, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();
const evm = evmStateMachine(1);
const id = { stateMachine: evm, consensusStateId: toConsensusStateId("ETH0") };
const runtime = loadRuntime(
  "POLKADOT-3367",
  { specName: "nexus", specVersion: 1 },
  hubMetadata("nexus-head").metadata,
);

function below(randomness: Randomness, limit: number): number {
  return Math.floor(randomness.fraction() * limit);
}

/** An answer for a stored value: bytes of any length, sometimes no hex at all. */
function anyAnswer(randomness: Randomness): unknown {
  const odd = [null, 7, {}, [], true, "", "0x", "0xf", "text", `0x${"ff".repeat(70)}`];
  if (below(randomness, 4) === 0) return odd[below(randomness, odd.length)];
  return toHex(randomness.bytes(below(randomness, 90)));
}

Deno.test("damaged values: every read of storage ends with a value or a named fault of the node", async () => {
  const randomness = seededRandomness(29);
  const script = {
    chain_getBlockHash: blockHashes(9),
    chain_getFinalizedHead: () => hashOf("b9"),
    chain_getHeader: () => headerJson(9),
    state_getStorage: () => anyAnswer(randomness),
    state_queryStorageAt: (keys: unknown) => {
      assert.ok(Array.isArray(keys));
      return [{ block: hashOf("b9"), changes: keys.map((key) => [key, anyAnswer(randomness)]) }];
    },
  };
  const hub = scriptHub(script);
  const target = scriptConsensusHub(script);
  const height = { id, height: 5n };
  const account = new Uint8Array(20).fill(7);
  const reads: readonly (() => Promise<unknown>)[] = [
    () => hub.chain.reads.fetchView(id, signal),
    () => hub.chain.reads.fetchBlockTime(9n, signal),
    () => hub.chain.reads.fetchUpdateTime(height, signal),
    () => hub.chain.reads.fetchStateRoot(height, signal),
    () => hub.chain.accounts.fetchFeeBalance(evm, account, signal),
    () => hub.chain.accounts.fetchRelayerNonce(account, evm, signal),
    () => hub.chain.accounts.fetchMinimumWithdrawal(evm, signal),
    () => hub.chain.rewards.fetchRotationReward(evm, 1n, signal),
    () => hub.chain.senderLimits.fetchSenderLimits(evm, [account], signal),
    () => hub.chain.acceptedProofs.fetchAcceptedIndex(signal),
    () => target.chain.reads.fetchClient(id.consensusStateId, "best", signal),
    () => target.chain.reads.fetchLatestHeight(id, signal),
  ];
  const codes = new Set<string>();
  for (let round = 0; round < 60; round++) {
    for (const read of reads) {
      try {
        await hub.run(target.run(read()));
      } catch (fault) {
        assert.ok(fault instanceof RpcFault, String(fault));
        codes.add(fault.code);
      }
    }
  }
  assert.deepEqual([...codes], ["malformed"]);
});

const records = ["PostRequestHandled", "Request", "StateMachineUpdated", "GetRequestHandled"].map((name) =>
  fromHex(hubScale(`event.nexus.Ismp.${name}`).scale).slice(1)
);

Deno.test("damaged values: events that are cut, changed or doubled are read, or a named fault", () => {
  const randomness = seededRandomness(31);
  const block = concatBytes(Uint8Array.of(4 * 3 * records.length), ...records, ...records, ...records);
  let [read, refused] = [0, 0];
  for (let round = 0; round < 400; round++) {
    const damaged = block.slice(0, below(randomness, 3) === 0 ? below(randomness, block.length) : undefined);
    for (let changes = below(randomness, 4); changes >= 0; changes--) {
      damaged[below(randomness, damaged.length)] = below(randomness, 256);
    }
    try {
      assert.ok(runtime.decodeEvents(damaged).length <= 64);
      read++;
    } catch (fault) {
      assert.ok(fault instanceof RuntimeFault && fault.code === "bad_events", String(fault));
      refused++;
    }
  }
  assert.ok(read > 20 && refused > 20, `${read} read, ${refused} refused`);
});

Deno.test("damaged values: types that are nested in each other without end are a difference, and their events a named fault", () => {
  const { metadata } = hubMetadata("nexus-head");
  const changed = metadataCodec.dec(metadata);
  assert.ok(changed.metadata.tag === "v14");
  const { lookup, pallets } = changed.metadata.value;
  // A chain of structs, whose last one holds itself twice.
  const first = lookup.length;
  const [like] = lookup;
  assert.ok(like !== undefined);
  for (let at = first; at < first + 20_000; at++) {
    const next = Math.min(at + 1, first + 19_999);
    lookup.push({ ...like, id: at, def: { tag: "tuple", value: [next, next] } });
  }
  const ismp = pallets.find(({ name }) => name === "Ismp");
  const nonce = ismp?.storage?.items.find(({ name }) => name === "Nonce");
  const events = lookup.find(({ id }) => id === ismp?.events)?.def;
  assert.ok(nonce?.type.tag === "plain" && events?.tag === "variant");
  nonce.type.value = first;
  const [field] = events.value.find(({ name }) => name === "PostRequestHandled")?.fields ?? [];
  assert.ok(field !== undefined);
  field.type = first;
  const runtime = loadRuntime(
    "POLKADOT-3367",
    { specName: "nexus", specVersion: 1 },
    metadataCodec.enc(changed),
  );
  assert.match(runtime.findDifference(ismpKeys.nonce) ?? "", /Ismp\.Nonce: value: expected/);
  const [handled, , updated] = records;
  assert.ok(handled !== undefined && updated !== undefined);
  const value = concatBytes(Uint8Array.of(4 * 2), handled, updated);
  assert.throws(() => runtime.decodeEvents(value), RuntimeFault);
});
