/**
 * Maps the contracts' reverts and a node's faults to refusals of a delivery. Pure. Source: polytope-labs/hyperbridge:
 * evm/src/core/HandlerV2.sol; docs/protocol/evm-host.md sections 3 and 7.
 */
import type { Hex } from "../../encoding/bytes.ts";
import { beefyVerifierAbi, consensusRouterAbi } from "../../evm/host_abi.ts";
import { decodeRevert, describeRevert, innermostRevert, type Revert } from "../../evm/reverts.ts";
import type { RpcFault } from "../../rpc/call.ts";
import type { Refusal, RefusalCode } from "../submission.ts";

const codes: ReadonlyMap<Revert["code"], RefusalCode> = new Map<Revert["code"], RefusalCode>([
  // What verifiers say is about a proof, except for the sets that they know.
  ...[...consensusRouterAbi, ...beefyVerifierAbi].flatMap((item) =>
    item.type === "error" ? [[item.name, "bad_proof"] as const] : []
  ),
  ["DuplicateMessage", "duplicate"],
  ["MessageTimedOut", "timed_out"],
  ["InvalidProof", "bad_proof"],
  ["EmptyLeaves", "bad_proof"],
  ["EmptyTree", "bad_proof"],
  ["UnsortedLeaves", "bad_proof"],
  ["ProofExhausted", "bad_proof"],
  ["UnconsumedProof", "bad_proof"],
  ["OutOfBoundsLeaves", "bad_proof"],
  ["StateCommitmentNotFound", "not_ready"],
  ["ChallengePeriodNotElapsed", "not_ready"],
  ["HostFrozen", "host_frozen"],
  ["FrozenHost", "host_frozen"],
  // The host rejects everything that does not come from its handler.
  ["UnauthorizedAction", "handler_replaced"],
  ["ConsensusClientExpired", "client_expired"],
  ["InvalidMessageDestination", "bad_destination"],
  ["InvalidAddressLength", "bad_destination"],
  ["UnknownMessage", "unknown_message"],
  ["UnknownRequest", "unknown_message"],
  ["UnknownAuthoritySet", "unknown_authority_set"],
]);

/** Refusal for revert data; `steps` is the number of steps of the delivery. */
export function revertToRefusal(data: Hex, steps: number): Refusal {
  const revert = decodeRevert(data);
  const refusal: Refusal = {
    code: codes.get(innermostRevert(revert).code) ?? "unspecified",
    detail: describeRevert(revert),
  };
  if (steps === 1) return { ...refusal, step: 0 };
  return revert.code === "BatchCallFailed" ? { ...refusal, step: Number(revert.index) } : refusal;
}

/** Refusal of a transaction by a pool; `undefined`: the fault says nothing about the transaction. */
export function poolRefusal(fault: RpcFault): Refusal | undefined {
  const detail = fault.detail ?? fault.code;
  switch (fault.code) {
    case "too_large":
      return { code: "too_large", detail };
    case "nonce_too_high":
    case "refused":
      return { code: "unspecified", detail };
    default:
      return faultToRefusal(fault, 1);
  }
}

/** Refusal for a fault of a node, `undefined` if it says nothing about the delivery. */
export function faultToRefusal(fault: RpcFault, steps: number): Refusal | undefined {
  switch (fault.code) {
    case "reverted":
      return fault.data === undefined
        ? { code: "unspecified", detail: fault.detail ?? fault.code }
        : revertToRefusal(fault.data, steps);
    case "insufficient_funds":
      return { code: "insufficient_funds", detail: fault.detail ?? fault.code };
    default:
      return undefined;
  }
}
