// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IConsensus, IERC165, IHandler, IntermediateState} from "./Protocol.sol";
import {KeccakTrie} from "./KeccakTrie.sol";
import {MerkleMountain} from "./MerkleMountain.sol";

// The libraries as calls, for tests with known answers.
contract LibraryHarness {
    function mountainRoot(bytes32[] memory items, MerkleMountain.Leaf[] memory leaves, uint256 leafCount)
        external
        pure
        returns (bytes32)
    {
        return MerkleMountain.root(items, leaves, leafCount);
    }

    function trieLookup(bytes32 root, bytes[] memory proof, bytes memory key) external pure returns (bytes memory) {
        return KeccakTrie.lookup(root, proof, key);
    }
}

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
