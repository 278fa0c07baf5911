/**
 * `state_call`: runtime APIs with SCALE arguments and results.
 */
import { concatBytes, fromHex } from "../../../src/core/encoding/bytes.ts";
import {
  consensusStateIdCodec,
  stateMachineCodec,
  stateMachineHeightCodec,
  stateMachineIdCodec,
} from "../../../src/core/ismp/state_machine.ts";
import {
  bytes,
  type Codec,
  decodeStrict,
  hash256,
  list,
  Option,
  ScaleError,
  Struct,
  Tuple,
  u32,
  u64,
} from "../../../src/core/encoding/scale.ts";
import type { SimulatedBlock } from "../block_history.ts";
import type { HubNode } from "../node.ts";
import { ValidityError } from "../runtime.ts";
import { RuntimeApi } from "../runtime_api.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import type { Snapshot } from "../storage.ts";
import { RpcError } from "./json_rpc.ts";
import { clientErrors } from "./method.ts";
import { ismpEventCodec } from "../pallets/ismp_events.ts";

/** Runtime API `Metadata` of metadata of version 14, by method. */
export const metadataApi: Readonly<Record<string, (metadata: Uint8Array, args: Uint8Array) => Uint8Array>> = {
  Metadata_metadata: (metadata) => bytes.enc(metadata),
  Metadata_metadata_versions: () => list(u32).enc([14]),
  Metadata_metadata_at_version: (metadata, args) =>
    Option(bytes).enc(decodeStrict(u32, args, "arguments") === 14 ? metadata : undefined),
};

interface CallInput {
  readonly node: HubNode;
  readonly args: Uint8Array;
  readonly block: SimulatedBlock;
  readonly state: Snapshot;
}

type RuntimeCall = (call: CallInput) => Uint8Array;

function metadataOf({ node, block }: Pick<CallInput, "node" | "block">): RuntimeMetadata {
  return node.runtime.metadataAfter(block.header.number);
}

/**
 * What a node answers when the runtime panics. APIs that read the offchain database end this way, since
 * `state_call` does not give it to them (docs/protocol/hub.md section 5: inferred).
 */
function trap(method: string): RpcError {
  return new RpcError(4003, `Client error: Execution failed: Execution aborted due to trap in ${method}`);
}

/** Runs one API. @throws {RpcError} 4003 for unknown methods, undecodable arguments, pruned blocks. */
export function callRuntime(
  node: HubNode,
  method: string,
  args: Uint8Array,
  block: SimulatedBlock,
): Uint8Array {
  const call = method.startsWith("MmrRuntimeApi_") && node.mmr === undefined
    ? undefined
    : runtimeCalls.get(method);
  if (call === undefined) {
    throw new RpcError(4003, `Client error: Execution failed: Exported method ${method} is not found`);
  }
  const state = clientErrors(() => node.chain.stateOf(block));
  try {
    return call({ node, args, block, state });
  } catch (error) {
    if (error instanceof ScaleError) throw trap(method);
    throw error;
  }
}

const none = new Uint8Array();
const ok = (value: Uint8Array): Uint8Array => concatBytes(Uint8Array.of(0), value);
const optionU64 = Option(u64);

function keyed<Key>(
  codec: Codec<Key>,
  read: (node: HubNode, state: Snapshot, key: Key) => bigint | undefined,
): RuntimeCall {
  return ({ node, args, state }) => optionU64.enc(read(node, state, decodeStrict(codec, args, "arguments")));
}

function eventsCall(withMetadata: boolean): RuntimeCall {
  return ({ node, block }) => {
    const api = new RuntimeApi(node);
    if (api.needsOffchain(block)) throw trap("IsmpRuntimeApi_block_events");
    const events = api.blockEvents(block);
    if (!withMetadata) return list(ismpEventCodec).enc(events.map(({ event }) => event));
    return list(Tuple(ismpEventCodec, Option(u32))).enc(
      events.map(({ event, extrinsicIndex }) => [event, extrinsicIndex]),
    );
  };
}

