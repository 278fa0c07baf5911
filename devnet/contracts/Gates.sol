// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HostManager, HostManagerParams} from "./HostManager.sol";
import {Ping} from "./Ping.sol";
import {IncomingPostRequest} from "./Protocol.sol";

error UnauthorizedRelayer();

// The manager since September 2026: whatever the hub sends, its admin alone delivers it, and only the hub replaces the
// admin. Facts: polytope-labs/hyperbridge: evm/src/core/HostManager.sol.
contract GatedHostManager is HostManager {
    uint8 private constant SET_ADMIN = 2;

    error InvalidAdmin();

    constructor(HostManagerParams memory initial) HostManager(initial) {
        if (initial.admin == address(0)) revert InvalidAdmin();
    }

    function relayer() external view returns (address) {
        return _params.admin;
    }

    function onAccept(IncomingPostRequest calldata incoming) public override {
        if (incoming.relayer != _params.admin) revert UnauthorizedRelayer();
        if (uint8(incoming.request.body[0]) != SET_ADMIN) {
            super.onAccept(incoming);
            return;
        }
        if (msg.sender != _params.host) revert UnauthorizedAction();
        address next = abi.decode(incoming.request.body[1:], (address));
        if (next == address(0)) revert InvalidAdmin();
        _params.admin = next;
    }
}

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
