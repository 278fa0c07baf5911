/**
 * Typed ABI of the contracts that relayers call. Struct and field names are those of the contracts. Source:
 * polytope-labs/hyperbridge: evm/src/core/{EvmHost,HandlerV2,HostManager}.sol, evm/src/consensus/*.sol.
 */
import { parseAbi, toEventSelector } from "viem";
import type { Hex } from "../encoding/bytes.ts";

const structs = [
  "struct PostRequest { bytes source; bytes dest; uint64 nonce; bytes from; bytes to; uint64 timeoutTimestamp; bytes body; }",
  "struct GetRequest { bytes source; bytes dest; uint64 nonce; bytes from; uint64 timeoutTimestamp; bytes[] keys; uint64 height; bytes context; }",
  "struct StorageValue { bytes key; bytes value; }",
  "struct GetResponse { GetRequest request; StorageValue[] values; }",
  "struct SMHeight { uint256 stateMachineId; uint256 height; }",
  "struct Proof { SMHeight height; bytes32[] multiproof; uint256 leafCount; }",
  "struct StateCommitment { uint256 timestamp; bytes32 overlayRoot; bytes32 stateRoot; }",
  "struct FeeMetadata { uint256 fee; address sender; }",
  "struct ResponseReceipt { bytes32 responseCommitment; address relayer; }",
  "struct HostParams { address feeToken; address admin; address handler; address hostManager; address uniswapV2; uint256 unStakingPeriod; uint256 challengePeriod; address consensusClient; uint256[] stateMachines; bytes hyperbridge; }",
  "struct DispatchPost { bytes dest; bytes to; bytes body; uint64 timeout; uint256 fee; address payer; }",
  "struct DispatchGet { bytes dest; uint64 height; bytes[] keys; uint64 timeout; uint256 fee; bytes context; address payer; }",
  "struct PostRequestLeaf { PostRequest request; uint256 index; }",
  "struct GetResponseLeaf { GetResponse response; uint256 index; }",
  "struct PostRequestMessage { Proof proof; PostRequestLeaf[] requests; }",
  "struct GetResponseMessage { Proof proof; GetResponseLeaf[] responses; }",
  "struct PostTimeoutMessage { PostRequest[] timeouts; SMHeight height; bytes[] proof; }",
  "struct GetTimeoutMessage { GetRequest[] timeouts; SMHeight height; bytes[] proof; }",
  "struct IncomingPostRequest { PostRequest request; address relayer; }",
  "struct IncomingGetRequest { GetRequest request; address relayer; }",
  "struct IncomingGetResponse { GetResponse response; address relayer; }",
  "struct WithdrawParams { address beneficiary; uint256 amount; address token; }",
  "struct HostManagerParams { address admin; address host; }",
  "struct IntermediateState { uint256 stateMachineId; uint256 height; StateCommitment commitment; }",
] as const;

