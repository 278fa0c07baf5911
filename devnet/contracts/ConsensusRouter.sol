// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IConsensus, IERC165, IntermediateState} from "./Protocol.sol";

// Picks the light client by the first byte of a proof: 0x00 ECDSA BEEFY, 0x01 SP1 BEEFY.
// Facts: polytope-labs/hyperbridge: evm/src/consensus/ConsensusRouter.sol.
contract ConsensusRouter is IConsensus, IERC165 {
    IConsensus public immutable sp1Beefy;
    IConsensus public immutable ecdsaBeefy;

    error InvalidProofType(uint8 proofType);
    error EmptyProof();

    constructor(IConsensus sp1, IConsensus ecdsa) {
        sp1Beefy = sp1;
        ecdsaBeefy = ecdsa;
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IConsensus).interfaceId || interfaceId == 0x7d755598
            || interfaceId == type(IERC165).interfaceId;
    }

    function verify(bytes calldata previousState, bytes calldata encodedProof)
        public
        view
        virtual
        returns (bytes memory, IntermediateState[] memory, uint256)
    {
        if (encodedProof.length == 0) revert EmptyProof();
        uint8 proofType = uint8(encodedProof[0]);
        if (proofType > 1) revert InvalidProofType(proofType);
        return (proofType == 1 ? sp1Beefy : ecdsaBeefy).verify(previousState, encodedProof[1:]);
    }
}
