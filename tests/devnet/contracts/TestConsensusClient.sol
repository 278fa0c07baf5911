// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IConsensus, IERC165, IntermediateState} from "./Protocol.sol";

struct AuthoritySet {
    uint64 id;
    uint32 len;
    // For this client: keccak256 of the packed address of the only authority, i.e. the root of a tree of one leaf.
    bytes32 root;
}

// The state that a host stores for the hub; 8 words, the layout of the live BEEFY clients.
struct ConsensusState {
    uint256 latestHeight;
    uint256 beefyActivationBlock;
    AuthoritySet currentAuthoritySet;
    AuthoritySet nextAuthoritySet;
}

// What the authority signs: keccak256(abi.encode(statement)).
struct Statement {
    // Set that signs: the current or the next one of the host.
    uint64 validatorSetId;
    // Relay block of the statement; a host takes only newer ones.
    uint256 blockNumber;
    AuthoritySet nextAuthoritySet;
    IntermediateState[] states;
}

// Light client of the devnet's hub: the rules of BEEFY (current or next authority set, one rotation at a time, stale
// proofs change nothing) with sets of one authority, whose plain ECDSA signature stands for the supermajority.
// Facts: polytope-labs/hyperbridge: evm/src/consensus/EcdsaBeefy.sol.
contract TestConsensusClient is IConsensus, IERC165 {
    error UnknownAuthoritySet();
    error InvalidAuthoritiesProof();

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IConsensus).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    // `proof` = abi.encode(Statement, bytes32 r, bytes32 s, uint8 v).
    function verify(bytes calldata previousState, bytes calldata proof)
        external
        pure
        returns (bytes memory, IntermediateState[] memory, uint256)
    {
        ConsensusState memory state = abi.decode(previousState, (ConsensusState));
        (Statement memory statement, bytes32 r, bytes32 s, uint8 v) =
            abi.decode(proof, (Statement, bytes32, bytes32, uint8));
        if (statement.blockNumber <= state.latestHeight) {
            return (previousState, new IntermediateState[](0), state.nextAuthoritySet.id);
        }

        AuthoritySet memory signers = state.currentAuthoritySet;
        if (statement.validatorSetId != signers.id) signers = state.nextAuthoritySet;
        if (statement.validatorSetId != signers.id) revert UnknownAuthoritySet();
        address authority = ecrecover(keccak256(abi.encode(statement)), v, r, s);
        if (authority == address(0) || keccak256(abi.encodePacked(authority)) != signers.root) {
            revert InvalidAuthoritiesProof();
        }

        if (statement.nextAuthoritySet.id > state.nextAuthoritySet.id) {
            state.currentAuthoritySet = state.nextAuthoritySet;
            state.nextAuthoritySet = statement.nextAuthoritySet;
        }
        state.latestHeight = statement.blockNumber;
        return (abi.encode(state), statement.states, state.nextAuthoritySet.id);
    }
}
