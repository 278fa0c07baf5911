/** Parts of updates: the block of a claim with the storage root of the message passer in it, and the verified whole. */
import { ClaimRefusal } from "../../rollup/claims.ts";
import { type OpStackConsensusState, type OpStackProof, opStackUpdateCodec } from "./spec/update.ts";
import { decodeOpStackUpdate, type OpStackHubView, verifyOpStackUpdate } from "./spec/verify_update.ts";
import { type ClaimedL2Block, type ClaimedOutput, withdrawalRootOf } from "./spec/build_update.ts";
import { accountNodesOf, provenStorageRoot } from "../../rollup/spec/l1_storage.ts";
import type { Address } from "../../../core/evm/address.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { EvmReader, TrustedBlock } from "../../evm_reader.ts";

/**
 * Fetches the block that a claim is about. Its header contains the storage root since Isthmus; otherwise the endpoint
 * must prove it, which takes the state of that block. The truth of the claim is not decided here. @throws
 * {ClaimRefusal} `block_does_not_exist`, `l2_state_not_served`
 */
export async function fetchClaimedBlock(
  { l2, messageParser }: { readonly l2: EvmReader; readonly messageParser: Address },
  claimed: ClaimedOutput,
  signal: AbortSignal,
): Promise<ClaimedL2Block> {
  const found = await l2.fetchHeader(claimed.l2Height, signal);
  if (found === undefined) throw new ClaimRefusal("block_does_not_exist", "claim");
  const { header } = found;
  const known = withdrawalRootOf(header, claimed.outputRoot);
  if (known !== undefined) return { header, withdrawalStorageRoot: known };
  const block = { height: header.number, stateRoot: header.stateRoot };
  try {
    const [proof] = await l2.fetchProofs([{ account: messageParser, slots: [] }], block, signal);
    if (proof === undefined) throw new Error("A proof without an answer");
    return {
      header,
      withdrawalStorageRoot: provenStorageRoot(accountNodesOf(proof), header.stateRoot, messageParser),
    };
  } catch (fault) {
    // A claim about an old block must not block the claims that can be checked.
    const isGone = fault instanceof RpcFault && (fault.code === "pruned" || fault.code === "missing_method");
    throw isGone ? new ClaimRefusal("l2_state_not_served", "claim", { cause: fault }) : fault;
  }
}

/** Encodes an update and verifies it as the hub will. @param l1 the block in whose state it is proved. @throws {RollupUpdateError} */
export function verifiedUpdate(
  state: OpStackConsensusState,
  l1: TrustedBlock,
  proof: OpStackProof,
  hub: Partial<OpStackHubView>,
): Uint8Array {
  const encoded = opStackUpdateCodec.enc({ l1Height: l1.height, proof });
  verifyOpStackUpdate(state, decodeOpStackUpdate(encoded), {
    l1StateRoot: l1.stateRoot,
    disputeGames: undefined,
    outputOracle: undefined,
    blacklistedGames: new Set(),
    ...hub,
  });
  return encoded;
}
