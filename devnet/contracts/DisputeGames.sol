// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// The L1 contracts by which claims about an OP stack chain are made, reduced to what light clients read: logs, getters
// and storage slots. Nobody judges a claim here; the tests say who is right.
// Facts: ethereum-optimism/optimism: packages/contracts-bedrock/src/{dispute/DisputeGameFactory.sol,
// dispute/FaultDisputeGame.sol, dispute/SuperFaultDisputeGame.sol, dispute/AnchorStateRegistry.sol,
// L1/L2OutputOracle.sol}; slots as in polytope-labs/hyperbridge: modules/ismp/clients/optimism/src/lib.rs.

// A claim that was made by creating a game. Slot 0 is the same for all kinds.
abstract contract DisputeGame {
    error AlreadyInitialized();

    uint64 public createdAt;
    uint32 public gameType;

    function initialize(uint32 type_, bytes32 claim, bytes calldata extra) external {
        if (createdAt != 0) revert AlreadyInitialized();
        createdAt = uint64(block.timestamp);
        gameType = type_;
        begin(claim, extra);
    }

    function extraData() external view virtual returns (bytes memory);

    // Somebody contests the claim.
    function challenge() external virtual;

    function begin(bytes32 claim, bytes calldata extra) internal virtual;
}

// Claims the output of one block.
abstract contract OutputGame is DisputeGame {
    // Slot 1.
    bytes32 public rootClaim;
}

// Claims the outputs of several chains at one second: the extra data are what the claim is the hash of.
abstract contract SuperRootGame is DisputeGame {
    error SuperRootMismatch();

    function checkSuperRoot(bytes32 claim, bytes calldata extra) internal pure {
        if (keccak256(extra) != claim) revert SuperRootMismatch();
    }
}

// Claims form a tree; the first is the game's own.
contract FaultDisputeGame is OutputGame {
    // Slot 2.
    bytes32[] public claimData;
    bytes private extra_;

    function extraData() external view override returns (bytes memory) {
        return extra_;
    }

    function challenge() external override {
        claimData.push(keccak256(abi.encode(claimData.length)));
    }

    function begin(bytes32 claim, bytes calldata extra) internal override {
        rootClaim = claim;
        claimData.push(claim);
        extra_ = extra;
    }
}

// Contested by naming the intermediate root that is wrong.
contract AggregateVerifier is OutputGame {
    bytes private extra_;
    bytes32 public absolutePrestate;
    uint256 public expectedResolution;
    // Slot 5.
    uint256 public counteredByIntermediateRootIndexPlusOne;

    function extraData() external view override returns (bytes memory) {
        return extra_;
    }

    function challenge() external override {
        counteredByIntermediateRootIndexPlusOne = 1;
    }

    function begin(bytes32 claim, bytes calldata extra) internal override {
        rootClaim = claim;
        extra_ = extra;
    }
}

// Proved by validity proofs: nothing in its storage tells of challenges.
contract SuccinctDisputeGame is OutputGame {
    error NoChallenges();

    bytes private extra_;

    function extraData() external view override returns (bytes memory) {
        return extra_;
    }

    function challenge() external pure override {
        revert NoChallenges();
    }

    function begin(bytes32 claim, bytes calldata extra) internal override {
        rootClaim = claim;
        extra_ = extra;
    }
}

// Claims form a tree here, too.
contract SuperFaultDisputeGame is SuperRootGame {
    // Slot 1.
    bytes32[] public claimData;
    bytes32 public rootClaim;
    bytes private extra_;

    function extraData() external view override returns (bytes memory) {
        return extra_;
    }

    function challenge() external override {
        claimData.push(keccak256(abi.encode(claimData.length)));
    }

    function begin(bytes32 claim, bytes calldata extra) internal override {
        checkSuperRoot(claim, extra);
        rootClaim = claim;
        claimData.push(claim);
        extra_ = extra;
    }
}

// Made by one proposer; contested by a guardian, who blacklists it in the registry.
contract SuperPermissionedDisputeGame is SuperRootGame {
    AnchorStateRegistry private immutable registry_;
    bytes32 public rootClaim;
    bytes private extra_;

    constructor(AnchorStateRegistry registry) {
        registry_ = registry;
    }

    function extraData() external view override returns (bytes memory) {
        return extra_;
    }

    function challenge() external override {
        registry_.blacklistDisputeGame(address(this));
    }

    function begin(bytes32 claim, bytes calldata extra) internal override {
        checkSuperRoot(claim, extra);
        rootClaim = claim;
        extra_ = extra;
    }
}

// Which games do not count.
contract AnchorStateRegistry {
    uint256[5] private before_;
    // Slot 5.
    mapping(address => bool) public disputeGameBlacklist;

    function blacklistDisputeGame(address game) external {
        disputeGameBlacklist[game] = true;
    }
}

// Anybody creates games, with any claim.
contract DisputeGameFactory {
    error NoImplementation(uint32 gameType);
    error GameAlreadyExists(bytes32 uuid);

    event DisputeGameCreated(address indexed disputeProxy, uint32 indexed gameType, bytes32 indexed rootClaim);

    uint256[101] private before_;
    // Slot 101.
    mapping(uint32 => address) public gameImpls;
    mapping(uint32 => uint256) public initBonds;
    // Slot 103.
    mapping(bytes32 => bytes32) internal _disputeGames;
    bytes32[] internal _disputeGameList;

    function setImplementation(uint32 gameType, address implementation) external {
        gameImpls[gameType] = implementation;
    }

    function gameCount() external view returns (uint256) {
        return _disputeGameList.length;
    }

    function create(uint32 gameType, bytes32 rootClaim, bytes calldata extra) external returns (address proxy) {
        address implementation = gameImpls[gameType];
        if (implementation == address(0)) revert NoImplementation(gameType);
        bytes32 uuid = keccak256(abi.encode(gameType, rootClaim, extra));
        if (_disputeGames[uuid] != bytes32(0)) revert GameAlreadyExists(uuid);
        proxy = clone(implementation);
        DisputeGame(proxy).initialize(gameType, rootClaim, extra);
        bytes32 id = bytes32((uint256(gameType) << 224) | (block.timestamp << 160) | uint160(proxy));
        _disputeGames[uuid] = id;
        _disputeGameList.push(id);
        emit DisputeGameCreated(proxy, gameType, rootClaim);
    }

    // Minimal proxy (EIP-1167).
    function clone(address implementation) private returns (address proxy) {
        bytes memory code = abi.encodePacked(
            hex"3d602d80600a3d3981f3363d3d373d3d3d363d73", implementation, hex"5af43d82803e903d91602b57fd5bf3"
        );
        assembly ("memory-safe") {
            proxy := create(0, add(code, 0x20), mload(code))
        }
    }
}

// Outputs of chains without games.
contract L2OutputOracle {
    struct OutputProposal {
        bytes32 outputRoot;
        uint128 timestamp;
        uint128 l2BlockNumber;
    }

    event OutputProposed(
        bytes32 indexed outputRoot, uint256 indexed l2OutputIndex, uint256 indexed l2BlockNumber, uint256 l1Timestamp
    );

    uint256[3] private before_;
    // Slot 3.
    OutputProposal[] internal l2Outputs;

    function proposeL2Output(bytes32 outputRoot, uint256 l2BlockNumber) external {
        emit OutputProposed(outputRoot, l2Outputs.length, l2BlockNumber, block.timestamp);
        l2Outputs.push(OutputProposal(outputRoot, uint128(block.timestamp), uint128(l2BlockNumber)));
    }
}
