// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {FeeToken} from "./FeeToken.sol";
import {IPriceRouter} from "./Protocol.sol";

// Price source with a settable price, shaped like a Uniswap V2 router. Anybody may set the price.
contract PriceRouter is IPriceRouter {
    address public immutable WETH;
    // Units of the fee token for 10^18 wei; 0 makes every read fail, as a missing pool would.
    uint256 public feeTokenPerNative;

    error InsufficientInput(uint256 needed, uint256 given);
    error NoPool();
    error Expired();

    constructor(address wrappedNative, uint256 initialPrice) {
        WETH = wrappedNative;
        feeTokenPerNative = initialPrice;
    }

    function setPrice(uint256 price) external {
        feeTokenPerNative = price;
    }

    // Amount of path[0] that buys `amountOut` of path[1]; one of the two is WETH, the other the fee token.
    function getAmountsIn(uint256 amountOut, address[] calldata path) public view returns (uint256[] memory amounts) {
        if (feeTokenPerNative == 0 || path.length != 2) revert NoPool();
        amounts = new uint256[](2);
        amounts[1] = amountOut;
        amounts[0] = path[0] == WETH
            ? (amountOut * 1 ether + feeTokenPerNative - 1) / feeTokenPerNative
            : amountOut * feeTokenPerNative / 1 ether;
    }

    function swapETHForExactTokens(uint256 amountOut, address[] calldata path, address to, uint256 deadline)
        external
        payable
        returns (uint256[] memory amounts)
    {
        if (deadline < block.timestamp) revert Expired();
        amounts = getAmountsIn(amountOut, path);
        if (msg.value < amounts[0]) revert InsufficientInput(amounts[0], msg.value);
        FeeToken(path[1]).mint(to, amountOut);
        (bool returned,) = msg.sender.call{value: msg.value - amounts[0]}("");
        require(returned);
    }
}
