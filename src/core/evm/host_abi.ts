/**
 * Typed ABI of the contracts that relayers call. Struct and field names are those of the contracts. Source:
 * polytope-labs/hyperbridge: evm/src/core/{EvmHost,HandlerV2,HostManager}.sol, evm/src/consensus/*.sol.
 */
import { parseAbi, toEventSelector } from "viem";
import type { Hex } from "../encoding/bytes.ts";
import { messageStructs } from "../ismp/message.ts";

const structs = [
  ...messageStructs,
  "struct SMHeight { uint256 stateMachineId; uint256 height; }",
  "struct Proof { SMHeight height; bytes32[] multiproof; uint256 leafCount; }",
  "struct StateCommitment { uint256 timestamp; bytes32 overlayRoot; bytes32 stateRoot; }",
  "struct FeeMetadata { uint256 fee; address sender; }",
  "struct ResponseReceipt { bytes32 responseCommitment; address relayer; }",
  "struct HostParams { address feeToken; address admin; address handler; address hostManager; address uniswapV2; uint256 unStakingPeriod; uint256 challengePeriod; address consensusClient; uint256[] stateMachines; bytes hyperbridge; }",
  "struct PostRequestLeaf { PostRequest request; uint256 index; }",
  "struct GetResponseLeaf { GetResponse response; uint256 index; }",
  "struct PostRequestMessage { Proof proof; PostRequestLeaf[] requests; }",
  "struct GetResponseMessage { Proof proof; GetResponseLeaf[] responses; }",
  "struct IncomingPostRequest { PostRequest request; address relayer; }",
  "struct IncomingGetResponse { GetResponse response; address relayer; }",
] as const;

/** EvmHost (and TestnetHost): what relayers read of it, its events, and errors that reach them. */
export const evmHostAbi = parseAbi([
  ...structs,
  "function challengePeriod() view returns (uint256)",
  "function consensusState() view returns (bytes)",
  "function consensusUpdateTime() view returns (uint256)",
  "function dispatchIncoming(PostRequest request, address relayer)",
  "function dispatchIncoming(GetResponse response, address relayer)",
  "function frozen() view returns (uint8)",
  "function hostParams() view returns (HostParams)",
  "function hyperbridge() view returns (bytes)",
  "function latestStateMachineHeight(uint256 id) view returns (uint256)",
  "function nonce() view returns (uint256)",
  "function requestCommitments(bytes32 commitment) view returns (FeeMetadata)",
  "function requestReceipts(bytes32 commitment) view returns (address)",
  "function responseReceipts(bytes32 commitment) view returns (ResponseReceipt)",
  "function stateMachineCommitment(SMHeight height) payable returns (StateCommitment)",
  "function stateMachineCommitmentUpdateTime(SMHeight height) view returns (uint256)",
  "function timestamp() view returns (uint256)",
  "event GetRequestEvent(string source, string dest, bytes from, bytes[] keys, uint256 height, uint256 nonce, uint256 timeoutTimestamp, bytes context, uint256 fee)",
  "event GetRequestHandled(bytes32 indexed commitment, address relayer)",
  "event GetRequestTimeoutHandled(bytes32 indexed commitment, string dest)",
  "event HostFrozen(uint8 status)",
  "event NewEpoch(uint256 indexed authoritySetId, address indexed relayer)",
  "event PostRequestEvent(string source, string dest, address indexed from, bytes to, uint256 nonce, uint256 timeoutTimestamp, bytes body, uint256 fee)",
  "event PostRequestHandled(bytes32 indexed commitment, address relayer)",
  "event PostRequestTimeoutHandled(bytes32 indexed commitment, string dest)",
  "event RequestFunded(bytes32 indexed commitment, uint256 newFee)",
  "event StateCommitmentVetoed(string stateMachineId, uint256 height, StateCommitment stateCommitment, address indexed fisherman)",
  "event StateMachineUpdated(string stateMachineId, uint256 height)",
  "error FrozenHost()",
  "error InvalidAddressLength()",
  "error UnauthorizedAction()",
  "error UnknownRequest()",
]);

/** HandlerV2: the only caller of the host's incoming functions; anyone may call it. */
export const handlerV2Abi = parseAbi([
  ...structs,
  "function batchCall(bytes[] calls)",
  "function handleConsensus(address host, bytes proof)",
  "function handleGetResponses(address host, GetResponseMessage message)",
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
  "function onAccept(IncomingPostRequest incoming)",
  "function onGetResponse(IncomingGetResponse)",
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "error UnauthorizedAction()",
]);

/** ConsensusRouter: picks the verifier by the first byte of the proof. */
export const consensusRouterAbi = parseAbi([
  ...structs,
  "function ecdsaBeefy() view returns (address)",
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
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
  "function balanceOf(address account) view returns (uint256)",
]);

/** ERC-165 id of a HandlerV2 with `batchCall`; the generation before has another one. */
export const BATCHING_HANDLER = "0x1cf34b27";

/** Name of an event of the host. */
export type HostEventName = Extract<typeof evmHostAbi[number], { type: "event" }>["name"];

/** topic0 of each event of the host by name. */
export const hostEventTopics = Object.fromEntries(
  evmHostAbi.flatMap((item) => item.type === "event" ? [[item.name, toEventSelector(item)]] : []),
) as Readonly<Record<HostEventName, Hex>>;