/** EvmHost (and TestnetHost): state, dispatch, events. */
export const evmHostAbi = parseAbi([
  ...structs,
  "function admin() view returns (address)",
  "function challengePeriod() view returns (uint256)",
  "function consensusClient() view returns (address)",
  "function consensusState() view returns (bytes)",
  "function consensusUpdateTime() view returns (uint256)",
  "function currentEpoch() view returns (uint256)",
  "function deleteStateMachineCommitment(SMHeight height, address fisherman)",
  "function dispatch(DispatchGet get) payable returns (bytes32 commitment)",
  "function dispatch(DispatchPost post) payable returns (bytes32 commitment)",
  "function dispatchIncoming(PostRequest request, address relayer)",
  "function dispatchIncoming(GetResponse response, address relayer)",
  "function dispatchTimeOut(IncomingPostRequest timeout, FeeMetadata meta, bytes32 commitment)",
  "function dispatchTimeOut(IncomingGetRequest timeout, FeeMetadata meta, bytes32 commitment)",
  "function feeToken() view returns (address)",
  "function frozen() view returns (uint8)",
  "function fundRequest(bytes32 commitment, uint256 amount) payable",
  "function host() view returns (bytes)",
  "function hostParams() view returns (HostParams)",
  "function hyperbridge() view returns (bytes)",
  "function initialize(HostParams params)",
  "function latestStateMachineHeight(uint256 id) view returns (uint256)",
  "function nonce() view returns (uint256)",
  "function recordEpoch(uint256 authoritySetId, address relayer)",
  "function relayerOf(uint256 authoritySetId) view returns (address)",
  "function requestCommitments(bytes32 commitment) view returns (FeeMetadata)",
  "function requestReceipts(bytes32 commitment) view returns (address)",
  "function responseReceipts(bytes32 commitment) view returns (ResponseReceipt)",
  "function setConsensusState(bytes state, SMHeight height, StateCommitment commitment)",
  "function setFrozenState(uint8 newState)",
  "function stateMachineCommitment(SMHeight height) payable returns (StateCommitment)",
  "function stateMachineCommitmentUpdateTime(SMHeight height) view returns (uint256)",
  "function stateMachineId(bytes parachainId, uint256 id) pure returns (string)",
  "function storeConsensusState(bytes state)",
  "function storeStateMachineCommitment(SMHeight height, StateCommitment commitment)",
  "function timestamp() view returns (uint256)",
  "function unStakingPeriod() view returns (uint256)",
  "function uniswapV2Router() view returns (address)",
  "function updateHostParams(HostParams params)",
  "function vetoes(uint256 paraId, uint256 height) view returns (address)",
  "function withdraw(WithdrawParams params)",
  "event GetRequestEvent(string source, string dest, bytes from, bytes[] keys, uint256 height, uint256 nonce, uint256 timeoutTimestamp, bytes context, uint256 fee)",
  "event GetRequestHandled(bytes32 indexed commitment, address relayer)",
  "event GetRequestTimeoutHandled(bytes32 indexed commitment, string dest)",
  "event HostFrozen(uint8 status)",
  "event HostParamsUpdated(HostParams oldParams, HostParams newParams)",
  "event HostWithdrawal(uint256 amount, address beneficiary, address token)",
  "event NewEpoch(uint256 indexed authoritySetId, address indexed relayer)",
  "event PostRequestEvent(string source, string dest, address indexed from, bytes to, uint256 nonce, uint256 timeoutTimestamp, bytes body, uint256 fee)",
  "event PostRequestHandled(bytes32 indexed commitment, address relayer)",
  "event PostRequestTimeoutHandled(bytes32 indexed commitment, string dest)",
  "event RequestFunded(bytes32 indexed commitment, uint256 newFee)",
  "event StateCommitmentVetoed(string stateMachineId, uint256 height, StateCommitment stateCommitment, address indexed fisherman)",
  "event StateMachineUpdated(string stateMachineId, uint256 height)",
  "error CannotChangeFeeToken()",
  "error FrozenHost()",
  "error InvalidAddressLength()",
  "error InvalidConsensusClient()",
  "error InvalidHandler()",
  "error InvalidHostManager()",
  "error InvalidHyperbridgeId()",
  "error InvalidStateMachinesLength()",
  "error InvalidUnstakingPeriod()",
  "error SafeERC20FailedOperation(address token)",
  "error UnauthorizedAccount()",
  "error UnauthorizedAction()",
  "error UnknownRequest()",
  "error WithdrawalFailed()",
]);

/** HandlerV2: the only caller of the host's incoming functions; anyone may call it. */
export const handlerV2Abi = parseAbi([
  ...structs,
  "function batchCall(bytes[] calls)",
  "function handleConsensus(address host, bytes proof)",
  "function handleGetRequestTimeouts(address host, GetTimeoutMessage message)",
  "function handleGetResponses(address host, GetResponseMessage message)",
  "function handlePostRequestTimeouts(address host, PostTimeoutMessage message)",
  "function handlePostRequests(address host, PostRequestMessage request)",
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "error BatchCallFailed(uint256 index, bytes reason)",
  "error ChallengePeriodNotElapsed()",
  "error ConsensusClientExpired()",
  "error DuplicateMessage()",
  "error EmptyLeaves()",
  "error EmptyTree()",
  "error HostFrozen()",
  "error InvalidMessageDestination()",
  "error InvalidProof()",
  "error MessageNotTimedOut()",
  "error MessageTimedOut()",
  "error OutOfBoundsLeaves()",
  "error ProofExhausted()",
  "error StateCommitmentNotFound()",
  "error UnconsumedProof()",
  "error UnknownMessage()",
  "error UnsortedLeaves()",
]);

