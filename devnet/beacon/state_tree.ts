/**
 * A beacon state as a Merkle tree that shares all that did not change with the states before it. Fields of Fulu are nodes
 * at depth 6. From Gloas on the state is a progressive container; Fulu's types read the fields that have the same type there.
 */
import {
  BranchNode,
  getNode,
  LeafNode,
  type Node,
  setNode,
  subtreeFillToContents,
  subtreeFillToDepth,
  Tree,
  zeroNode,
} from "@chainsafe/persistent-merkle-tree";
import type { ValueOf } from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";

/** SSZ types of the state's fields, by name. */
export const fields = ssz.fulu.BeaconState.fields;

/** The same of Gloas. */
export const gloasFields = ssz.gloas.BeaconState.fields;

/** Name of a field. */
export type BeaconStateField = keyof typeof fields;

/** All fields in their order. */
export const fieldNames: readonly string[] = Object.keys(fields);

const depth = 6;

/** True for a state of Gloas: the right child of its root is the bits of its active fields. */
export function isGloasState(state: Node): boolean {
  return state.right.isLeaf();
}

function indexOf(state: Node, name: BeaconStateField | keyof typeof gloasFields): bigint {
  return isGloasState(state)
    ? ssz.gloas.BeaconState.getPathInfo([name]).gindex
    : BigInt(2 ** depth + fieldNames.indexOf(name));
}

/** The subtree of a field. */
export function fieldNode(state: Node, name: BeaconStateField | keyof typeof gloasFields): Node {
  return getNode(state, indexOf(state, name));
}

/** The state with another subtree for a field. */
export function withField(state: Node, name: BeaconStateField | keyof typeof gloasFields, node: Node): Node {
  return setNode(state, indexOf(state, name), node);
}

/** A state of all its fields. */
export function stateOfFields(nodes: Readonly<Record<BeaconStateField, Node>>): Node {
  const ordered = Object.entries(nodes).sort(([a], [b]) => fieldNames.indexOf(a) - fieldNames.indexOf(b));
  return subtreeFillToContents(ordered.map(([, node]) => node), depth);
}

type FieldValues = { [Name in BeaconStateField]: ValueOf<(typeof fields)[Name]> };

/** The value of a field that has the same type in all forks. */
export function valueOf<Name extends BeaconStateField>(state: Node, name: Name): FieldValues[Name] {
  const type: { tree_toValue(node: Node): unknown } = fields[name];
  return type.tree_toValue(fieldNode(state, name)) as FieldValues[Name];
}

/** Subtrees of fields by their values. */
export function treesOf<Name extends BeaconStateField>(values: Pick<FieldValues, Name>): Record<Name, Node> {
  const trees = Object.entries(values).map(([name, value]) => {
    const type: { value_toTree(value: never): Node } = fields[name as Name];
    return [name, type.value_toTree(value as never)];
  });
  return Object.fromEntries(trees) as Record<Name, Node>;
}

/** The state with other values of fields that have the same type in all forks. */
export function withValues(state: Node, values: Partial<FieldValues>): Node {
  return Object.entries(treesOf(values as FieldValues)).reduce(
    (changed, [name, node]) => withField(changed, name as BeaconStateField, node),
    state,
  );
}

/** Root of a tree as text. */
export function rootOf(node: Node): Hash256 {
  return toHash256(node.root);
}

/** A leaf that holds a root. */
export function leafOf(root: Uint8Array): Node {
  return LeafNode.fromRoot(root);
}

/** A vector of 2^depth equal roots. */
export function evenVector(root: Uint8Array, vectorDepth: number): Node {
  return subtreeFillToDepth(leafOf(root), vectorDepth);
}

/** A vector of 2^depth zero roots. */
export function zeroVector(vectorDepth: number): Node {
  return zeroNode(vectorDepth);
}

/**
 * The vector with the same leaf at all of `from` up to but without `to`. Whole subtrees of it are one node, so that
 * thousands of empty slots cost a few hashes.
 */
export function fillRange(vector: Node, vectorDepth: number, from: number, to: number, leaf: Node): Node {
  const size = 2 ** vectorDepth;
  if (from >= to || to <= 0 || from >= size) return vector;
  if (from <= 0 && to >= size) return subtreeFillToDepth(leaf, vectorDepth);
  const half = size / 2;
  return new BranchNode(
    fillRange(vector.left, vectorDepth - 1, from, to, leaf),
    fillRange(vector.right, vectorDepth - 1, from - half, to - half, leaf),
  );
}

/** Siblings of the path to a generalized index, bottom up. */
export function branchOf(tree: Node, generalizedIndex: number): Uint8Array[] {
  return new Tree(tree).getSingleProof(BigInt(generalizedIndex));
}
