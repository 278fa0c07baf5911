/**
 * Limits of answers by method: one rule for HTTP, REST and WebSockets, so that a few kilobytes on the wire, or a small
 * text of very many values, never take gigabytes. Bytes count after decompression while they arrive, values and nesting
 * before the JSON is parsed. Pure.
 */
import type { JsonLimit } from "./json.ts";

/** Limit of one answer. */
export interface AnswerLimit extends JsonLimit {
  /** Bytes after decompression. */
  readonly bytes: number;
  /**
   * Fault of an answer with more bytes. `oversized`: no honest endpoint answers so. `too_large`: less can be asked for,
   * or others than the endpoint decide about the size (an application's logs, a call's inner calls).
   */
  readonly excess: "oversized" | "too_large";
}

/** Bounds of a method. */
interface Bounds {
  readonly mebibytes: number;
  /** Fewest bytes of text per value of an answer as large as allowed. Default {@link BYTES_PER_VALUE}. */
  readonly bytesPerValue?: number;
  readonly depth?: number;
}

const MEBIBYTE = 1024 * 1024;
/** Of methods that are not listed: heights, hashes, headers, balances, statuses. */
const ORDINARY: Bounds = { mebibytes: 1 };
/** Logs, traces and blocks have forty and more. */
const BYTES_PER_VALUE = 24;
/** Levels of ordinary answers, with the envelope and a batch's array. */
const DEPTH = 32;
/** Of traces: 1,024 calls in each other (Ethereum's yellow paper, section 9.1), each an object in an array. */
const TRACE_DEPTH = 2_200;
/** Maximum for a batch that has no larger call, mebibytes: one with more is asked for in parts. */
const BATCH_MEBIBYTES = 16;

const LARGE: Readonly<Record<string, Bounds>> = {
  // EVM
  debug_traceCall: { mebibytes: 32, depth: TRACE_DEPTH },
  eth_call: { mebibytes: 8 },
  eth_estimateGas: { mebibytes: 8 }, // errors carry revert data
  eth_getBlockByHash: { mebibytes: 4 },
  eth_getBlockByNumber: { mebibytes: 4 },
  eth_getLogs: { mebibytes: 32 },
  eth_getProof: { mebibytes: 16 },
  eth_getTransactionReceipt: { mebibytes: 16 },
  eth_simulateV1: { mebibytes: 32 },
  // Substrate; nodes answer with at most 15 MiB unless configured otherwise
  author_pendingExtrinsics: { mebibytes: 32 },
  chain_getBlock: { mebibytes: 32 },
  childstate_getStorage: { mebibytes: 16 },
  childstate_getStorageEntries: { mebibytes: 16 },
  grandpa_proveFinality: { mebibytes: 8 }, // the votes of a thousand voters take 0.3, a session's headers some more
  offchain_localStorageGet: { mebibytes: 16 },
  state_call: { mebibytes: 32 },
  state_getChildReadProof: { mebibytes: 32 },
  state_getMetadata: { mebibytes: 16 },
  state_getReadProof: { mebibytes: 32 },
  state_getStorage: { mebibytes: 32 },
  state_queryStorage: { mebibytes: 32 },
  state_queryStorageAt: { mebibytes: 32 },
  // Methods that answer bytes as arrays of numbers: "7," is a value
  ismp_queryChildTrieProof: { mebibytes: 16, bytesPerValue: 2 },
  ismp_queryEventsWithMetadata: { mebibytes: 32, bytesPerValue: 2 },
  ismp_queryRequests: { mebibytes: 32, bytesPerValue: 2 },
  ismp_queryResponses: { mebibytes: 32, bytesPerValue: 2 },
  ismp_queryStateProof: { mebibytes: 16, bytesPerValue: 2 },
  mmr_generateProof: { mebibytes: 16, bytesPerValue: 2 },
  mmr_queryProof: { mebibytes: 16, bytesPerValue: 2 },
  // Web3Signer: the keys of all accounts, of 133 bytes each
  "eth1/publicKeys": { mebibytes: 4 },
  // Beacon nodes; whole states are read as streams (state_stream.ts), which keep nothing
  "blinded_blocks/{id}": { mebibytes: 32 },
  "blocks/{id}": { mebibytes: 32 },
  "light_client/updates": { mebibytes: 16 },
};

/**
 * Limit of the answer to one call, or to several in one request.
 * @param maxBytes maximum of the configuration (`max_rpc_payload_size`), if any
 */
export function answerLimit(calls: readonly { readonly method: string }[], maxBytes = Infinity): AnswerLimit {
  const bounds = calls.map(({ method }) => LARGE[method] ?? ORDINARY);
  const largest = Math.max(...bounds.map(({ mebibytes }) => mebibytes));
  const sum = bounds.reduce((total, { mebibytes }) => total + mebibytes, 0);
  const bytes = MEBIBYTE * Math.min(sum, Math.max(largest, BATCH_MEBIBYTES));
  const densest = Math.min(...bounds.map(({ bytesPerValue = BYTES_PER_VALUE }) => bytesPerValue));
  const isAdjustable = calls.length > 1 || bytes > maxBytes || calls.some(({ method }) => method in LARGE);
  return {
    bytes: Math.min(bytes, maxBytes),
    values: Math.floor(bytes / densest),
    depth: Math.max(...bounds.map(({ depth = DEPTH }) => depth)),
    excess: isAdjustable ? "too_large" : "oversized",
  };
}
