/**
 * `state_*` and `childstate_*` methods.
 */
import { concatBytes, equalBytes, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  bytes,
  compareBytes,
  decodeStrict,
  list,
  Option,
  ScaleError,
  Struct,
  u32,
  u64,
} from "../../../src/core/encoding/scale.ts";
import { converted } from "../verifiers/refusals.ts";
import type { SimulatedBlock } from "../block_history.ts";
import type { ServedNode } from "../blocks.ts";
import type { HubNode } from "../node.ts";
import type { Snapshot } from "../storage.ts";
import {
  blockParam,
  clientErrors,
  hexesParam,
  hexParam,
  invalidParams,
  RpcError,
  type RpcMethods,
  u32Param,
} from "./json_rpc.ts";
import { stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { ValidityError } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { childTrieKey } from "../../../src/core/ismp/storage_keys.ts";

/** Most keys of one `state_getKeysPaged`. */
const maxPageKeys = 1000;

/** The methods. */
export function storageMethods(node: ServedNode): RpcMethods {
  const { chain } = node;
  const stateAt = (at: unknown): Snapshot => {
    const block = blockParam(node, at);
    return clientErrors(() => chain.stateOf(block));
  };
  return {
    state_getStorage: ([key, at]) => hexOrNull(stateAt(at).main.get(hexParam(key, "key"))),
    state_getKeysPaged: ([prefix, count, start, at]) => keysPaged(stateAt(at), prefix, count, start),
    state_queryStorageAt: ([keys, at]) => {
      const block = blockParam(node, at);
      const { main } = clientErrors(() => chain.stateOf(block));
      const changes = hexesParam(keys, "keys").map((key) => [toHex(key), hexOrNull(main.get(key))]);
      return [{ block: block.hash, changes }];
    },
    state_getReadProof: ([keys, at]) => {
      const block = blockParam(node, at);
      const { main } = clientErrors(() => chain.stateOf(block));
      return { at: block.hash, proof: main.prove(hexesParam(keys, "keys")).map(toHex) };
    },
  };
}

/** A storage value as JSON-RPC shows it. */
function hexOrNull(value: Uint8Array | undefined): Hex | null {
  return value === undefined ? null : toHex(value);
}

function keysPaged(state: Snapshot, prefix: unknown, count: unknown, start: unknown): Hex[] {
  const limit = u32Param(count, "count");
  if (limit > maxPageKeys) {
    throw new RpcError(4002, `count exceeds maximum value. value: ${limit}, max: ${maxPageKeys}`);
  }
  const wanted = typeof prefix === "string" ? hexParam(prefix, "prefix") : new Uint8Array();
  const after = typeof start === "string" ? hexParam(start, "startKey") : undefined;
  const keys: Hex[] = [];
  for (const [key] of state.main.entries(wanted)) {
    if (keys.length >= limit) break;
    if (after === undefined || compareBytes(key, after) > 0) keys.push(toHex(key));
  }
  return keys;
}

/** Runtime API `Metadata` of metadata of version 14, by method. */
export const metadataApi: Readonly<Record<string, (metadata: Uint8Array, args: Uint8Array) => Uint8Array>> = {
  Metadata_metadata: (metadata) => bytes.enc(metadata),
  Metadata_metadata_versions: () => list(u32).enc([14]),
  Metadata_metadata_at_version: (metadata, args) =>
    Option(bytes).enc(decodeStrict(u32, args, "arguments") === 14 ? metadata : undefined),
};

/** What a node answers when the runtime cannot be executed. */
export function executionFailed(why: string): RpcError {
  return new RpcError(4003, `Client error: Execution failed: ${why}`);
}

/** Runs one API. @throws {RpcError} 4003 for unknown methods, undecodable arguments, pruned blocks. */
function callRuntime(
  node: HubNode,
  method: string,
  args: Uint8Array,
  block: SimulatedBlock,
): Uint8Array {
  const state = clientErrors(() => node.chain.stateOf(block));
  const trap = (): Error => executionFailed(`Execution aborted due to trap in ${method}`);
  return converted(ScaleError, trap, () => {
    if (method === "TaggedTransactionQueue_validate_transaction") {
      return validateTransaction(node, args, state);
    }
    if (method === "IsmpRuntimeApi_host_state_machine") {
      return stateMachineCodec.enc(node.identity.stateMachine);
    }
    const ofMetadata = Object.hasOwn(metadataApi, method) ? metadataApi[method] : undefined;
    if (ofMetadata === undefined) throw executionFailed(`Exported method ${method} is not found`);
    return ofMetadata(node.runtime.metadataAfter(block.header.number).bytes, args);
  });
}

const validTransactionCodec = Struct({
  priority: u64,
  requires: list(bytes),
  provides: list(bytes),
  longevity: u64,
});

/** Arguments: source (0 to 2), extrinsic with its length, block hash. */
function validateTransaction(node: HubNode, args: Uint8Array, state: Snapshot): Uint8Array {
  if ((args[0] ?? 3) > 2 || args.length < 34) throw new ScaleError("invalid", "arguments");
  const extrinsic = args.slice(1, args.length - 32);
  try {
    const { priority, provides, longevity } = node.runtime.validate(state, extrinsic);
    const valid = validTransactionCodec.enc({ priority, requires: [], provides, longevity });
    return concatBytes(Uint8Array.of(0), valid, Uint8Array.of(1));
  } catch (error) {
    if (!(error instanceof ValidityError)) throw error;
    return concatBytes(Uint8Array.of(1), error.encode());
  }
}

/** The methods. */
export function stateMethods(node: HubNode): RpcMethods {
  const { chain, runtime } = node;
  const ismpChild = childTrieKey(runtime.rules.childTrie);
  const isIsmpChild = (child: unknown): boolean => equalBytes(hexParam(child, "childStorageKey"), ismpChild);
  const stateAt = (at: unknown): Snapshot => {
    const block = blockParam(node, at);
    return clientErrors(() => chain.stateOf(block));
  };
  const metadataAt = (at: unknown): RuntimeMetadata =>
    runtime.metadataAfter(blockParam(node, at).header.number);
  return {
    ...storageMethods(node),
    state_getMetadata: ([at]) => toHex(metadataAt(at).bytes),
    state_getRuntimeVersion: ([at]) => {
      const { version } = metadataAt(at);
      return { ...version, systemVersion: version.stateVersion };
    },
    state_call: ([method, args, at]) => {
      if (typeof method !== "string") throw invalidParams("expected a method name");
      return toHex(callRuntime(node, method, hexParam(args, "args"), blockParam(node, at)));
    },
    state_getChildReadProof: ([child, keys, at]) => {
      if (!isIsmpChild(child)) throw new RpcError(4003, "Client error: Invalid child storage key");
      const block = blockParam(node, at);
      const state = clientErrors(() => chain.stateOf(block));
      const proof = [
        ...state.main.prove([ismpChild]),
        ...state.child.prove(hexesParam(keys, "keys")),
      ];
      return { at: block.hash, proof: [...new Set(proof.map(toHex))] };
    },
    childstate_getStorage: ([child, key, at]) => {
      const wanted = hexParam(key, "key");
      const state = stateAt(at);
      return isIsmpChild(child) ? hexOrNull(state.child.get(wanted)) : null;
    },
    childstate_getStorageEntries: ([child, keys, at]) => {
      const wanted = hexesParam(keys, "keys");
      const state = stateAt(at);
      const isKnown = isIsmpChild(child);
      return wanted.map((key) => isKnown ? hexOrNull(state.child.get(key)) : null);
    },
  };
}
