// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Looks one key up in a Substrate trie whose nodes are hashed with Keccak-256.
// Node kinds by header byte: 00 empty, 01 leaf, 10 branch, 11 branch with value, 001 leaf with hashed value,
// 0001 branch with hashed value (paritytech/trie: trie-db; paritytech/polkadot-sdk: primitives/trie/src/node_header.rs).
library KeccakTrie {
    struct Node {
        bool isEmpty;
        bool isBranch;
        bool hasValue;
        bool isValueHashed;
        // Offset of the partial key (in bytes) and its length (in nibbles).
        uint256 partialAt;
        uint256 partialLength;
        // Offset of what follows the partial key.
        uint256 restAt;
    }

    // Value under `key`, empty when absent. The proof must hold every node on the way, in any order.
    function lookup(bytes32 root, bytes[] memory proof, bytes memory key) internal pure returns (bytes memory) {
        bytes memory encoded = find(proof, root);
        uint256 nibble;
        while (true) {
            Node memory node = decode(encoded);
            if (node.isEmpty) return "";
            uint256 left = key.length * 2 - nibble;
            if (!node.isBranch && left != node.partialLength) return "";
            if (left < node.partialLength || !matches(encoded, node, key, nibble)) return "";
            nibble += node.partialLength;
            if (!node.isBranch) return value(proof, encoded, node, node.restAt);
            if (nibble == key.length * 2) return node.hasValue ? value(proof, encoded, node, node.restAt + 2) : bytes("");
            (bool exists, bytes memory next) = child(encoded, node, nibbleAt(key, nibble));
            if (!exists) return "";
            nibble += 1;
            encoded = next.length == 32 ? find(proof, bytes32(next)) : next;
        }
        return "";
    }

    function find(bytes[] memory proof, bytes32 hash) private pure returns (bytes memory) {
        for (uint256 i = 0; i < proof.length; ++i) {
            if (keccak256(proof[i]) == hash) return proof[i];
        }
        revert("Incomplete Proof!");
    }

    function decode(bytes memory encoded) private pure returns (Node memory node) {
        uint8 header = uint8(encoded[0]);
        if (header == 0) {
            node.isEmpty = true;
            return node;
        }
        uint8 mask = 0x3f;
        if (header >> 6 == 1) {
            node.hasValue = true;
        } else if (header >> 6 == 2) {
            node.isBranch = true;
        } else if (header >> 6 == 3) {
            node.isBranch = true;
            node.hasValue = true;
        } else if (header >> 5 == 1) {
            node.hasValue = true;
            node.isValueHashed = true;
            mask = 0x1f;
        } else {
            require(header >> 4 == 1, "Bad Format!");
            node.isBranch = true;
            node.hasValue = true;
            node.isValueHashed = true;
            mask = 0x0f;
        }
        node.partialLength = header & mask;
        node.partialAt = 1;
        if (node.partialLength == mask) {
            uint8 more = 255;
            while (more == 255) {
                more = uint8(encoded[node.partialAt++]);
                node.partialLength += more;
            }
        }
        node.restAt = node.partialAt + (node.partialLength + 1) / 2;
    }

    // An odd partial key is padded in front, so its first nibble is the low half of the first byte.
    function matches(bytes memory encoded, Node memory node, bytes memory key, uint256 nibble)
        private
        pure
        returns (bool)
    {
        uint256 offset = node.partialAt * 2 + (node.partialLength & 1);
        for (uint256 i = 0; i < node.partialLength; ++i) {
            if (nibbleAt(encoded, offset + i) != nibbleAt(key, nibble + i)) return false;
        }
        return true;
    }

    function value(bytes[] memory proof, bytes memory encoded, Node memory node, uint256 offset)
        private
        pure
        returns (bytes memory)
    {
        if (node.isValueHashed) return find(proof, bytes32(slice(encoded, offset, 32)));
        (uint256 length, uint256 start) = compact(encoded, offset);
        return slice(encoded, start, length);
    }

    // The hash (32 bytes) or the inlined node (shorter) of one child.
    function child(bytes memory encoded, Node memory node, uint256 index)
        private
        pure
        returns (bool, bytes memory)
    {
        uint256 bitmap = uint256(uint8(encoded[node.restAt])) | (uint256(uint8(encoded[node.restAt + 1])) << 8);
        if (bitmap & (1 << index) == 0) return (false, "");
        uint256 offset = node.restAt + 2;
        uint256 length;
        if (node.hasValue && node.isValueHashed) {
            offset += 32;
        } else if (node.hasValue) {
            (length, offset) = compact(encoded, offset);
            offset += length;
        }
        for (uint256 i = 0; i < index; ++i) {
            if (bitmap & (1 << i) == 0) continue;
            (length, offset) = compact(encoded, offset);
            offset += length;
        }
        (length, offset) = compact(encoded, offset);
        return (true, slice(encoded, offset, length));
    }

    // SCALE compact integer: its value and the offset after it. Lengths beyond 2^30 do not occur in nodes.
    function compact(bytes memory data, uint256 offset) private pure returns (uint256, uint256) {
        uint256 first = uint8(data[offset]);
        uint256 mode = first & 3;
        if (mode == 0) return (first >> 2, offset + 1);
        if (mode == 1) return ((first | (uint256(uint8(data[offset + 1])) << 8)) >> 2, offset + 2);
        require(mode == 2, "Bad Format!");
        uint256 number = first | (uint256(uint8(data[offset + 1])) << 8) | (uint256(uint8(data[offset + 2])) << 16)
            | (uint256(uint8(data[offset + 3])) << 24);
        return (number >> 2, offset + 4);
    }

    function nibbleAt(bytes memory data, uint256 nibble) private pure returns (uint256) {
        uint256 byteValue = uint8(data[nibble / 2]);
        return nibble & 1 == 0 ? byteValue >> 4 : byteValue & 0x0f;
    }

    function slice(bytes memory data, uint256 offset, uint256 length) private pure returns (bytes memory part) {
        require(offset + length <= data.length, "Bad Format!");
        part = new bytes(length);
        assembly ("memory-safe") {
            mcopy(add(part, 0x20), add(add(data, 0x20), offset), length)
        }
    }
}
