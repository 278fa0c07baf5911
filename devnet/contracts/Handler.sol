// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    Commitments,
    FeeMetadata,
    FrozenStatus,
    GetRequest,
    GetRequestTimeout,
    GetResponse,
    GetResponseMessage,
    GetTimeoutMessage,
    IConsensus,
    IERC165,
    IHandler,
    IHost,
    IntermediateState,
    PostRequest,
    PostRequestMessage,
    PostRequestTimeout,
    PostRequestTimeoutMessage,
    Proof,
    StateCommitment,
    StateMachineHeight
} from "./Protocol.sol";
import {MerkleMountainRange} from "@polytope-labs/solidity-merkle-trees/src/MerkleMountainRange.sol";
import {PolkadotTrie} from "@polytope-labs/solidity-merkle-trees/src/PolkadotTrie.sol";

// The only caller of a host's incoming functions: checks what relayers bring, in the order of the live handler, so that
// a message with several faults is refused for the same one. Stateless; anybody may call it.
// Facts: polytope-labs/hyperbridge: evm/src/core/HandlerV2.sol.
contract Handler is IHandler, IERC165 {
    using Commitments for PostRequest;
    using Commitments for GetRequest;
    using Commitments for GetResponse;
    using Commitments for uint64;

    error ConsensusClientExpired();
    error HostFrozen();
    error ChallengePeriodNotElapsed();
    error StateCommitmentNotFound();
    error InvalidMessageDestination();
    error MessageTimedOut();
    error MessageNotTimedOut();
    error DuplicateMessage();
    error UnknownMessage();
    error InvalidProof();
    error BatchCallFailed(uint256 index, bytes reason);

    modifier notFrozen(IHost host) {
        FrozenStatus status = host.frozen();
        if (status == FrozenStatus.Incoming || status == FrozenStatus.All) revert HostFrozen();
        _;
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        // The two literals are the interface without batchCall and the one that live hosts knew before it.
        return interfaceId == type(IHandler).interfaceId || interfaceId == 0x744d77d5 || interfaceId == 0x687b1a5c
            || interfaceId == type(IERC165).interfaceId;
    }

    // All or nothing; msg.sender stays the relayer in every inner call.
    function batchCall(bytes[] memory calls) external {
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory reason) = address(this).delegatecall(calls[i]);
            if (!success) revert BatchCallFailed(i, reason);
        }
    }

    function handleConsensus(IHost host, bytes calldata proof) external notFrozen(host) {
        if (block.timestamp - host.consensusUpdateTime() >= host.unStakingPeriod()) revert ConsensusClientExpired();

        bytes memory before = host.consensusState();
        (bytes memory next, IntermediateState[] memory states, uint256 nextAuthoritySetId) =
            IConsensus(host.consensusClient()).verify(before, proof);
        // A stale proof is a harmless no-op.
        if (keccak256(before) == keccak256(next)) return;

        host.storeConsensusState(next);
        for (uint256 i = 0; i < states.length; ++i) {
            IntermediateState memory state = states[i];
            uint256 latest = host.latestStateMachineHeight(state.stateMachineId);
            if (latest == 0 || state.height <= latest) continue;
            host.storeStateMachineCommitment(StateMachineHeight(state.stateMachineId, state.height), state.commitment);
        }
        if (nextAuthoritySetId != 0 && nextAuthoritySetId - 1 > host.currentEpoch()) {
            host.recordEpoch(nextAuthoritySetId - 1, msg.sender);
        }
    }

    function handlePostRequests(IHost host, PostRequestMessage calldata request) external notFrozen(host) {
        requireChallenged(host, request.proof.height);
        uint256 count = request.requests.length;
        MerkleMountainRange.Leaf[] memory leaves = new MerkleMountainRange.Leaf[](count);
        for (uint256 i = 0; i < count; ++i) {
            PostRequest memory post = request.requests[i].request;
            if (keccak256(post.dest) != keccak256(host.host())) revert InvalidMessageDestination();
            if (block.timestamp >= post.timeoutTimestamp.deadline()) revert MessageTimedOut();
            leaves[i] = MerkleMountainRange.Leaf(request.requests[i].index, post.hash());
        }
        requireMember(host, request.proof, leaves);
        for (uint256 i = 0; i < count; ++i) {
            if (host.requestReceipts(leaves[i].hash) != address(0)) revert DuplicateMessage();
            host.dispatchIncoming(request.requests[i].request, msg.sender);
        }
    }

    function handleGetResponses(IHost host, GetResponseMessage calldata message) external notFrozen(host) {
        requireChallenged(host, message.proof.height);
        uint256 count = message.responses.length;
        MerkleMountainRange.Leaf[] memory leaves = new MerkleMountainRange.Leaf[](count);
        for (uint256 i = 0; i < count; ++i) {
            GetResponse memory response = message.responses[i].response;
            if (host.requestCommitments(response.request.hash()).sender == address(0)) revert UnknownMessage();
            leaves[i] = MerkleMountainRange.Leaf(message.responses[i].index, response.hash());
        }
        requireMember(host, message.proof, leaves);
        for (uint256 i = 0; i < count; ++i) {
            GetResponse memory response = message.responses[i].response;
            if (host.responseReceipts(response.request.hash()).relayer != address(0)) revert DuplicateMessage();
            host.dispatchIncoming(response, msg.sender);
        }
    }

    function handlePostRequestTimeouts(IHost host, PostRequestTimeoutMessage calldata message)
        external
        notFrozen(host)
    {
        StateCommitment memory state = timeoutState(host, message.height);
        for (uint256 i = 0; i < message.timeouts.length; ++i) {
            PostRequest memory request = message.timeouts[i];
            bytes32 commitment = request.hash();
            FeeMetadata memory meta = requireTimedOut(
                host, state, request.timeoutTimestamp, commitment, "RequestReceipts", message.proof
            );
            host.dispatchTimeOut(PostRequestTimeout(request, msg.sender), meta, commitment);
        }
    }

    function handleGetRequestTimeouts(IHost host, GetTimeoutMessage calldata message) external notFrozen(host) {
        StateCommitment memory state = timeoutState(host, message.height);
        for (uint256 i = 0; i < message.timeouts.length; ++i) {
            GetRequest memory request = message.timeouts[i];
            bytes32 commitment = request.hash();
            FeeMetadata memory meta = requireTimedOut(
                host, state, request.timeoutTimestamp, commitment, "ResponseReceipts", message.proof
            );
            host.dispatchTimeOut(GetRequestTimeout(request, msg.sender), meta, commitment);
        }
    }

    function requireChallenged(IHost host, StateMachineHeight calldata height) private view {
        uint256 age = block.timestamp - host.stateMachineCommitmentUpdateTime(height);
        uint256 period = host.challengePeriod();
        if (period != 0 && period > age) revert ChallengePeriodNotElapsed();
    }

    function requireMember(IHost host, Proof calldata proof, MerkleMountainRange.Leaf[] memory leaves) private {
        bytes32 root = host.stateMachineCommitment(proof.height).overlayRoot;
        if (root == bytes32(0)) revert StateCommitmentNotFound();
        if (MerkleMountainRange.CalculateRoot(proof.multiproof, leaves, proof.leafCount) != root) revert InvalidProof();
    }

    function timeoutState(IHost host, StateMachineHeight calldata height) private returns (StateCommitment memory state) {
        requireChallenged(host, height);
        state = host.stateMachineCommitment(height);
        if (state.stateRoot == bytes32(0)) revert StateCommitmentNotFound();
    }

    // The deadline lies behind the hub's clock, the request is ours, and the hub holds no receipt under `prefix`.
    function requireTimedOut(
        IHost host,
        StateCommitment memory state,
        uint64 timeoutTimestamp,
        bytes32 commitment,
        bytes memory prefix,
        bytes[] calldata proof
    ) private view returns (FeeMetadata memory meta) {
        if (timeoutTimestamp.deadline() > state.timestamp) revert MessageNotTimedOut();
        meta = host.requestCommitments(commitment);
        if (meta.sender == address(0)) revert UnknownMessage();
        bytes[] memory keys = new bytes[](1);
        keys[0] = bytes.concat(prefix, commitment);
        if (PolkadotTrie.VerifyProof(state.stateRoot, proof, keys)[0].value.length != 0) revert InvalidProof();
    }
}
