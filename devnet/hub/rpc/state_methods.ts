/**
 * `state_*` and `childstate_*` methods.
 */
import { equalBytes, toHex } from "../../../src/core/encoding/bytes.ts";
import { childTrieKey } from "../../../src/core/ismp/storage_keys.ts";
import type { HubNode } from "../node.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import type { Snapshot } from "../storage.ts";
import { invalidParams, RpcError } from "./json_rpc.ts";
import { blockParam, clientErrors, type RpcMethods, RpcSubscription } from "./method.ts";
import { hexParam, listParam } from "./params.ts";
import { callRuntime } from "./state_call.ts";
import { hexOrNull, storageMethods } from "./storage_methods.ts";

function versionOf({ version }: RuntimeMetadata): unknown {
  return { ...version, systemVersion: version.stateVersion };
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
  const version = ([at]: readonly unknown[]): unknown => versionOf(metadataAt(at));
  const metadataAt = (at: unknown): RuntimeMetadata =>
    runtime.metadataAfter(blockParam(node, at).header.number);
  return {
    ...storageMethods(node),
    state_getMetadata: ([at]) => toHex(metadataAt(at).bytes),
    state_getRuntimeVersion: version,
    chain_getRuntimeVersion: version,
    state_subscribeRuntimeVersion: () =>
      new RpcSubscription("state_runtimeVersion", (send) => {
        let announced = metadataAt(undefined);
        send(versionOf(announced));
        return node.follow(() => {
          const current = metadataAt(undefined);
          if (current !== announced) send(versionOf(current));
          announced = current;
        });
      }),
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
        ...state.child.prove(listParam(keys, "keys", hexParam)),
      ];
      return { at: block.hash, proof: [...new Set(proof.map(toHex))] };
    },
    childstate_getStorage: ([child, key, at]) => {
      const wanted = hexParam(key, "key");
      const state = stateAt(at);
      return isIsmpChild(child) ? hexOrNull(state.child.get(wanted)) : null;
    },
    childstate_getStorageEntries: ([child, keys, at]) => {
      const wanted = listParam(keys, "keys", hexParam);
      const state = stateAt(at);
      const isKnown = isIsmpChild(child);
      return wanted.map((key) => isKnown ? hexOrNull(state.child.get(key)) : null);
    },
  };
}
