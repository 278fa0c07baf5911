// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Decimal numbers as text, for the ids of state machines.
library Text {
    function decimal(uint256 number) internal pure returns (string memory) {
        uint256 length = 1;
        for (uint256 rest = number / 10; rest != 0; rest /= 10) ++length;
        bytes memory digits = new bytes(length);
        for (uint256 i = length; i != 0; --i) {
            digits[i - 1] = bytes1(uint8(48 + number % 10));
            number /= 10;
        }
        return string(digits);
    }
}
