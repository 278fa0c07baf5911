/** Headers of an Arbitrum chain in the devnet, made on top of those of an anvil. */
import { fromHex, type Hash256, keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { HeaderRule } from "./rewritten_headers.ts";

/**
 * Headers as an Arbitrum chain has them: 16 fields, the send root as extra data.
 * @param sendRootOf of the block with this number.
 */
export function arbitrumHeaderRule(sendRootOf: (block: bigint) => Hash256 = defaultSendRoot): HeaderRule {
  return (header) => ({
    ...header,
    extraData: fromHex(sendRootOf(header.number)),
    withdrawalsRoot: undefined,
    blobGasUsed: undefined,
    excessBlobGas: undefined,
    parentBeaconBlockRoot: undefined,
    requestsHash: undefined,
  });
}

function defaultSendRoot(block: bigint): Hash256 {
  return toHash256(keccak256(new TextEncoder().encode(`send root ${block}`)));
}
