/**
 * Super roots: claims about the blocks of several chains at one second, made by dispute games since Upgrade 20. Source:
 * ethereum-optimism/optimism: packages/contracts-bedrock/src/libraries/Hashing.sol (hashSuperRootProof); rules in the
 * order of polytope-labs/hyperbridge: modules/ismp/clients/optimism/src/lib.rs; docs/protocol/evm-consensus.md
 * section 7.3.
 */
import { type Hash256, keccak256, toHash256, toHex } from "../../../../core/encoding/bytes.ts";
import { evmChainId, isEvm, type StateMachine } from "../../../../core/ismp/state_machine.ts";
import type { DisputeGameKind } from "./consensus_state.ts";

/** Version byte and timestamp. */
const HEAD_BYTES = 9;
/** Chain id and output root. */
const ENTRY_BYTES = 64;
const VERSION = 1;

/** Rule that the extra data of a game break, in the order in which the hub checks them. */
export type SuperRootFault =
  | "super_root_too_short"
  | "super_root_version"
  | "super_root_malformed"
  | "super_root_not_ascending"
  /** The super root is about other chains. */
  | "super_root_without_chain";

/** Claim about one chain in a super root. */
export interface SuperRootClaim {
  /** L2 time in Unix seconds: the claim is about the chain's newest block at or before it. */
  readonly timestampSec: bigint;
  readonly outputRoot: Hash256;
}

/** True for kinds of games whose root claim is a super root. The number of the game type does not tell. */
export function claimsSuperRoot({ tag }: DisputeGameKind): boolean {
  return tag === "SuperFaultDisputeGame" || tag === "SuperPermissionedDisputeGame";
}

/** The super root of a game: what its root claim must be. */
export function superRoot(extraData: Uint8Array): Hash256 {
  return toHash256(keccak256(extraData));
}

/** Reads the claim about a chain from the extra data of a game, or names the rule that they break. */
export function readSuperRoot(extraData: Uint8Array, chain: StateMachine): SuperRootClaim | SuperRootFault {
  if (extraData.length <= HEAD_BYTES) return "super_root_too_short";
  if (extraData[0] !== VERSION) return "super_root_version";
  if ((extraData.length - HEAD_BYTES) % ENTRY_BYTES !== 0) return "super_root_malformed";
  let previous = -1n;
  let outputRoot: Hash256 | undefined;
  for (let at = HEAD_BYTES; at < extraData.length; at += ENTRY_BYTES) {
    const chainId = BigInt(toHex(extraData.subarray(at, at + 32)));
    if (chainId <= previous) return "super_root_not_ascending";
    previous = chainId;
    if (isEvm(chain) && chainId === BigInt(evmChainId(chain))) {
      outputRoot = toHash256(extraData.subarray(at + 32, at + ENTRY_BYTES));
    }
  }
  if (outputRoot === undefined) return "super_root_without_chain";
  return { timestampSec: BigInt(toHex(extraData.subarray(1, HEAD_BYTES))), outputRoot };
}
