// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    GetRequestTimeout,
    HostParams,
    IApp,
    IERC165,
    IHost,
    IncomingGetResponse,
    IncomingPostRequest,
    PostRequestTimeout,
    WithdrawParams
} from "./Protocol.sol";

struct HostManagerParams {
    address admin;
    address host;
}

// The hub's hand on a host: fee withdrawals (body 0x00 ++ abi.encode(beneficiary, amount, token)) and governance
// (body 0x01 ++ abi.encode(HostParams)). Facts: polytope-labs/hyperbridge: evm/src/core/HostManager.sol.
contract HostManager is IApp, IERC165 {
    enum Action {
        Withdraw,
        SetHostParam
    }

    HostManagerParams internal _params;

    error UnauthorizedAction();
    error UnauthorizedCall();
    error UnexpectedCall();

    modifier only(address caller) {
        if (msg.sender != caller) revert UnauthorizedAction();
        _;
    }

    constructor(HostManagerParams memory initial) {
        _params = initial;
    }

    receive() external payable {}

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IApp).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    function params() external view returns (HostManagerParams memory) {
        return _params;
    }

    function host() external view returns (address) {
        return _params.host;
    }

    // Once: the admin gives up its right with it.
    function setIsmpHost(address hostAddr) external only(_params.admin) {
        _params = HostManagerParams(address(0), hostAddr);
    }

    function onAccept(IncomingPostRequest calldata incoming) public virtual only(_params.host) {
        IHost target = IHost(_params.host);
        if (keccak256(incoming.request.source) != keccak256(target.hyperbridge())) revert UnauthorizedAction();
        bytes calldata body = incoming.request.body;
        if (Action(uint8(body[0])) == Action.Withdraw) {
            target.withdraw(abi.decode(body[1:], (WithdrawParams)));
        } else {
            target.updateHostParams(abi.decode(body[1:], (HostParams)));
        }
    }

    function onGetResponse(IncomingGetResponse calldata) external view {
        refuse();
    }

    function onPostRequestTimeout(PostRequestTimeout calldata) external view {
        refuse();
    }

    function onGetTimeout(GetRequestTimeout calldata) external view {
        refuse();
    }

    // The manager sends nothing, so nothing can be answered or time out.
    function refuse() private view {
        if (msg.sender != _params.host) revert UnauthorizedCall();
        revert UnexpectedCall();
    }
}
