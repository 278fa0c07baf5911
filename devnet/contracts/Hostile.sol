// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    GetRequestTimeout,
    IApp,
    IERC165,
    IncomingGetResponse,
    IncomingPostRequest,
    PostRequestTimeout
} from "./Protocol.sol";

// Applications that cost a relayer gas for nothing: they behave while a node imagines the delivery and burn gas when
// it is paid for, or keep nodes from showing what they do.
//
// Bodies it understands:
//   "price"      behaves while gas costs nothing
//   "gas"        behaves while it gets more gas than a delivery has
//   "rich"       behaves while the sender owns more than there is
//   "trace"      calls itself a thousand times with much calldata, then burns 4 million gas and succeeds
//   anything else: succeeds
contract Hostile is IApp, IERC165 {
    event Took(bytes body);

    error Burnt();

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IApp).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    function onAccept(IncomingPostRequest calldata incoming) external {
        bytes32 body = keccak256(incoming.request.body);
        if (body == keccak256("price") && tx.gasprice != 0) fail();
        if (body == keccak256("gas") && gasleft() < 8_000_000) fail();
        if (body == keccak256("rich") && tx.origin.balance < 1e30) fail();
        if (body == keccak256("trace")) {
            bytes memory noise = new bytes(2_000);
            for (uint256 i = 0; i < 1_000; ++i) {
                (bool success,) = address(this).staticcall(noise);
                if (success) break;
            }
            burn(4_000_000);
        }
        emit Took(incoming.request.body);
    }

    function onGetResponse(IncomingGetResponse calldata) external {}
    function onPostRequestTimeout(PostRequestTimeout calldata) external {}
    function onGetTimeout(GetRequestTimeout calldata) external {}

    function fail() private view {
        burn(gasleft() > 300_000 ? gasleft() - 200_000 : 0);
        revert Burnt();
    }

    function burn(uint256 gasToUse) private view {
        uint256 start = gasleft();
        while (start - gasleft() < gasToUse) {}
    }
}
