// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MerkleMountainRange} from "@polytope-labs/solidity-merkle-trees/src/MerkleMountainRange.sol";
import {MerkleMultiProof} from "@polytope-labs/solidity-merkle-trees/src/MerkleMultiProof.sol";
import {IConsensus, IERC165, IntermediateState, StateCommitment} from "./Protocol.sol";
import {Scale} from "./Scale.sol";

struct AuthoritySet {
    uint64 id;
    uint32 len;
    // Merkle root over keccak256 of the packed addresses.
    bytes32 root;
}

// The state that a host stores for the hub; 8 words.
struct ConsensusState {
    uint256 latestHeight;
    uint256 beefyActivationBlock;
    AuthoritySet currentAuthoritySet;
    AuthoritySet nextAuthoritySet;
}

struct PayloadEntry {
    bytes2 id;
    bytes data;
}

struct Commitment {
    PayloadEntry[] payload;
    uint32 blockNumber;
    uint64 validatorSetId;
}

struct Vote {
    bytes signature;
    uint256 authorityIndex;
}

struct SignedCommitment {
    Commitment commitment;
    Vote[] votes;
}

struct MmrLeaf {
    uint8 version;
    uint32 parentNumber;
    bytes32 parentHash;
    AuthoritySet nextAuthoritySet;
    bytes32 extra;
    uint256 leafIndex;
}

struct RelayChainProof {
    SignedCommitment signedCommitment;
    MmrLeaf latestMmrLeaf;
    bytes32[] mmrProof;
    bytes32[] proof;
}

struct Parachain {
    uint256 index;
    uint256 id;
    bytes header;
}

struct ParachainProof {
    Parachain[] parachains;
    bytes32[] proof;
    uint256 leafCount;
}

