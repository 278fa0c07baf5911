// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Root of a binary Merkle tree from some of its leaves and the missing siblings; an odd last node moves up unchanged.
// Facts: @polytope-labs/solidity-merkle-trees 1.1.0: src/MerkleMultiProof.sol (order of items, errors).
library MerkleTree {
    error EmptyTree();
    error LeafIndexOutOfBounds();
    error UnsortedLeaves();

    struct Leaf {
        uint256 index;
        bytes32 hash;
    }

    // The leaves are overwritten. Items left over are not noticed; one that is missing panics.
    function root(bytes32[] memory items, Leaf[] memory leaves, uint256 leafCount) internal pure returns (bytes32) {
        if (leafCount == 0) revert EmptyTree();
        for (uint256 i = 0; i < leaves.length; ++i) {
            if (leaves[i].index >= leafCount) revert LeafIndexOutOfBounds();
            if (i != 0 && leaves[i].index <= leaves[i - 1].index) revert UnsortedLeaves();
        }
        uint256 used;
        uint256 count = leaves.length;
        for (uint256 width = leafCount; width > 1; width = (width + 1) >> 1) {
            uint256 parents;
            for (uint256 i = 0; i < count; ++i) {
                uint256 index = leaves[i].index;
                bytes32 node = leaves[i].hash;
                if (i + 1 < count && leaves[i + 1].index == index ^ 1) {
                    node = pair(node, leaves[++i].hash);
                } else if (index ^ 1 < width) {
                    bytes32 sibling = items[used++];
                    node = index & 1 == 0 ? pair(node, sibling) : pair(sibling, node);
                }
                leaves[parents].hash = node;
                leaves[parents++].index = index >> 1;
            }
            count = parents;
        }
        return leaves[0].hash;
    }

    function pair(bytes32 left, bytes32 right) private pure returns (bytes32 parent) {
        assembly ("memory-safe") {
            mstore(0x00, left)
            mstore(0x20, right)
            parent := keccak256(0x00, 0x40)
        }
    }
}
