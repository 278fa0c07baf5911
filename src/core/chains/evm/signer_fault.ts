/** Faults of remote signers, each with what an operator can do. Pure. */
import type { Address } from "../../evm/address.ts";
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import { type FaultPlace, reactionTo, RpcFault } from "../../rpc/fault.ts";

/** A remote signer that did not sign what it was asked to. Another attempt later may succeed. */
export class SignerFault extends RpcFault {
  /** What happened: a sentence without a full stop. */
  readonly found: string;
  /** What helps: the same. */
  readonly advice: string;

  constructor(
    code: "signer_unavailable" | "wrong_signature",
    where: FaultPlace,
    { found, advice, cause }: {
      readonly found: string;
      readonly advice: string;
      readonly cause?: RpcFault | undefined;
    },
  ) {
    super(code, reactionTo(code), where, {
      detail: `${found}; ${advice}`,
      retryAfterMs: cause?.retryAfterMs,
      cause,
    });
    this.found = found;
    this.advice = advice;
  }
}

/** Status of Web3Signer for requests by a host name that it was not told (its HostAllowListHandler). */
const UNLISTED_HOST = "HTTP 403";
const UNAUTHORIZED = "HTTP 401";

/** What helps when the signer gave no signature. */
export function adviseOnSilence({ code, detail }: RpcFault, address: Address): string {
  switch (code) {
    case "unreachable":
      return "check that Web3Signer runs, and the URL behind web3signer: in `signer`";
    case "not_found":
      return `load the key of ${address} into Web3Signer, or correct \`signer_address\``;
    case "missing_method":
      return detail === UNLISTED_HOST
        ? "start Web3Signer with the host name of its URL in --http-host-allowlist"
        : detail === UNAUTHORIZED
        ? "correct user name and password in the URL of `signer`"
        : "start Web3Signer with the command eth1, version 23.8 or newer";
    case "timeout":
    case "throttled":
    case "server_error":
      return "look at the log of Web3Signer, and at the vault that holds its keys";
    default:
      return "look at the log of Web3Signer, and check the URL behind web3signer: in `signer`";
  }
}

/** What helps when the signer answered something else than it was asked for. */
export function adviseOnMismatch(field: string, chain: StateMachine): string {
  return field === "chainId"
    ? `start a Web3Signer with --chain-id=${evmChainId(chain)} for this chain: each signs for one chain only`
    : "find out why before you trust this signer again: it, or something in front of it, changes what it signs";
}