// Light client of the hub by signatures of the relay chain's BEEFY authorities.
// Facts (proof, order of the checks, errors): polytope-labs/hyperbridge: evm/src/consensus/EcdsaBeefy.sol.
contract EcdsaBeefy is IConsensus, IERC165 {
    bytes2 private constant MMR_ROOT = "mh";
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    error UnknownAuthoritySet();
    error MmrRootHashMissing();
    error InvalidMmrProof();
    error IllegalGenesisBlock();
    error SuperMajorityRequired();
    error InvalidAuthoritiesProof();
    error TimestampNotFound();
    error ECDSAInvalidSignature();
    error ECDSAInvalidSignatureLength(uint256 length);
    error ECDSAInvalidSignatureS(bytes32 s);

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IConsensus).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    function verify(bytes calldata previousState, bytes calldata proof)
        external
        pure
        returns (bytes memory, IntermediateState[] memory, uint256)
    {
        ConsensusState memory state = abi.decode(previousState, (ConsensusState));
        (RelayChainProof memory relay, ParachainProof memory parachain) =
            abi.decode(proof, (RelayChainProof, ParachainProof));
        Commitment memory commitment = relay.signedCommitment.commitment;
        if (state.latestHeight >= commitment.blockNumber) {
            return (abi.encode(state), new IntermediateState[](0), state.nextAuthoritySet.id);
        }
        bytes32 mmrRoot = checkVotes(state, relay);
        checkLeaf(state, relay, mmrRoot);
        MmrLeaf memory leaf = relay.latestMmrLeaf;
        if (leaf.nextAuthoritySet.id > state.nextAuthoritySet.id) {
            state.currentAuthoritySet = state.nextAuthoritySet;
            state.nextAuthoritySet = leaf.nextAuthoritySet;
        }
        state.latestHeight = commitment.blockNumber;
        return (abi.encode(state), readHeads(leaf.extra, parachain), state.nextAuthoritySet.id);
    }

    function checkVotes(ConsensusState memory state, RelayChainProof memory relay) private pure returns (bytes32) {
        Commitment memory commitment = relay.signedCommitment.commitment;
        Vote[] memory votes = relay.signedCommitment.votes;
        AuthoritySet memory signers = state.currentAuthoritySet;
        if (commitment.validatorSetId != signers.id) signers = state.nextAuthoritySet;
        if (commitment.validatorSetId != signers.id) revert UnknownAuthoritySet();
        if (votes.length < (2 * uint256(signers.len)) / 3 + 1) revert SuperMajorityRequired();
        bytes32 mmrRoot = findMmrRoot(commitment);

        bytes32 signed = keccak256(encode(commitment));
        MerkleMultiProof.Leaf[] memory leaves = new MerkleMultiProof.Leaf[](votes.length);
        for (uint256 i = 0; i < votes.length; ++i) {
            address authority = recover(signed, votes[i].signature);
            leaves[i] = MerkleMultiProof.Leaf(votes[i].authorityIndex, keccak256(abi.encodePacked(authority)));
        }
        if (MerkleMultiProof.CalculateRoot(relay.proof, leaves, signers.len) != signers.root) revert InvalidAuthoritiesProof();
        return mmrRoot;
    }

    function findMmrRoot(Commitment memory commitment) private pure returns (bytes32 mmrRoot) {
        for (uint256 i = 0; i < commitment.payload.length; ++i) {
            PayloadEntry memory entry = commitment.payload[i];
            if (entry.id == MMR_ROOT && entry.data.length == 32) mmrRoot = bytes32(entry.data);
        }
        if (mmrRoot == bytes32(0)) revert MmrRootHashMissing();
    }

    function encode(Commitment memory commitment) private pure returns (bytes memory encoded) {
        encoded = Scale.compact(commitment.payload.length);
        for (uint256 i = 0; i < commitment.payload.length; ++i) {
            PayloadEntry memory entry = commitment.payload[i];
            encoded = bytes.concat(encoded, entry.id, Scale.bytesOf(entry.data));
        }
        return bytes.concat(encoded, Scale.u32(commitment.blockNumber), Scale.u64(commitment.validatorSetId));
    }

    function recover(bytes32 hash, bytes memory signature) private pure returns (address authority) {
        if (signature.length != 65) revert ECDSAInvalidSignatureLength(signature.length);
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        if (uint256(s) > HALF_ORDER) revert ECDSAInvalidSignatureS(s);
        authority = ecrecover(hash, v, r, s);
        if (authority == address(0)) revert ECDSAInvalidSignature();
    }

    function checkLeaf(ConsensusState memory state, RelayChainProof memory relay, bytes32 mmrRoot) private pure {
        MmrLeaf memory leaf = relay.latestMmrLeaf;
        bytes32 hash = keccak256(
            bytes.concat(
                bytes1(leaf.version),
                Scale.u32(leaf.parentNumber),
                leaf.parentHash,
                Scale.u64(leaf.nextAuthoritySet.id),
                Scale.u32(leaf.nextAuthoritySet.len),
                leaf.nextAuthoritySet.root,
                leaf.extra
            )
        );
        MerkleMountainRange.Leaf[] memory leaves = new MerkleMountainRange.Leaf[](1);
        leaves[0] = MerkleMountainRange.Leaf(leaf.leafIndex, hash);
        uint256 leafCount = leaf.parentNumber - state.beefyActivationBlock + 1;
        if (MerkleMountainRange.CalculateRoot(relay.mmrProof, leaves, leafCount) != mmrRoot) revert InvalidMmrProof();
    }

    function readHeads(bytes32 headsRoot, ParachainProof memory proof)
        private
        pure
        returns (IntermediateState[] memory states)
    {
        uint256 count = proof.parachains.length;
        states = new IntermediateState[](count);
        if (count == 0) return states;
        MerkleMultiProof.Leaf[] memory leaves = new MerkleMultiProof.Leaf[](count);
        for (uint256 i = 0; i < count; ++i) {
            Parachain memory parachain = proof.parachains[i];
            Scale.Header memory header = Scale.decodeHeader(parachain.header);
            if (header.number == 0) revert IllegalGenesisBlock();
            if (header.timestamp == 0) revert TimestampNotFound();
            bytes memory head = bytes.concat(Scale.u32(uint32(parachain.id)), Scale.bytesOf(parachain.header));
            leaves[i] = MerkleMultiProof.Leaf(parachain.index, keccak256(head));
            StateCommitment memory commitment =
                StateCommitment(header.timestamp, header.mmrRoot, header.childTrieRoot);
            states[i] = IntermediateState(parachain.id, header.number, commitment);
        }
        if (MerkleMultiProof.CalculateRoot(proof.proof, leaves, proof.leafCount) != headsRoot) revert InvalidMmrProof();
    }
}
