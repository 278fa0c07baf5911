/**
 * Decodes revert data to named codes, also inside `batchCall`. Source: polytope-labs/hyperbridge:
 * evm/src/core/HandlerV2.sol; Solidity ABI specification (Error, Panic).
 */
import { decodeErrorResult, parseAbi } from "viem";
import type { Hex } from "../encoding/bytes.ts";
import {
  beefyVerifierAbi,
  consensusRouterAbi,
  evmHostAbi,
  handlerV2Abi,
  hostManagerAbi,
} from "./host_abi.ts";

const solidityAbi = parseAbi(["error Error(string reason)", "error Panic(uint256 code)"]);

const errors = [
  ...solidityAbi,
  ...evmHostAbi,
  ...handlerV2Abi,
  ...hostManagerAbi,
  ...consensusRouterAbi,
  ...beefyVerifierAbi,
].filter((item) => item.type === "error");

/** Name of an error declared by the host's contracts. */
export type HostErrorName = Exclude<typeof errors[number]["name"], "Error" | "Panic">;

/** Decoded revert. */
export type Revert =
  | { readonly code: Exclude<HostErrorName, "BatchCallFailed"> }
  | {
    readonly code: "BatchCallFailed";
    /** Zero-based entry of the batch that failed. */
    readonly index: bigint;
    readonly inner: Revert;
  }
  /** `require` with a text. */
  | { readonly code: "Error"; readonly reason: string }
  /** Solidity panic, e.g. 0x11 arithmetic overflow. */
  | { readonly code: "Panic"; readonly panic: bigint }
  /** No revert data: out of gas, or a bare revert. */
  | { readonly code: "empty" }
  /** Data of an error that no known contract declares, or that does not decode. */
  | { readonly code: "unknown"; readonly data: Hex };

/** Inner reverts are followed this deep; a batch inside a batch cannot happen on HandlerV2. */
const maxDepth = 4;

/** Reads revert data; never throws. */
export function decodeRevert(data: Hex, depth = 0): Revert {
  if (data === "0x") return { code: "empty" };
  try {
    const decoded = decodeErrorResult({ abi: errors, data });
    switch (decoded.errorName) {
      case "Error":
        return { code: "Error", reason: decoded.args[0] };
      case "Panic":
        return { code: "Panic", panic: decoded.args[0] };
      case "BatchCallFailed": {
        const [index, reason] = decoded.args;
        if (depth >= maxDepth) break;
        return { code: "BatchCallFailed", index, inner: decodeRevert(reason, depth + 1) };
      }
      default:
        return { code: decoded.errorName };
    }
  } catch {
    // The library reports everything that it cannot decode by throwing, errors of other contracts too.
  }
  return { code: "unknown", data };
}

/** The revert that a batch failed for, or the revert itself. */
export function innermostRevert(revert: Revert): Exclude<Revert, { code: "BatchCallFailed" }> {
  return revert.code === "BatchCallFailed" ? innermostRevert(revert.inner) : revert;
}

/** Short text for logs: code and batch index, e.g. `BatchCallFailed[1]: DuplicateMessage`. */
export function describeRevert(revert: Revert): string {
  if (revert.code === "BatchCallFailed") {
    return `BatchCallFailed[${revert.index}]: ${describeRevert(revert.inner)}`;
  }
  if (revert.code === "Error") return `Error: ${revert.reason.slice(0, 200)}`;
  if (revert.code === "Panic") return `Panic: 0x${revert.panic.toString(16)}`;
  if (revert.code === "unknown") return `unknown: ${revert.data.slice(0, 10)}`;
  return revert.code;
}
