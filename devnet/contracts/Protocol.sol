// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Shapes, hashes and interfaces that every contract of the devnet shares.
// Field orders and names are those of the live contracts, because commitments, selectors and event topics hang on them.
// Facts: polytope-labs/hyperbridge: sdk/packages/core/contracts (Message, IHost, IApp, IConsensusV2, IDispatcher).

struct PostRequest {
    bytes source;
    bytes dest;
    uint64 nonce;
    bytes from;
    bytes to;
    // Unix seconds, 0 = never.
    uint64 timeoutTimestamp;
    bytes body;
}

struct GetRequest {
    bytes source;
    bytes dest;
    uint64 nonce;
    bytes from;
    uint64 timeoutTimestamp;
    bytes[] keys;
    uint64 height;
    bytes context;
}

struct StorageValue {
    bytes key;
    bytes value;
}

struct GetResponse {
    GetRequest request;
    StorageValue[] values;
}

struct StateMachineHeight {
    uint256 stateMachineId;
    uint256 height;
}

// For the hub: overlayRoot = MMR root, stateRoot = root of the ISMP child trie.
struct StateCommitment {
    uint256 timestamp;
    bytes32 overlayRoot;
    bytes32 stateRoot;
}

struct IntermediateState {
    uint256 stateMachineId;
    uint256 height;
    StateCommitment commitment;
}

struct Proof {
    StateMachineHeight height;
    bytes32[] multiproof;
    uint256 leafCount;
}

struct PostRequestLeaf {
    PostRequest request;
    uint256 index;
}

struct GetResponseLeaf {
    GetResponse response;
    uint256 index;
}

struct PostRequestMessage {
    Proof proof;
    PostRequestLeaf[] requests;
}

struct GetResponseMessage {
    Proof proof;
    GetResponseLeaf[] responses;
}

struct PostRequestTimeoutMessage {
    PostRequest[] timeouts;
    StateMachineHeight height;
    bytes[] proof;
}

struct GetTimeoutMessage {
    GetRequest[] timeouts;
    StateMachineHeight height;
    bytes[] proof;
}

struct FeeMetadata {
    uint256 fee;
    address sender;
}

struct ResponseReceipt {
    bytes32 responseCommitment;
    address relayer;
}

struct DispatchPost {
    bytes dest;
    bytes to;
    bytes body;
    // Seconds from now, 0 = never.
    uint64 timeout;
    uint256 fee;
    address payer;
}

struct DispatchGet {
    bytes dest;
    uint64 height;
    bytes[] keys;
    uint64 timeout;
    uint256 fee;
    bytes context;
    address payer;
}

struct IncomingPostRequest {
    PostRequest request;
    address relayer;
}

struct IncomingGetResponse {
    GetResponse response;
    address relayer;
}

struct PostRequestTimeout {
    PostRequest request;
    address relayer;
}

struct GetRequestTimeout {
    GetRequest request;
    address relayer;
}

struct HostParams {
    address feeToken;
    address admin;
    address handler;
    address hostManager;
    address uniswapV2;
    uint256 unStakingPeriod;
    uint256 challengePeriod;
    address consensusClient;
    uint256[] stateMachines;
    bytes hyperbridge;
}

struct WithdrawParams {
    address beneficiary;
    uint256 amount;
    address token;
}

enum FrozenStatus {
    None,
    Incoming,
    Outgoing,
    All
}

// A commitment is keccak256 over the ABI encoding of the whole struct as one tuple.
library Commitments {
    function hash(PostRequest memory request) internal pure returns (bytes32) {
        return keccak256(abi.encode(request));
    }

    function hash(GetRequest memory request) internal pure returns (bytes32) {
        return keccak256(abi.encode(request));
    }

    function hash(GetResponse memory response) internal pure returns (bytes32) {
        return keccak256(abi.encode(response));
    }

    // Absolute deadline in Unix seconds, with "never" as the largest value.
    function deadline(uint64 timeoutTimestamp) internal pure returns (uint256) {
        return timeoutTimestamp == 0 ? type(uint64).max : timeoutTimestamp;
    }
}

