// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IConsensus, IERC165, IntermediateState} from "./Protocol.sol";

// Takes abi.encode(new state, states, next authority set id) as its own proof: the form in which known answers were
// recorded.
contract PassThroughVerifier is IConsensus, IERC165 {
    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IConsensus).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    function verify(bytes calldata, bytes calldata proof)
        external
        pure
        returns (bytes memory, IntermediateState[] memory, uint256)
    {
        return abi.decode(proof, (bytes, IntermediateState[], uint256));
    }
}
