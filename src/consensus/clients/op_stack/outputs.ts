/** Outputs as claims: the newest in the oracle of a chain that has no dispute games yet is proved. Parts of both kinds. */
import {
  buildOutputOracleProof,
  type ClaimedL2Block,
  type ClaimedOutput,
  oracleProofSlots,
  withdrawalRootOf,
} from "./spec/build_update.ts";
import { decodeOutputProposed, OUTPUT_PROPOSED, type OutputProposed } from "./spec/claim_events.ts";
import { type OpStackConsensusState, type OpStackProof, opStackUpdateCodec } from "./spec/update.ts";
import { decodeOpStackUpdate, type OpStackHubView, verifyOpStackUpdate } from "./spec/verify_update.ts";
import { type ClaimKind, ClaimRefusal, type RollupClaim, type RollupDeps } from "../../rollup/claims.ts";
import { accountNodesOf, provenStorageRoot } from "../../rollup/spec/l1_storage.ts";
import type { EvmReader, TrustedBlock } from "../../evm_reader.ts";
import type { Address } from "../../../core/evm/address.ts";
import { RpcFault } from "../../../core/rpc/call.ts";

/** An output as a claim. */
export type OutputClaim = OutputProposed & RollupClaim;

/** The outputs of one rollup. @param oracle lower case. */
export function outputClaims(
  { l2 }: Pick<RollupDeps, "l2">,
  { messageParser }: { readonly messageParser: Address },
  { state, oracle }: { readonly state: OpStackConsensusState; readonly oracle: Address },
): ClaimKind<OutputClaim> {
  return {
    noun: "outputs",
    contract: oracle,
    topic0: OUTPUT_PROPOSED,
    decode: (log) => {
      const output = decodeOutputProposed(log, oracle);
      return output && { ...output, name: `output ${output.index}`, log };
    },
    plan: (open) => Promise.resolve(open.toSorted((a, b) => Number(b.index - a.index))),
    prove: async (output, { l1, block, signal }) => {
      const requests = [{ account: oracle, slots: oracleProofSlots(output) }];
      const [answer] = await l1.fetchProofs(requests, block, signal);
      if (answer === undefined) throw new Error("A proof is missing");
      const claimed = await fetchClaimedBlock({ l2, messageParser }, output, signal);
      const value = buildOutputOracleProof({ ...claimed, output, oracle: answer });
      const proof = verifiedUpdate(state, block, { tag: "OpL2Oracle", value }, { outputOracle: oracle });
      return { proof, height: output.l2Height };
    },
  };
}

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
