/**
 * The part of the contracts' ABI that the devnet itself calls, typed for viem.
 * `devnet/evm/abi_test.ts` compares every line with what the compiler made.
 */
import { parseAbi } from "viem";

const STRUCTS = [
  "struct StateMachineHeight { uint256 stateMachineId; uint256 height; }",
  "struct StateCommitment { uint256 timestamp; bytes32 overlayRoot; bytes32 stateRoot; }",
  "struct HostParams { address feeToken; address admin; address handler; address hostManager; address uniswapV2; uint256 unStakingPeriod; uint256 challengePeriod; address consensusClient; uint256[] stateMachines; bytes hyperbridge; }",
  "struct FeeMetadata { uint256 fee; address sender; }",
  "struct ResponseReceipt { bytes32 responseCommitment; address relayer; }",
  "struct DispatchPost { bytes dest; bytes to; bytes body; uint64 timeout; uint256 fee; address payer; }",
  "struct DispatchGet { bytes dest; uint64 height; bytes[] keys; uint64 timeout; uint256 fee; bytes context; address payer; }",
] as const;

/** Reads, administration and events of a host. */
export const HOST_ABI = parseAbi([
  ...STRUCTS,
  "function initialize(HostParams params)",
  "function setConsensusState(bytes state, StateMachineHeight height, StateCommitment commitment)",
  "function setFrozenState(uint8 newState)",
  "function updateHostParams(HostParams params)",
  "function deleteStateMachineCommitment(StateMachineHeight height, address fisherman)",
  "function fundRequest(bytes32 commitment, uint256 amount) payable",
  "function hostParams() view returns (HostParams)",
  "function consensusState() view returns (bytes)",
  "function consensusUpdateTime() view returns (uint256)",
  "function latestStateMachineHeight(uint256 id) view returns (uint256)",
  "function stateMachineCommitment(StateMachineHeight height) payable returns (StateCommitment)",
  "function stateMachineCommitmentUpdateTime(StateMachineHeight height) view returns (uint256)",
  "function requestCommitments(bytes32 commitment) view returns (FeeMetadata)",
  "function requestReceipts(bytes32 commitment) view returns (address)",
  "function responseReceipts(bytes32 commitment) view returns (ResponseReceipt)",
  "function relayerOf(uint256 authoritySetId) view returns (address)",
  "function currentEpoch() view returns (uint256)",
  "function frozen() view returns (uint8)",
  "function vetoes(uint256 paraId, uint256 height) view returns (address)",
  "function nonce() view returns (uint256)",
  "event PostRequestEvent(string source, string dest, address indexed from, bytes to, uint256 nonce, uint256 timeoutTimestamp, bytes body, uint256 fee)",
  "event GetRequestEvent(string source, string dest, bytes from, bytes[] keys, uint256 height, uint256 nonce, uint256 timeoutTimestamp, bytes context, uint256 fee)",
  "event PostRequestHandled(bytes32 indexed commitment, address relayer)",
  "event GetRequestHandled(bytes32 indexed commitment, address relayer)",
  "event StateMachineUpdated(string stateMachineId, uint256 height)",
  "event NewEpoch(uint256 indexed authoritySetId, address indexed relayer)",
]);

/** What the devnet calls on a handler. */
export const HANDLER_ABI = parseAbi([
  "function handleConsensus(address host, bytes proof)",
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
]);

/** What the devnet calls on a host manager. */
export const HOST_MANAGER_ABI = parseAbi(["function setIsmpHost(address hostAddr)"]);

/** The application that sends and receives. */
export const PING_ABI = parseAbi([
  ...STRUCTS,
  "function ping(bytes dest, bytes to, uint256 count, uint256 fee, uint64 timeout)",
  "function send(DispatchPost post) returns (bytes32)",
  "function ask(DispatchGet get) returns (bytes32)",
  "function sent() view returns (uint256)",
  "function received() view returns (uint256)",
  "function answers(bytes) view returns (bytes)",
  "event Pong(string source, uint256 nonce, bytes body)",
]);

/** The fee token, with its faucet. */
export const FEE_TOKEN_ABI = parseAbi([
  "function mint(address to, uint256 value)",
  "function approve(address spender, uint256 value) returns (bool)",
  "function balanceOf(address) view returns (uint256)",
  "function decimals() view returns (uint8)",
]);

/** The price source. */
export const PRICE_ROUTER_ABI = parseAbi([
  "function WETH() view returns (address)",
  "function setPrice(uint256 price)",
  "function getAmountsIn(uint256 amountOut, address[] path) view returns (uint256[] amounts)",
]);
