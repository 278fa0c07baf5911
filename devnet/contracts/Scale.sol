// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// The parts of SCALE that a BEEFY client needs: little-endian numbers, compact lengths, headers of Substrate blocks.
// Facts: polytope-labs/hyperbridge: evm/src/consensus/Codec.sol; paritytech/parity-scale-codec.
library Scale {
    struct Reader {
        bytes data;
        uint256 position;
    }

    error Truncated();

    // What a light client reads of a header.
    struct Header {
        uint256 number;
        // Seconds; 0 when the header names no time.
        uint256 timestamp;
        bytes32 mmrRoot;
        bytes32 childTrieRoot;
    }

    bytes4 private constant ISMP = "ISMP";
    bytes4 private constant ISMP_TIME = "ISTM";

    function u32(uint32 value) internal pure returns (bytes4) {
        return bytes4(uint32(reversed(value, 4)));
    }

    function u64(uint64 value) internal pure returns (bytes8) {
        return bytes8(uint64(reversed(value, 8)));
    }

    function reversed(uint256 value, uint256 size) private pure returns (uint256 result) {
        for (uint256 i = 0; i < size; ++i) {
            result = (result << 8) | (value & 0xff);
            value >>= 8;
        }
    }

    function compact(uint256 value) internal pure returns (bytes memory) {
        if (value < 1 << 6) return abi.encodePacked(uint8(value << 2));
        if (value < 1 << 14) return abi.encodePacked(uint16(reversed((value << 2) | 1, 2)));
        return abi.encodePacked(u32(uint32((value << 2) | 2)));
    }

    function bytesOf(bytes memory data) internal pure returns (bytes memory) {
        return bytes.concat(compact(data.length), data);
    }

    function decodeHeader(bytes memory encoded) internal pure returns (Header memory header) {
        Reader memory reader = Reader(encoded, 0);
        skip(reader, 32);
        header.number = readCompact(reader);
        skip(reader, 64);
        uint256 items = readCompact(reader);
        for (uint256 i = 0; i < items; ++i) readDigestItem(reader, header);
    }

    function readDigestItem(Reader memory reader, Header memory header) private pure {
        uint256 kind = readByte(reader);
        if (kind == 0) {
            skip(reader, readCompact(reader));
        } else if (kind >= 4 && kind <= 6) {
            bytes4 engine = bytes4(readWord(reader, 4));
            uint256 length = readCompact(reader);
            uint256 end = reader.position + length;
            if (kind == 4 && engine == ISMP && length == 64) {
                header.mmrRoot = readWord(reader, 32);
                header.childTrieRoot = readWord(reader, 32);
            } else if (kind == 4 && engine == ISMP_TIME && length == 8) {
                header.timestamp = reversed(uint256(readWord(reader, 8)) >> 192, 8);
            }
            reader.position = end;
            if (end > reader.data.length) revert Truncated();
        }
    }

    function skip(Reader memory reader, uint256 count) private pure {
        reader.position += count;
        if (reader.position > reader.data.length) revert Truncated();
    }

    function readByte(Reader memory reader) private pure returns (uint256) {
        skip(reader, 1);
        return uint8(reader.data[reader.position - 1]);
    }

    // Up to 32 bytes, on the left of the word.
    function readWord(Reader memory reader, uint256 count) private pure returns (bytes32 word) {
        uint256 position = reader.position;
        skip(reader, count);
        bytes memory data = reader.data;
        assembly ("memory-safe") {
            word := mload(add(add(data, 0x20), position))
        }
        return word & bytes32(type(uint256).max << (256 - 8 * count));
    }

    function readCompact(Reader memory reader) private pure returns (uint256) {
        uint256 first = readByte(reader);
        uint256 mode = first & 3;
        if (mode == 0) return first >> 2;
        if (mode == 1) return (first >> 2) | (readByte(reader) << 6);
        if (mode == 2) {
            return (first >> 2) | (readByte(reader) << 6) | (readByte(reader) << 14) | (readByte(reader) << 22);
        }
        uint256 size = (first >> 2) + 4;
        return reversed(uint256(readWord(reader, size)) >> (256 - 8 * size), size);
    }
}