/** HostManager; its `on...` functions are the callbacks of every ISMP application. */
export const hostManagerAbi = parseAbi([
  ...structs,
  "function host() view returns (address)",
  "function onAccept(IncomingPostRequest incoming)",
  "function onGetResponse(IncomingGetResponse)",
  "function onGetTimeout(IncomingGetRequest)",
  "function onPostRequestTimeout(IncomingPostRequest)",
  "function params() view returns (HostManagerParams)",
  "function quote(DispatchPost request) returns (uint256)",
  "function quote(DispatchGet request) returns (uint256)",
  "function setIsmpHost(address hostAddr)",
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "error UnauthorizedAction()",
  "error UnauthorizedCall()",
  "error UnexpectedCall()",
]);

/** ConsensusRouter: picks the verifier by the first byte of the proof. */
export const consensusRouterAbi = parseAbi([
  ...structs,
  "function ecdsaBeefy() view returns (address)",
  "function sp1Beefy() view returns (address)",
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "function verify(bytes previousState, bytes encodedProof) view returns (bytes, IntermediateState[], uint256)",
  "error EmptyProof()",
  "error InvalidProofType(uint8 proofType)",
]);

/**
 * Errors of the BEEFY verifiers and of their dependencies: signatures, Merkle trees, and SP1's own verifier with its
 * gateway. Source: polytope-labs/hyperbridge: evm/src/consensus/{EcdsaBeefy,SP1Beefy}.sol;
 * polytope-labs/solidity-merkle-trees 1.1.0: src/MerkleMultiProof.sol; OpenZeppelin/openzeppelin-contracts 5:
 * utils/cryptography/ECDSA.sol; succinctlabs/sp1-contracts:
 * contracts/src/{ISP1VerifierGateway,v6.1.0/SP1VerifierGroth16,v6.1.0/Groth16Verifier}.sol.
 */
export const beefyVerifierAbi = parseAbi([
  "error UnknownAuthoritySet()",
  "error SuperMajorityRequired()",
  "error InvalidAuthoritiesProof()",
  "error InvalidMmrProof()",
  "error MmrRootHashMissing()",
  "error IllegalGenesisBlock()",
  "error TimestampNotFound()",
  "error StaleMmrLeaf()",
  "error ECDSAInvalidSignature()",
  "error ECDSAInvalidSignatureLength(uint256 length)",
  "error ECDSAInvalidSignatureS(bytes32 s)",
  "error LeafIndexOutOfBounds()",
  "error UnconsumedLeaves(uint256 len)",
  "error WrongVerifierSelector(bytes4 received, bytes4 expected)",
  "error InvalidExitCode()",
  "error InvalidVkRoot()",
  "error ProofInvalid()",
  "error PublicInputNotInField()",
  "error RouteNotFound(bytes4 selector)",
  "error RouteIsFrozen(bytes4 selector)",
]);

/** The part of ERC-20 that relayers and the devnet use. */
export const erc20Abi = parseAbi([
  "function decimals() view returns (uint8)",
  "function symbol() view returns (string)",
  "function balanceOf(address account) view returns (uint256)",
  "function allowance(address owner, address spender) view returns (uint256)",
  "function approve(address spender, uint256 amount) returns (bool)",
  "function transfer(address to, uint256 amount) returns (bool)",
]);

/** ERC-165 ids that distinguish handler generations: HandlerV2 with `batchCall`, and without. */
export const handlerInterfaceIds = { withBatchCall: "0x1cf34b27", withoutBatchCall: "0x744d77d5" } as const;

/** Name of an event of the host. */
export type HostEventName = Extract<typeof evmHostAbi[number], { type: "event" }>["name"];

/** topic0 of each event of the host by name. */
export const hostEventTopics = Object.fromEntries(
  evmHostAbi.flatMap((item) => item.type === "event" ? [[item.name, toEventSelector(item)]] : []),
) as Readonly<Record<HostEventName, Hex>>;