interface IERC20 {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function totalSupply() external view returns (uint256);
    function balanceOf(address account) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
    function approve(address spender, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

interface IERC165 {
    function supportsInterface(bytes4 interfaceId) external view returns (bool);
}

// An application that receives messages. Interface id 0x644cec84.
interface IApp {
    function onAccept(IncomingPostRequest calldata incoming) external;
    function onGetResponse(IncomingGetResponse calldata incoming) external;
    function onPostRequestTimeout(PostRequestTimeout calldata incoming) external;
    function onGetTimeout(GetRequestTimeout calldata incoming) external;
}

// A light client of the hub. Interface id 0xf7e83aee.
interface IConsensus {
    // Returns the new state, the states of the hub it proves, and the id of the next authority set.
    // A proof that is not newer than the previous state returns that state unchanged.
    function verify(bytes calldata previousState, bytes calldata proof)
        external
        view
        returns (bytes memory, IntermediateState[] memory, uint256);
}

interface IHost {
    function host() external view returns (bytes memory);
    function hyperbridge() external view returns (bytes memory);
    function feeToken() external view returns (address);
    function uniswapV2Router() external view returns (address);
    function frozen() external view returns (FrozenStatus);
    function challengePeriod() external view returns (uint256);
    function unStakingPeriod() external view returns (uint256);
    function consensusClient() external view returns (address);
    function consensusState() external view returns (bytes memory);
    function consensusUpdateTime() external view returns (uint256);
    function currentEpoch() external view returns (uint256);
    function latestStateMachineHeight(uint256 id) external view returns (uint256);
    function stateMachineCommitment(StateMachineHeight memory height)
        external
        payable
        returns (StateCommitment memory);
    function stateMachineCommitmentUpdateTime(StateMachineHeight memory height) external view returns (uint256);
    function requestCommitments(bytes32 commitment) external view returns (FeeMetadata memory);
    function requestReceipts(bytes32 commitment) external view returns (address);
    function responseReceipts(bytes32 commitment) external view returns (ResponseReceipt memory);

    function storeConsensusState(bytes memory state) external;
    function storeStateMachineCommitment(StateMachineHeight memory height, StateCommitment memory commitment) external;
    function recordEpoch(uint256 authoritySetId, address relayer) external;
    function dispatchIncoming(PostRequest memory request, address relayer) external;
    function dispatchIncoming(GetResponse memory response, address relayer) external;
    function dispatchTimeOut(PostRequestTimeout memory timeout, FeeMetadata memory meta, bytes32 commitment) external;
    function dispatchTimeOut(GetRequestTimeout memory timeout, FeeMetadata memory meta, bytes32 commitment) external;

    function dispatch(DispatchPost memory post) external payable returns (bytes32 commitment);
    function dispatch(DispatchGet memory get) external payable returns (bytes32 commitment);

    function updateHostParams(HostParams memory params) external;
    function withdraw(WithdrawParams memory params) external;
}

// Verifies messages of the hub against the commitments of a host. Interface id 0x1cf34b27.
interface IHandler {
    function batchCall(bytes[] memory calls) external;
    function handleConsensus(IHost host, bytes calldata proof) external;
    function handlePostRequests(IHost host, PostRequestMessage calldata request) external;
    function handleGetResponses(IHost host, GetResponseMessage calldata message) external;
    function handlePostRequestTimeouts(IHost host, PostRequestTimeoutMessage calldata message) external;
    function handleGetRequestTimeouts(IHost host, GetTimeoutMessage calldata message) external;
}

interface IPriceRouter {
    function WETH() external view returns (address);
    function getAmountsIn(uint256 amountOut, address[] calldata path) external view returns (uint256[] memory);
    function swapETHForExactTokens(uint256 amountOut, address[] calldata path, address to, uint256 deadline)
        external
        payable
        returns (uint256[] memory);
}
