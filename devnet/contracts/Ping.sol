// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    DispatchGet,
    DispatchPost,
    GetRequestTimeout,
    IApp,
    IERC165,
    IERC20,
    IHost,
    IncomingGetResponse,
    IncomingPostRequest,
    PostRequest,
    PostRequestTimeout
} from "./Protocol.sol";

// The application of the devnet: sends numbered posts and gets, records what arrives, and misbehaves on request.
//
// Bodies it understands:
//   "fail"                 the callback reverts
//   "burn" ++ uint32       the callback uses about that much gas, then succeeds
//   anything else          the callback succeeds
contract Ping is IApp, IERC165 {
    address public immutable host;
    // Numbers the bodies of ping(), so that equal pings are still told apart.
    uint256 public sent;
    uint256 public received;
    // Last value per key, from get responses.
    mapping(bytes => bytes) public answers;

    event Pong(string source, uint256 nonce, bytes body);
    event Answered(string dest, uint256 nonce, uint256 values);
    event TimedOut(string dest, uint256 nonce, bool isGet);

    error OnlyHost();
    error AskedToFail();

    modifier onlyHost() {
        if (msg.sender != host) revert OnlyHost();
        _;
    }

    constructor(address ismpHost) {
        host = ismpHost;
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(IApp).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    // Sends `count` posts to the module `to` of `dest`, each with `fee` (fee-token units, paid by this contract) and
    // `timeout` (seconds from now, 0 = never); bodies are "ping <number>".
    function ping(bytes calldata dest, bytes calldata to, uint256 count, uint256 fee, uint64 timeout) external {
        for (uint256 i = 0; i < count; ++i) {
            bytes memory body = bytes.concat("ping ", bytes32(sent++));
            send(DispatchPost(dest, to, body, timeout, fee, msg.sender));
        }
    }

    // Sends one post as given.
    function send(DispatchPost memory post) public returns (bytes32) {
        pay(post.fee);
        return IHost(host).dispatch(post);
    }

    // Sends one get as given.
    function ask(DispatchGet calldata get) external returns (bytes32) {
        pay(get.fee);
        return IHost(host).dispatch(get);
    }

    function onAccept(IncomingPostRequest calldata incoming) public virtual onlyHost {
        PostRequest calldata post = incoming.request;
        received += 1;
        emit Pong(string(post.source), post.nonce, post.body);
        if (keccak256(post.body) == keccak256("fail")) revert AskedToFail();
        if (post.body.length == 8 && bytes4(post.body[:4]) == "burn") burn(uint32(bytes4(post.body[4:])));
    }

    function onGetResponse(IncomingGetResponse calldata incoming) external onlyHost {
        uint256 count = incoming.response.values.length;
        for (uint256 i = 0; i < count; ++i) {
            answers[incoming.response.values[i].key] = incoming.response.values[i].value;
        }
        emit Answered(string(incoming.response.request.dest), incoming.response.request.nonce, count);
    }

    function onPostRequestTimeout(PostRequestTimeout calldata timeout) external onlyHost {
        emit TimedOut(string(timeout.request.dest), timeout.request.nonce, false);
    }

    function onGetTimeout(GetRequestTimeout calldata timeout) external onlyHost {
        emit TimedOut(string(timeout.request.dest), timeout.request.nonce, true);
    }

    function pay(uint256 fee) private {
        if (fee != 0) IERC20(IHost(host).feeToken()).approve(host, fee);
    }

    // Runs out of gas on its own when less than `gasToUse` was given.
    function burn(uint256 gasToUse) private view {
        uint256 start = gasleft();
        if (start < gasToUse) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        while (start - gasleft() < gasToUse) {}
    }
}
