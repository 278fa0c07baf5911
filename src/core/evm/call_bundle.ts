/**
 * Many contract reads as one call: its data is code that runs as if it created a contract, reads one contract after the
 * other, and returns what they said. Nothing has to be deployed, and all reads see one block. Pure. Start reading at
 * {@link encodeBundle}.
 */
import { concatBytes, fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import type { Address } from "./address.ts";

/** Read of a contract: its code runs with `data`, and cannot change anything. */
export interface BundledRead {
  readonly to: Address;
  /** Up to 65,535 bytes. */
  readonly data: Hex;
}

/**
 * The code, in steps. It keeps two numbers on the stack: `out`, where the next answer goes in memory, and `at`, where
 * the next read begins behind the code. Opcodes are those that every EVM chain has had since 2019.
 */
const CODE = fromHex(
  "0x" + [
    "6000604f", // out = 0, at = 79: the length of this code
    "5b38811015604a57", // 4: while at < CODESIZE, else to 74
    "6016818339601601", // CODECOPY(out, at, 22), at += 22
    "81518060f01c9060501c", // length = MLOAD(out) >> 240, to = MLOAD(out) >> 80
    "81838539", // CODECOPY(out, at, length)
    "600060008386845afa", // STATICCALL(GAS, to, out, length, 0, 0)
    "8453500190", // MSTORE8(out, its success), at += length
    "3d60e81b8160010152", // MSTORE(out + 1, RETURNDATASIZE << 232)
    "3d6000826004013e", // RETURNDATACOPY(out + 4, 0, RETURNDATASIZE)
    "3d0160040190600456", // out += RETURNDATASIZE + 4, back to 4
    "5b506000f3", // 74: RETURN(0, out)
  ].join(""),
);

/** Bytes of an answer before what the contract returned: whether it did not revert, and the length. */
const ANSWER_HEADER_BYTES = 1 + 3;

/**
 * Data of a call without `to` that makes these reads. EIP-3860 allows it 49,152 bytes, and EIP-170 allows its result
 * 24,576 (ethereum/EIPs: EIPS/eip-3860.md, EIPS/eip-170.md).
 */
export function encodeBundle(reads: readonly BundledRead[]): Hex {
  const parts = reads.map(({ to, data }) => {
    const bytes = fromHex(data);
    return concatBytes(Uint8Array.of(bytes.length >> 8, bytes.length & 255), fromHex(to), bytes);
  });
  return toHex(concatBytes(CODE, ...parts));
}

/** What a contract answered to one read of a bundle: what it returned; `undefined` when it reverted. */
export type BundledAnswer = Hex | undefined;

/** Answers in the result of a bundle of `count` reads; `undefined` when it is no such result. */
export function decodeBundleResult(result: Hex, count: number): readonly BundledAnswer[] | undefined {
  const bytes = fromHex(result);
  const answers: BundledAnswer[] = [];
  let at = 0;
  while (at + ANSWER_HEADER_BYTES <= bytes.length) {
    const [success = 2, first = 0, second = 0, third = 0] = bytes.subarray(at, at + ANSWER_HEADER_BYTES);
    const start = at + ANSWER_HEADER_BYTES;
    const end = start + (first << 16) + (second << 8) + third;
    if (success > 1 || end > bytes.length) return undefined;
    answers.push(success === 1 ? toHex(bytes.subarray(start, end)) : undefined);
    at = end;
  }
  return at === bytes.length && answers.length === count ? answers : undefined;
}
