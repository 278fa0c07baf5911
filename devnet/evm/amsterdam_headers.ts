/** Headers of Amsterdam on top of those of an anvil, which ends with Prague (ethereum/EIPs: EIPS/eip-{7928,7843}.md). */
import { keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { HeaderRule } from "./rewritten_headers.ts";

/** When the fork is; may be set while no block of it exists. */
export interface AmsterdamFork {
  /** Number of its first block. */
  fromBlock: number;
}

const noRequests = toHash256("0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");

/** Headers of 21 fields before the fork, and of 23 from it on. */
export function amsterdamHeaderRule(fork: AmsterdamFork): HeaderRule {
  return (header) => {
    const zero = toHash256(new Uint8Array(32));
    const prague = {
      ...header,
      blobGasUsed: header.blobGasUsed ?? 0n,
      excessBlobGas: header.excessBlobGas ?? 0n,
      parentBeaconBlockRoot: header.parentBeaconBlockRoot ?? zero,
      requestsHash: header.requestsHash ?? noRequests,
    };
    if (Number(header.number) < fork.fromBlock) return prague;
    const accesses = keccak256(new TextEncoder().encode(`accesses of block ${header.number}`));
    return { ...prague, blockAccessListHash: toHash256(accesses), slotNumber: header.number };
  };
}
