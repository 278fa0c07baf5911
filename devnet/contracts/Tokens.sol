// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "./Protocol.sol";

// Transfers that fail loudly for tokens that return false, nothing, or have no code.
library Tokens {
    error SafeERC20FailedOperation(address token);

    function send(address token, address to, uint256 amount) internal {
        invoke(token, abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    function pull(address token, address from, address to, uint256 amount) internal {
        invoke(token, abi.encodeCall(IERC20.transferFrom, (from, to, amount)));
    }

    function invoke(address token, bytes memory data) private {
        (bool success, bytes memory result) = token.call(data);
        if (!success) {
            // Passes the token's own reason on.
            assembly ("memory-safe") {
                revert(add(result, 0x20), mload(result))
            }
        }
        if (result.length == 0 ? token.code.length == 0 : !abi.decode(result, (bool))) {
            revert SafeERC20FailedOperation(token);
        }
    }
}
