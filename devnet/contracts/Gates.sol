// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ping} from "./Ping.sol";
import {IncomingPostRequest} from "./Protocol.sol";

error UnauthorizedRelayer();

// An application as the network's gateway: with a relayer set, that one alone delivers to it; without, everybody.
contract Gateway is Ping {
    address public relayer;

    constructor(address ismpHost, address only) Ping(ismpHost) {
        relayer = only;
    }

    // On the devnet everybody may.
    function setRelayer(address only) external {
        relayer = only;
    }

    function onAccept(IncomingPostRequest calldata incoming) public override {
        if (relayer != address(0) && incoming.relayer != relayer) revert UnauthorizedRelayer();
        super.onAccept(incoming);
    }
}
