// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Root of a Merkle mountain range from some of its leaves and the missing siblings.
// Rules: perfect subtrees largest first, siblings consumed level by level from left to right, peaks bagged from the
// right as keccak256(accumulator ++ peak to its left). The prover bags trailing leafless peaks into one item.
// Facts: @polytope-labs/solidity-merkle-trees 1.1.0: src/MerkleMountainRange.sol (order of items, errors).
library MerkleMountain {
    error ProofExhausted();
    error EmptyTree();
    error OutOfBoundsLeaves();
    error UnsortedLeaves();
    error EmptyLeaves();
    error UnconsumedProof();

    struct Leaf {
        uint256 index;
        bytes32 hash;
    }

    // Leaves and items that are still to be used.
    struct Cursor {
        uint256 leaf;
        uint256 item;
    }

    function root(bytes32[] memory items, Leaf[] memory leaves, uint256 leafCount) internal pure returns (bytes32) {
        if (leafCount == 0) revert EmptyTree();
        if (leaves.length == 0) revert EmptyLeaves();
        for (uint256 i = 1; i < leaves.length; ++i) {
            if (leaves[i - 1].index >= leaves[i].index) revert UnsortedLeaves();
        }

        Cursor memory cursor;
        bytes32[] memory peaks = new bytes32[](256);
        uint256 peakCount;
        uint256 start;
        for (uint256 rest = leafCount; rest != 0;) {
            uint256 size = largestPowerOfTwo(rest);
            rest -= size;
            uint256 count = leavesBelow(leaves, cursor.leaf, start + size);
            if (count == 0) {
                // Used up: the remaining peaks are inside the item taken last.
                if (cursor.item == items.length) break;
                peaks[peakCount++] = items[cursor.item++];
            } else {
                peaks[peakCount++] = peak(items, leaves, cursor, count, start, size);
            }
            start += size;
        }
        if (cursor.leaf != leaves.length) revert OutOfBoundsLeaves();
        if (cursor.item != items.length) revert UnconsumedProof();
        return bag(peaks, peakCount);
    }

    // Walks `count` leaves of one perfect subtree up to its root.
    function peak(
        bytes32[] memory items,
        Leaf[] memory leaves,
        Cursor memory cursor,
        uint256 count,
        uint256 start,
        uint256 size
    ) private pure returns (bytes32) {
        uint256[] memory indexes = new uint256[](count);
        bytes32[] memory hashes = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            indexes[i] = leaves[cursor.leaf + i].index - start;
            hashes[i] = leaves[cursor.leaf + i].hash;
        }
        cursor.leaf += count;
        for (uint256 width = size; width > 1; width >>= 1) {
            count = climb(items, cursor, indexes, hashes, count);
        }
        return hashes[0];
    }

    // Replaces the nodes of one level by their parents, in place, and returns how many parents there are.
    function climb(
        bytes32[] memory items,
        Cursor memory cursor,
        uint256[] memory indexes,
        bytes32[] memory hashes,
        uint256 count
    ) private pure returns (uint256 parents) {
        for (uint256 i = 0; i < count; ++i) {
            uint256 index = indexes[i];
            bytes32 node = hashes[i];
            bytes32 sibling;
            if (i + 1 < count && indexes[i + 1] == index ^ 1) {
                sibling = hashes[++i];
            } else {
                if (cursor.item == items.length) revert ProofExhausted();
                sibling = items[cursor.item++];
            }
            hashes[parents] = index & 1 == 0 ? pair(node, sibling) : pair(sibling, node);
            indexes[parents++] = index >> 1;
        }
    }

    function bag(bytes32[] memory peaks, uint256 count) private pure returns (bytes32 accumulator) {
        accumulator = peaks[count - 1];
        for (uint256 i = count - 1; i != 0; --i) {
            accumulator = pair(accumulator, peaks[i - 1]);
        }
    }

    function leavesBelow(Leaf[] memory leaves, uint256 from, uint256 end) private pure returns (uint256 count) {
        while (from + count < leaves.length && leaves[from + count].index < end) ++count;
    }

    function largestPowerOfTwo(uint256 value) private pure returns (uint256 power) {
        power = 1;
        while (value >= power << 1 && power << 1 != 0) power <<= 1;
    }

    function pair(bytes32 left, bytes32 right) private pure returns (bytes32 parent) {
        assembly ("memory-safe") {
            mstore(0x00, left)
            mstore(0x20, right)
            parent := keccak256(0x00, 0x40)
        }
    }
}
