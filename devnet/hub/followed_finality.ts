/** What a Substrate chain of a devnet got as updates of the hub, read from its blocks through its node. */
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { bytes, decodeStrict, ScaleError } from "../../src/core/encoding/scale.ts";
import { decodeGrandpaState } from "../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { type IsmpMessage, ismpMessagesCodec } from "../../src/core/ismp/ismp_message.ts";
import type { ConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeBareExtrinsic } from "./extrinsic.ts";
import type { Hub } from "./hub.ts";
import { resultHttp } from "./json_rpc_client.ts";

/** The finality that a client has followed up to a block. */
export interface FollowedFinality {
  /** Of the relay chain. */
  readonly height: number;
  readonly setId: bigint;
}

/** Messages of updates, as extrinsics hold them. */
export type ConsensusUpdate = Extract<IsmpMessage, { readonly tag: "Consensus" }>["value"];

/** What a GRANDPA client trusts after a block, by default the newest one. */
export async function readFinality(
  node: Hub,
  stateId: ConsensusStateId,
  block = node.best.number,
): Promise<FollowedFinality> {
  const params = [toHex(ismpKeys.consensusStates(stateId)), await hashOf(node, block)];
  const stored = String(await resultHttp(node.httpUrl, "state_getStorage", params));
  const state = decodeGrandpaState(decodeStrict(bytes, fromHex(stored), "ConsensusState"));
  return { height: state.latestHeight, setId: state.currentSetId };
}

/** The updates in a block, one list for each extrinsic that has some. */
export async function readUpdatesIn(
  node: Hub,
  block: number,
): Promise<readonly (readonly ConsensusUpdate[])[]> {
  const answer = Object(await resultHttp(node.httpUrl, "chain_getBlock", [await hashOf(node, block)]));
  const extrinsics: readonly string[] = answer.block.extrinsics;
  return extrinsics.map((extrinsic) => updatesIn(fromHex(extrinsic))).filter(({ length }) => length > 0);
}

async function hashOf(node: Hub, block: number): Promise<unknown> {
  return await resultHttp(node.httpUrl, "chain_getBlockHash", [block]);
}

/** Those of `Ismp.handle_unsigned`; inherents and other calls have none. */
function updatesIn(extrinsic: Uint8Array): readonly ConsensusUpdate[] {
  try {
    const args = decodeBareExtrinsic(extrinsic).slice(2);
    const messages = decodeStrict(ismpMessagesCodec, args, "Messages");
    return messages.flatMap((message) => message.tag === "Consensus" ? [message.value] : []);
  } catch (error) {
    if (error instanceof ScaleError) return [];
    throw error;
  }
}
