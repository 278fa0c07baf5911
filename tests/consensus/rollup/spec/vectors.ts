/**
 * Reads the rollup vectors into the types of the clients.
 */
import { fromHex, type Hash256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { ProofNodes } from "../../../../src/consensus/rollup/spec/l1_storage.ts";
import { type Address, toAddress } from "../../../../src/core/evm/address.ts";
import type { EvmBlockHeader } from "../../../../src/core/evm/block_header.ts";
import {
  evmStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";

/** The bytes with the lowest bit of one byte turned over. */
export function flipByte(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** The hash with its first bit turned over. */
export function flipHash(hash: Hash256): Hash256 {
  return toHash256(flipByte(fromHex(hash), 0));
}

/** The address with its last bit turned over. */
export function flipAddress(address: Address): Address {
  return toAddress(flipByte(fromHex(address), 19));
}

/** Every single change to a list of proof nodes that breaks a walk through all of them: bytes, cut, dropped. */
export function brokenNodes(nodes: ProofNodes): { readonly what: string; readonly nodes: ProofNodes }[] {
  return [
    { what: "all dropped", nodes: [] },
    ...nodes.flatMap((node, at) => [
      { what: `node ${at} dropped`, nodes: nodes.toSpliced(at, 1) },
      { what: `node ${at} without its end`, nodes: nodes.with(at, node.subarray(0, node.length - 1)) },
      { what: `node ${at} longer`, nodes: nodes.with(at, Uint8Array.from([...node, 0])) },
      ...Array.from(
        { length: node.length },
        (_, byte) => ({ what: `node ${at}, byte ${byte}`, nodes: nodes.with(at, flipByte(node, byte)) }),
      ),
    ]),
  ];
}

/** The header with one field changed, for every field that it has. */
export function changedHeaders(
  header: EvmBlockHeader,
): { readonly what: string; readonly header: EvmBlockHeader }[] {
  return Object.entries(header).flatMap(([field, value]) => {
    if (value === undefined) return [];
    const changed = typeof value === "bigint"
      ? value + 1n
      : value instanceof Uint8Array
      ? flipByte(value, value.length - 1)
      : toHex(flipByte(fromHex(value), 0));
    return [{ what: `header, ${field}`, header: { ...header, [field]: changed } }];
  });
}

/** `EVM-10/OPT0`. */
export const rollupId: StateMachineId = {
  stateMachine: evmStateMachine(10),
  consensusStateId: toConsensusStateId("OPT0"),
};

/** `EVM-1/ETH0`. */
export const l1Id: StateMachineId = {
  stateMachine: evmStateMachine(1),
  consensusStateId: toConsensusStateId("ETH0"),
};
