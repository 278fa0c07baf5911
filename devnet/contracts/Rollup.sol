// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// The L1 contracts by which claims about an Arbitrum chain are made, reduced to what light clients read: logs and storage
// slots. There are no stakes and no challenges but rival claims.
// Facts: OffchainLabs/nitro-contracts: src/rollup/{IRollupCore,RollupCore,Assertion,AssertionState,RollupLib,Node}.sol,
// src/state/GlobalState.sol; slots as in polytope-labs/hyperbridge: modules/ismp/clients/arbitrum/src/lib.rs.

struct GlobalState {
    bytes32[2] bytes32Vals;
    uint64[2] u64Vals;
}

enum MachineStatus {
    RUNNING,
    FINISHED,
    ERRORED
}

struct AssertionState {
    GlobalState globalState;
    MachineStatus machineStatus;
    bytes32 endHistoryRoot;
}

struct ConfigData {
    bytes32 wasmModuleRoot;
    uint256 requiredStake;
    address challengeManager;
    uint64 confirmPeriodBlocks;
    uint64 nextInboxPosition;
}

struct BeforeStateData {
    bytes32 prevPrevAssertionHash;
    bytes32 sequencerBatchAcc;
    ConfigData configData;
}

struct AssertionInputs {
    BeforeStateData beforeStateData;
    AssertionState beforeState;
    AssertionState afterState;
}

enum AssertionStatus {
    NoAssertion,
    Pending,
    Confirmed
}

struct AssertionNode {
    uint64 firstChildBlock;
    uint64 secondChildBlock;
    uint64 createdAtBlock;
    bool isFirstChild;
    AssertionStatus status;
    bytes32 configHash;
}

// With BoLD: every assertion follows another; two that follow the same one contradict each other.
contract BoldRollup {
    error AssertionNotExist(bytes32 assertionHash);
    error AssertionAlreadyExists(bytes32 assertionHash);

    event AssertionCreated(
        bytes32 indexed assertionHash,
        bytes32 indexed parentAssertionHash,
        AssertionInputs assertion,
        bytes32 afterInboxBatchAcc,
        uint256 inboxMaxCount,
        bytes32 wasmModuleRoot,
        uint256 requiredStake,
        address challengeManager,
        uint64 confirmPeriodBlocks
    );

    uint256[117] private before_;
    // Slot 117.
    mapping(bytes32 => AssertionNode) internal _assertions;
    bytes32 public genesisAssertionHash;

    constructor() {
        AssertionState memory start;
        start.machineStatus = MachineStatus.FINISHED;
        genesisAssertionHash = hashOf(bytes32(0), start, bytes32(0));
        AssertionNode storage node = _assertions[genesisAssertionHash];
        node.createdAtBlock = uint64(block.number);
        node.isFirstChild = true;
        node.status = AssertionStatus.Confirmed;
    }

    function createAssertion(bytes32 parent, AssertionInputs calldata assertion, bytes32 afterInboxBatchAcc) external {
        AssertionNode storage parentNode = _assertions[parent];
        if (parentNode.status == AssertionStatus.NoAssertion) revert AssertionNotExist(parent);
        bytes32 name = hashOf(parent, assertion.afterState, afterInboxBatchAcc);
        AssertionNode storage node = _assertions[name];
        if (node.status != AssertionStatus.NoAssertion) revert AssertionAlreadyExists(name);
        bool isFirst = parentNode.firstChildBlock == 0;
        if (isFirst) parentNode.firstChildBlock = uint64(block.number);
        else if (parentNode.secondChildBlock == 0) parentNode.secondChildBlock = uint64(block.number);
        node.createdAtBlock = uint64(block.number);
        node.isFirstChild = isFirst;
        node.status = AssertionStatus.Pending;
        ConfigData calldata config = assertion.beforeStateData.configData;
        emit AssertionCreated(
            name,
            parent,
            assertion,
            afterInboxBatchAcc,
            config.nextInboxPosition,
            config.wasmModuleRoot,
            config.requiredStake,
            config.challengeManager,
            config.confirmPeriodBlocks
        );
    }

    function hashOf(bytes32 parent, AssertionState memory state, bytes32 inboxAcc) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(parent, keccak256(abi.encode(state)), inboxAcc));
    }
}

struct ExecutionState {
    GlobalState globalState;
    MachineStatus machineStatus;
}

struct NodeAssertion {
    ExecutionState beforeState;
    ExecutionState afterState;
    uint64 numBlocks;
}

struct Node {
    bytes32 stateHash;
    bytes32 challengeHash;
    bytes32 confirmData;
    uint64 prevNum;
    uint64 deadlineBlock;
    uint64 noChildConfirmedBeforeBlock;
    uint64 stakerCount;
}

// Before BoLD: nodes are numbered.
contract NodeRollup {
    event NodeCreated(
        uint64 indexed nodeNum,
        bytes32 indexed parentNodeHash,
        bytes32 indexed nodeHash,
        bytes32 executionHash,
        NodeAssertion assertion,
        bytes32 afterInboxBatchAcc,
        bytes32 wasmModuleRoot,
        uint256 inboxMaxCount
    );

    uint256[117] private before_;
    // Slot 117.
    uint64 public latestConfirmed;
    uint64 public firstUnresolvedNode;
    uint64 public latestNodeCreated;
    uint64 public lastStakeBlock;
    // Slot 118.
    mapping(uint64 => Node) internal _nodes;
    bytes32 private latestHash;

    function createNode(NodeAssertion calldata assertion, bytes32 afterInboxBatchAcc, uint256 inboxMaxCount)
        external
    {
        GlobalState calldata end = assertion.afterState.globalState;
        bytes32 globalHash = keccak256(
            abi.encodePacked("Global state:", end.bytes32Vals[0], end.bytes32Vals[1], end.u64Vals[0], end.u64Vals[1])
        );
        latestNodeCreated++;
        Node storage node = _nodes[latestNodeCreated];
        node.stateHash =
            keccak256(abi.encodePacked(globalHash, inboxMaxCount, uint8(assertion.afterState.machineStatus)));
        node.confirmData = keccak256(abi.encodePacked(end.bytes32Vals[0], end.bytes32Vals[1]));
        node.prevNum = latestNodeCreated - 1;
        bytes32 parent = latestHash;
        latestHash = keccak256(abi.encodePacked(parent, node.stateHash, afterInboxBatchAcc));
        emit NodeCreated(
            latestNodeCreated,
            parent,
            latestHash,
            node.stateHash,
            assertion,
            afterInboxBatchAcc,
            bytes32(0),
            inboxMaxCount
        );
    }
}
