// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ConsensusRouter} from "./ConsensusRouter.sol";
import {AuthoritySet, ConsensusState} from "./EcdsaBeefy.sol";
import {IConsensus, IntermediateState} from "./Protocol.sol";

struct ApkAuthoritySet {
    uint64 id;
    uint32 len;
    bytes32 root;
    // Commitment to the set's BLS keys, for proofs of the kind 0x02.
    bytes32 apkCommitment;
}

// The state that a host stores for the hub; 10 words.
struct ApkConsensusState {
    uint256 latestHeight;
    uint256 beefyActivationBlock;
    ApkAuthoritySet currentAuthoritySet;
    ApkAuthoritySet nextAuthoritySet;
}

// The router of hosts whose authority sets have four fields. Proofs of the kind 0x02 are not verified here.
// Facts: docs/protocol/hub-consensus.md section 5.2.
contract ApkRouter is ConsensusRouter {
    constructor(IConsensus sp1, IConsensus ecdsa) ConsensusRouter(sp1, ecdsa) {}

    function verify(bytes calldata previousState, bytes calldata encodedProof)
        public
        view
        override
        returns (bytes memory, IntermediateState[] memory, uint256)
    {
        ApkConsensusState memory state = abi.decode(previousState, (ApkConsensusState));
        ConsensusState memory known = ConsensusState(
            state.latestHeight,
            state.beefyActivationBlock,
            narrow(state.currentAuthoritySet),
            narrow(state.nextAuthoritySet)
        );
        (bytes memory next, IntermediateState[] memory states, uint256 nextSetId) =
            this.verifyKnown(abi.encode(known), encodedProof);
        known = abi.decode(next, (ConsensusState));
        if (known.currentAuthoritySet.id != state.currentAuthoritySet.id) {
            state.currentAuthoritySet = state.nextAuthoritySet;
            AuthoritySet memory set = known.nextAuthoritySet;
            // Stands for the commitment that the hub announces in a digest.
            state.nextAuthoritySet = ApkAuthoritySet(set.id, set.len, set.root, keccak256(abi.encode(set.root)));
        }
        state.latestHeight = known.latestHeight;
        return (abi.encode(state), states, nextSetId);
    }

    function verifyKnown(bytes calldata previousState, bytes calldata encodedProof)
        external
        view
        returns (bytes memory, IntermediateState[] memory, uint256)
    {
        return super.verify(previousState, encodedProof);
    }

    function narrow(ApkAuthoritySet memory set) private pure returns (AuthoritySet memory) {
        return AuthoritySet(set.id, set.len, set.root);
    }
}