const runtimeCalls: ReadonlyMap<string, RuntimeCall> = new Map<string, RuntimeCall>([
  ["Core_version", (call) => metadataOf(call).versionBytes],
  ...Object.entries(metadataApi).map(([method, answer]) =>
    [method, (call: CallInput) => answer(metadataOf(call).bytes, call.args)] as const
  ),
  ["AuraApi_slot_duration", ({ node }) => u64.enc(BigInt(node.slotDurationMs))],
  ["AccountNonceApi_account_nonce", ({ args }) => {
    decodeStrict(hash256, args, "arguments");
    return u32.enc(0);
  }],
  ["TaggedTransactionQueue_validate_transaction", validateTransaction],
  ["IsmpRuntimeApi_host_state_machine", ({ node }) => stateMachineCodec.enc(node.identity.stateMachine)],
  ["IsmpRuntimeApi_block_events", eventsCall(false)],
  ["IsmpRuntimeApi_block_events_with_metadata", eventsCall(true)],
  ["IsmpRuntimeApi_consensus_state", ({ node, args, state }) => {
    const id = decodeStrict(consensusStateIdCodec, args, "arguments");
    return Option(bytes).enc(node.ismp.storage.consensusStates.get(state.main, id));
  }],
  [
    "IsmpRuntimeApi_state_machine_update_time",
    keyed(
      stateMachineHeightCodec,
      (node, state, { id, height }) => node.ismp.storage.updateTimesSec.get(state.main, id, height),
    ),
  ],
  [
    "IsmpRuntimeApi_challenge_period",
    keyed(stateMachineIdCodec, (node, state, id) => node.ismp.storage.challengePeriodSec.get(state.main, id)),
  ],
  [
    "IsmpRuntimeApi_latest_state_machine_height",
    keyed(stateMachineIdCodec, (node, state, id) => node.ismp.storage.latestHeight.get(state.main, id)),
  ],
  ["IsmpRuntimeApi_requests", () => {
    throw trap("IsmpRuntimeApi_requests");
  }],
  ["IsmpRuntimeApi_responses", () => {
    throw trap("IsmpRuntimeApi_responses");
  }],
  ["MmrRuntimeApi_pallet_genesis", () => ok(Option(u32).enc(undefined))],
  [
    "MmrRuntimeApi_mmr_leaf_count",
    ({ node, state }) => ok(u64.enc(node.mmr?.numberOfLeaves.get(state.main) ?? 0n)),
  ],
  [
    "MmrRuntimeApi_mmr_root",
    ({ node, state }) => ok(fromHex(node.mmr?.rootHash.get(state.main) ?? zeroHash)),
  ],
  [
    "MmrRuntimeApi_fork_identifier",
    ({ node, state }) => ok(fromHex(node.ismp.storage.childTrieRoot.get(state.main) ?? zeroHash)),
  ],
  ["MmrRuntimeApi_generate_proof", () => {
    throw trap("MmrRuntimeApi_generate_proof");
  }],
  ["IsmpParachainApi_para_ids", () => list(u32).enc([])],
]);

const zeroHash = `0x${"00".repeat(32)}`;

const validTransactionCodec = Struct({
  priority: u64,
  requires: list(bytes),
  provides: list(bytes),
  longevity: u64,
});

/** Arguments: source (0 to 2), extrinsic with its length, block hash. */
function validateTransaction({ node, args, state }: Parameters<RuntimeCall>[0]): Uint8Array {
  if ((args[0] ?? 3) > 2 || args.length < 34) throw new ScaleError("invalid", "arguments");
  const extrinsic = args.slice(1, args.length - 32);
  try {
    const { priority, provides, longevity } = node.runtime.validate(state, extrinsic);
    const valid = validTransactionCodec.enc({ priority, requires: [], provides, longevity });
    return concatBytes(Uint8Array.of(0), valid, Uint8Array.of(1), none);
  } catch (error) {
    if (!(error instanceof ValidityError)) throw error;
    return concatBytes(Uint8Array.of(1), error.encode());
  }
}
