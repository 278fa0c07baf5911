// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    Commitments,
    DispatchGet,
    DispatchPost,
    FeeMetadata,
    FrozenStatus,
    GetRequest,
    GetRequestTimeout,
    GetResponse,
    HostParams,
    IApp,
    IConsensus,
    IERC165,
    IERC20,
    IHandler,
    IHost,
    IPriceRouter,
    IncomingGetResponse,
    IncomingPostRequest,
    PostRequest,
    PostRequestTimeout,
    ResponseReceipt,
    StateCommitment,
    StateMachineHeight,
    WithdrawParams
} from "./Protocol.sol";
import {Text} from "./Text.sol";
import {Tokens} from "./Tokens.sol";

// Where messages leave and enter a chain. State proofs are taken against these very slots (0 to 23), so the order of
// the variables is part of the protocol. As on testnets, the admin may replace parameters and consensus state at will.
// Facts: polytope-labs/hyperbridge: evm/src/core/EvmHost.sol, TestnetHost.sol.
contract Host is IHost {
    using Commitments for PostRequest;
    using Commitments for GetRequest;
    using Commitments for GetResponse;

    mapping(bytes32 => FeeMetadata) private _requestCommitments; // 0
    mapping(bytes32 => address) private _requestReceipts; // 1
    mapping(bytes32 => ResponseReceipt) private _responseReceipts; // 2, by request commitment
    mapping(uint256 => mapping(uint256 => StateCommitment)) private _stateCommitments; // 3
    mapping(uint256 => mapping(uint256 => uint256)) private _stateCommitmentsUpdateTime; // 4
    mapping(uint256 => uint256) private _latestStateMachineHeight; // 5
    mapping(uint256 => mapping(uint256 => address)) private _vetoes; // 6
    HostParams private _hostParams; // 7 to 16
    uint256 private _nonce; // 17
    FrozenStatus private _frozen; // 18
    bytes private _consensusState; // 19
    uint256 private _consensusUpdateTimestamp; // 20
    mapping(uint256 => address) private _epochs; // 21
    uint256 private _currentEpoch; // 22
    bool private _initialized; // 23

    event PostRequestEvent(
        string source,
        string dest,
        address indexed from,
        bytes to,
        uint256 nonce,
        uint256 timeoutTimestamp,
        bytes body,
        uint256 fee
    );
    event GetRequestEvent(
        string source,
        string dest,
        bytes from,
        bytes[] keys,
        uint256 height,
        uint256 nonce,
        uint256 timeoutTimestamp,
        bytes context,
        uint256 fee
    );
    event PostRequestHandled(bytes32 indexed commitment, address relayer);
    event GetRequestHandled(bytes32 indexed commitment, address relayer);
    event PostRequestTimeoutHandled(bytes32 indexed commitment, string dest);
    event GetRequestTimeoutHandled(bytes32 indexed commitment, string dest);
    event RequestFunded(bytes32 indexed commitment, uint256 newFee);
    event StateMachineUpdated(string stateMachineId, uint256 height);
    event StateCommitmentVetoed(
        string stateMachineId, uint256 height, StateCommitment stateCommitment, address indexed fisherman
    );
    event NewEpoch(uint256 indexed authoritySetId, address indexed relayer);
    event HostFrozen(FrozenStatus status);
    event HostWithdrawal(uint256 amount, address beneficiary, address token);
    event HostParamsUpdated(HostParams oldParams, HostParams newParams);

    error UnauthorizedAction();
    error FrozenHost();
    error InvalidAddressLength();
    error UnknownRequest();
    error WithdrawalFailed();
    error InvalidHostManager();
    error InvalidHandler();
    error InvalidConsensusClient();
    error InvalidHyperbridgeId();
    error InvalidStateMachinesLength();
    error InvalidUnstakingPeriod();
    error CannotChangeFeeToken();

    modifier only(address caller) {
        if (msg.sender != caller) revert UnauthorizedAction();
        _;
    }

    modifier outgoing() {
        if (_frozen == FrozenStatus.Outgoing || _frozen == FrozenStatus.All) revert FrozenHost();
        _;
    }

    constructor(address initialAdmin) {
        _hostParams.admin = initialAdmin;
        _consensusUpdateTimestamp = block.timestamp;
    }

    receive() external payable {}

    // ---- administration

    function initialize(HostParams memory params) external only(_hostParams.admin) {
        if (_initialized) revert UnauthorizedAction();
        _initialized = true;
        replaceParams(params);
    }

    function updateHostParams(HostParams memory params) external {
        if (msg.sender == _hostParams.admin) {
            for (uint256 i = 0; i < params.stateMachines.length; ++i) {
                delete _latestStateMachineHeight[params.stateMachines[i]];
            }
        } else if (msg.sender != _hostParams.hostManager) {
            revert UnauthorizedAction();
        }
        replaceParams(params);
    }

    function withdraw(WithdrawParams memory params) external only(_hostParams.hostManager) {
        if (params.token == address(0)) {
            (bool sent,) = params.beneficiary.call{value: params.amount}("");
            if (!sent) revert WithdrawalFailed();
        } else {
            Tokens.send(params.token, params.beneficiary, params.amount);
        }
        emit HostWithdrawal(params.amount, params.beneficiary, params.token);
    }

    function setConsensusState(bytes memory state, StateMachineHeight memory height, StateCommitment memory commitment)
        external
        only(_hostParams.admin)
    {
        _consensusState = state;
        _consensusUpdateTimestamp = block.timestamp;
        putCommitment(height, commitment);
    }

    function setFrozenState(FrozenStatus newState) external {
        if (msg.sender != _hostParams.admin && msg.sender != _hostParams.handler) revert UnauthorizedAction();
        _frozen = newState;
        emit HostFrozen(newState);
    }

    function replaceParams(HostParams memory params) private {
        if (!implementsId(params.hostManager, type(IApp).interfaceId)) revert InvalidHostManager();
        if (!implementsId(params.handler, type(IHandler).interfaceId)) revert InvalidHandler();
        if (!implementsId(params.consensusClient, type(IConsensus).interfaceId)) revert InvalidConsensusClient();
        if (params.hyperbridge.length == 0) revert InvalidHyperbridgeId();
        if (params.stateMachines.length == 0) revert InvalidStateMachinesLength();
        if (params.unStakingPeriod < 1 days) revert InvalidUnstakingPeriod();
        address token = _hostParams.feeToken;
        if (token != address(0) && token != params.feeToken && IERC20(token).balanceOf(address(this)) != 0) {
            revert CannotChangeFeeToken();
        }
        emit HostParamsUpdated(_hostParams, params);
        _hostParams = params;
        for (uint256 i = 0; i < params.stateMachines.length; ++i) {
            // 0 = unknown state machine, 1 = known, nothing stored yet.
            if (_latestStateMachineHeight[params.stateMachines[i]] == 0) {
                _latestStateMachineHeight[params.stateMachines[i]] = 1;
            }
        }
    }

    function implementsId(address account, bytes4 interfaceId) private view returns (bool) {
        return account.code.length != 0 && IERC165(account).supportsInterface(interfaceId);
    }

    // ---- what the handler stores

    function storeConsensusState(bytes memory state) external only(_hostParams.handler) {
        _consensusState = state;
        _consensusUpdateTimestamp = block.timestamp;
    }

    function storeStateMachineCommitment(StateMachineHeight memory height, StateCommitment memory commitment)
        external
        only(_hostParams.handler)
    {
        putCommitment(height, commitment);
        emit StateMachineUpdated(this.stateMachineId(_hostParams.hyperbridge, height.stateMachineId), height.height);
    }

    function recordEpoch(uint256 authoritySetId, address relayer) external only(_hostParams.handler) {
        if (authoritySetId <= _currentEpoch) return;
        _currentEpoch = authoritySetId;
        _epochs[authoritySetId] = relayer;
        emit NewEpoch(authoritySetId, relayer);
    }

    function deleteStateMachineCommitment(StateMachineHeight memory height, address fisherman)
        external
        only(_hostParams.handler)
    {
        uint256 id = height.stateMachineId;
        StateCommitment memory vetoed = _stateCommitments[id][height.height];
        delete _stateCommitments[id][height.height];
        delete _stateCommitmentsUpdateTime[id][height.height];
        if (_latestStateMachineHeight[id] == height.height) _latestStateMachineHeight[id] = 1;
        _vetoes[id][height.height] = fisherman;
        emit StateCommitmentVetoed(this.stateMachineId(_hostParams.hyperbridge, id), height.height, vetoed, fisherman);
    }

    function putCommitment(StateMachineHeight memory height, StateCommitment memory commitment) private {
        _stateCommitments[height.stateMachineId][height.height] = commitment;
        _stateCommitmentsUpdateTime[height.stateMachineId][height.height] = block.timestamp;
        _latestStateMachineHeight[height.stateMachineId] = height.height;
    }

    // ---- incoming: a failing application is swallowed, the receipt is taken back and no event is emitted

    function dispatchIncoming(PostRequest memory request, address relayer) external only(_hostParams.handler) {
        address destination = toAddress(request.to);
        if (destination.code.length == 0) return;

        bytes32 commitment = request.hash();
        _requestReceipts[commitment] = relayer;
        (bool success,) =
            destination.call(abi.encodeWithSelector(IApp.onAccept.selector, IncomingPostRequest(request, relayer)));
        if (!success) {
            delete _requestReceipts[commitment];
            return;
        }
        emit PostRequestHandled(commitment, relayer);
    }

    function dispatchIncoming(GetResponse memory response, address relayer) external only(_hostParams.handler) {
        bytes32 commitment = response.request.hash();
        _responseReceipts[commitment] = ResponseReceipt(response.hash(), relayer);
        (bool success,) = toAddress(response.request.from).call(
            abi.encodeWithSelector(IApp.onGetResponse.selector, IncomingGetResponse(response, relayer))
        );
        if (!success) {
            delete _responseReceipts[commitment];
            return;
        }
        payFee(relayer, _requestCommitments[commitment].fee);
        emit GetRequestHandled(commitment, relayer);
    }

    function dispatchTimeOut(PostRequestTimeout memory timeout, FeeMetadata memory meta, bytes32 commitment)
        external
        only(_hostParams.handler)
    {
        bytes memory data = abi.encodeWithSelector(IApp.onPostRequestTimeout.selector, timeout);
        if (!timeOut(timeout.request.from, data, meta, commitment)) return;
        emit PostRequestTimeoutHandled(commitment, string(timeout.request.dest));
    }

    function dispatchTimeOut(GetRequestTimeout memory timeout, FeeMetadata memory meta, bytes32 commitment)
        external
        only(_hostParams.handler)
    {
        bytes memory data = abi.encodeWithSelector(IApp.onGetTimeout.selector, timeout);
        if (!timeOut(timeout.request.from, data, meta, commitment)) return;
        emit GetRequestTimeoutHandled(commitment, string(timeout.request.dest));
    }

    function timeOut(bytes memory from, bytes memory data, FeeMetadata memory meta, bytes32 commitment)
        private
        returns (bool success)
    {
        delete _requestCommitments[commitment];
        (success,) = toAddress(from).call(data);
        if (success) payFee(meta.sender, meta.fee);
        else _requestCommitments[commitment] = meta;
    }

    function payFee(address to, uint256 fee) private {
        if (fee != 0) Tokens.send(_hostParams.feeToken, to, fee);
    }

    // ---- outgoing

    function dispatch(DispatchPost memory post) external payable outgoing returns (bytes32 commitment) {
        if (msg.value != 0 || post.fee != 0) collect(post.fee);
        PostRequest memory request = PostRequest({
            source: host(),
            dest: post.dest,
            nonce: uint64(_nonce++),
            from: abi.encodePacked(msg.sender),
            to: post.to,
            timeoutTimestamp: absolute(post.timeout),
            body: post.body
        });
        commitment = request.hash();
        _requestCommitments[commitment] = FeeMetadata(post.fee, post.payer);
        emit PostRequestEvent(
            string(request.source),
            string(request.dest),
            msg.sender,
            request.to,
            request.nonce,
            request.timeoutTimestamp,
            request.body,
            post.fee
        );
    }

    function dispatch(DispatchGet memory get) external payable outgoing returns (bytes32 commitment) {
        if (msg.value != 0 || get.fee != 0) collect(get.fee);
        GetRequest memory request = GetRequest({
            source: host(),
            dest: get.dest,
            nonce: uint64(_nonce++),
            from: abi.encodePacked(msg.sender),
            timeoutTimestamp: absolute(get.timeout),
            keys: get.keys,
            height: get.height,
            context: get.context
        });
        commitment = request.hash();
        // The sender, not the payer: unlike posts.
        _requestCommitments[commitment] = FeeMetadata(get.fee, msg.sender);
        emit GetRequestEvent(
            string(request.source),
            string(request.dest),
            request.from,
            request.keys,
            request.height,
            request.nonce,
            request.timeoutTimestamp,
            request.context,
            get.fee
        );
    }

    function fundRequest(bytes32 commitment, uint256 amount) external payable outgoing {
        collect(amount);
        FeeMetadata storage meta = _requestCommitments[commitment];
        if (meta.sender == address(0)) revert UnknownRequest();
        meta.fee += amount;
        emit RequestFunded(commitment, meta.fee);
    }

    // Takes the fee in the fee token, or buys it with the native token that came along.
    function collect(uint256 fee) private {
        if (msg.value == 0) {
            Tokens.pull(_hostParams.feeToken, msg.sender, address(this), fee);
            return;
        }
        IPriceRouter router = IPriceRouter(_hostParams.uniswapV2);
        address[] memory path = new address[](2);
        path[0] = router.WETH();
        path[1] = _hostParams.feeToken;
        router.swapETHForExactTokens{value: msg.value}(fee, path, address(this), block.timestamp);
    }

    function absolute(uint64 timeout) private view returns (uint64) {
        return timeout == 0 ? 0 : uint64(block.timestamp) + timeout;
    }

    function toAddress(bytes memory module) private pure returns (address) {
        if (module.length != 20) revert InvalidAddressLength();
        return address(bytes20(module));
    }

    // ---- reads

    function host() public view returns (bytes memory) {
        return bytes(string.concat("EVM-", Text.decimal(block.chainid)));
    }

    // Text of a state machine of the hub's relay chain: the hub's own id with its last four characters replaced.
    function stateMachineId(bytes calldata parachainId, uint256 id) external pure returns (string memory) {
        return string.concat(string(parachainId[:parachainId.length - 4]), Text.decimal(id));
    }

    function hostParams() external view returns (HostParams memory) {
        return _hostParams;
    }

    function admin() external view returns (address) {
        return _hostParams.admin;
    }

    function feeToken() external view returns (address) {
        return _hostParams.feeToken;
    }

    function uniswapV2Router() external view returns (address) {
        return _hostParams.uniswapV2;
    }

    function hyperbridge() external view returns (bytes memory) {
        return _hostParams.hyperbridge;
    }

    function consensusClient() external view returns (address) {
        return _hostParams.consensusClient;
    }

    function challengePeriod() external view returns (uint256) {
        return _hostParams.challengePeriod;
    }

    function unStakingPeriod() external view returns (uint256) {
        return _hostParams.unStakingPeriod;
    }

    function timestamp() external view returns (uint256) {
        return block.timestamp;
    }

    function nonce() external view returns (uint256) {
        return _nonce;
    }

    function frozen() external view returns (FrozenStatus) {
        return _frozen;
    }

    function consensusState() external view returns (bytes memory) {
        return _consensusState;
    }

    function consensusUpdateTime() external view returns (uint256) {
        return _consensusUpdateTimestamp;
    }

    function currentEpoch() external view returns (uint256) {
        return _currentEpoch;
    }

    function relayerOf(uint256 authoritySetId) external view returns (address) {
        return _epochs[authoritySetId];
    }

    function latestStateMachineHeight(uint256 id) external view returns (uint256) {
        return _latestStateMachineHeight[id];
    }

    // Payable as on the live host, hence not a view in the ABI.
    function stateMachineCommitment(StateMachineHeight memory height)
        external
        payable
        returns (StateCommitment memory)
    {
        return _stateCommitments[height.stateMachineId][height.height];
    }

    function stateMachineCommitmentUpdateTime(StateMachineHeight memory height) external view returns (uint256) {
        return _stateCommitmentsUpdateTime[height.stateMachineId][height.height];
    }

    function vetoes(uint256 paraId, uint256 height) external view returns (address) {
        return _vetoes[paraId][height];
    }

    function requestCommitments(bytes32 commitment) external view returns (FeeMetadata memory) {
        return _requestCommitments[commitment];
    }

    function requestReceipts(bytes32 commitment) external view returns (address) {
        return _requestReceipts[commitment];
    }

    function responseReceipts(bytes32 commitment) external view returns (ResponseReceipt memory) {
        return _responseReceipts[commitment];
    }
}
