/**
 * What the surroundings of a host do to it: the hub moves on, the admin freezes, governance changes a period,
 * a fisherman vetoes, somebody sends messages.
 */
import {
  type Abi,
  type Address,
  type ContractFunctionName,
  createWalletClient,
  encodeFunctionData,
  type EncodeFunctionDataParameters,
  type Hex,
  http,
  type LocalAccount,
  parseEther,
  parseEventLogs,
  stringToHex,
  type TransactionReceipt,
} from "viem";
import { FEE_TOKEN_ABI, HANDLER_ABI, HOST_ABI, PING_ABI, PRICE_ROUTER_ABI } from "./abi.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { compileContracts } from "./compile.ts";
import {
  createContract,
  type DeployedHostParams,
  DevnetTransactionFault,
  type IsmpHost,
  waitForReceipt,
} from "./deploy.ts";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { type BeefyClientState, decodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { authoritySetOf, type HubCommitment, signHubProof } from "./hub_proof.ts";

/** The next state of the hub to prove to a host. */
export interface HubAdvance extends Omit<HubCommitment, "paraId"> {
  /** The host's next set signs, and one of the next id with the same authority follows it. Default false. */
  readonly rotates?: boolean;
}

const FROZEN_CODES = { none: 0, incoming: 1, outgoing: 2, all: 3 } as const;

/** Who delivers the oracle's updates and vetoes. */
const { deployer, oracle, user } = DEVNET_ACCOUNTS;

/** The hub's consensus as the host knows it. */
export async function readHubConsensus(host: IsmpHost): Promise<BeefyClientState> {
  const { host: address } = host.addresses;
  const encoded = await host.reader.readContract({ address, abi: HOST_ABI, functionName: "consensusState" });
  const state = decodeBeefyClientState(fromHex(encoded));
  if (state === undefined) throw new Error(`${host.stateMachine} has no BEEFY client`);
  return state;
}

/** Newest height of the hub that the host knows; 1: none. */
export async function readHubHeight({ reader, addresses, hub }: IsmpHost): Promise<bigint> {
  const at = { address: addresses.host, abi: HOST_ABI, args: [hub.paraId] } as const;
  return await reader.readContract({ ...at, functionName: "latestStateMachineHeight" });
}

/** A proof that this host accepts now, with the router's byte; what a relayer would find on the hub. */
export async function proveHub(host: IsmpHost, { rotates = false, ...proved }: HubAdvance): Promise<Hex> {
  const { current, next, latestHeight } = await readHubConsensus(host);
  return await signHubProof({
    validatorSetId: rotates ? next.id : current.id,
    blockNumber: latestHeight + 1n,
    nextAuthoritySet: rotates ? authoritySetOf(oracle.address, next.id + 1n) : next,
    commitments: [{ paraId: host.hub.paraId, ...proved }],
  }, oracle);
}

/** Stores a made-up state of the hub on a host whose authority signs what it is given. */
export async function advanceHub(host: IsmpHost, advance: HubAdvance): Promise<TransactionReceipt> {
  return await deliverProof(host, await proveHub(host, advance));
}

/** Brings a proof of the hub to the host through `handleConsensus`, sent by the oracle account. */
export async function deliverProof(host: IsmpHost, proof: Hex): Promise<TransactionReceipt> {
  const args = [host.addresses.host, proof] as const;
  return await execute(
    host,
    host.addresses.handler,
    { abi: HANDLER_ABI, functionName: "handleConsensus", args },
    oracle,
  );
}

/** Calls a contract, by default as the deployer, who is the admin of all. */
export function execute<const abi extends Abi, name extends ContractFunctionName<abi>>(
  host: IsmpHost,
  to: Address,
  call: EncodeFunctionDataParameters<abi, name>,
  account: LocalAccount = deployer,
): Promise<TransactionReceipt> {
  return host.transact(account, { to, data: encodeFunctionData<abi, name>(call) });
}

/** Freezes or unfreezes the host, as its admin. */
export async function freezeHost(host: IsmpHost, status: keyof typeof FROZEN_CODES): Promise<void> {
  const args = [FROZEN_CODES[status]] as const;
  await execute(host, host.addresses.host, { abi: HOST_ABI, functionName: "setFrozenState", args });
}

/** Changes the challenge period (seconds), as governance through the host manager does. */
export async function setChallengePeriod(host: IsmpHost, seconds: bigint): Promise<void> {
  await updateHostParams(host, { challengePeriod: seconds });
}

/** Changes parameters of the host, as governance through the host manager does. */
export async function updateHostParams(
  host: IsmpHost,
  changes: Partial<DeployedHostParams>,
): Promise<void> {
  const { host: address, hostManager } = host.addresses;
  const before = await host.reader.readContract({ address, abi: HOST_ABI, functionName: "hostParams" });
  const data = encodeFunctionData({
    abi: HOST_ABI,
    functionName: "updateHostParams",
    args: [{ ...before, ...changes }],
  });
  await transactAs(host, hostManager, address, data);
}

/** Puts another handler in front of the host, as governance does with a new release; returns the old one's address. */
export async function replaceHandler(host: IsmpHost): Promise<Address> {
  const { Handler } = await compileContracts();
  const created = await createContract(host.transact, deployer, Handler);
  const { handler } = host.addresses;
  await updateHostParams(host, { handler: created });
  host.addresses.handler = created;
  return handler;
}

/** Deletes a stored hub height, as a fisherman's veto through the handler does. */
export async function vetoHub(host: IsmpHost, height: bigint): Promise<void> {
  const data = encodeFunctionData({
    abi: HOST_ABI,
    functionName: "deleteStateMachineCommitment",
    args: [{ stateMachineId: host.hub.paraId, height }, oracle.address],
  });
  await transactAs(host, host.addresses.handler, host.addresses.host, data);
}

/** Sets the price of the native token, in fee-token units; 0 makes the price source fail. */
export async function setNativePrice(host: IsmpHost, feeTokenPerNative: bigint): Promise<void> {
  const args = [feeTokenPerNative] as const;
  await execute(host, host.addresses.priceRouter, { abi: PRICE_ROUTER_ABI, functionName: "setPrice", args });
}

/** Mints fee tokens (in units) for anybody. */
export async function mintFeeTokens(host: IsmpHost, to: Address, units: bigint): Promise<void> {
  const args = [to, units] as const;
  await execute(host, host.addresses.feeToken, { abi: FEE_TOKEN_ABI, functionName: "mint", args });
}

/** Where the application that costs gas for nothing (`Hostile.sol`) stands. */
export const HOSTILE_MODULE = "0x00000000000000000000000000000000000000fd";

/** Puts that application on the chain; its address. */
export async function placeHostile({ node }: Pick<IsmpHost, "node">): Promise<Hex> {
  const { Hostile } = await compileContracts();
  await node.setCode({ address: HOSTILE_MODULE, bytecode: Hostile.deployedBytecode });
  return HOSTILE_MODULE;
}

/** Fee tokens of an account, units. */
export function feeTokensOn(host: IsmpHost, account: Hex): Promise<bigint> {
  const at = { address: host.addresses.feeToken, abi: FEE_TOKEN_ABI } as const;
  return host.reader.readContract({ ...at, functionName: "balanceOf", args: [account] });
}

/** A post to send through the ping application. */
export interface PingPost {
  /** State machine text of the destination, e.g. `EVM-31338` or the hub's. */
  readonly dest: string;
  /** Receiving module there. */
  readonly to: Hex;
  readonly body: Hex;
  /** Fee-token units. Default 0. */
  readonly fee?: bigint;
  /** Seconds from now. Default 0 = never. */
  readonly timeoutSec?: bigint;
}

/** Sends one post, as the user account. The receipt's logs hold the PostRequestEvent. */
export async function sendPost(host: IsmpHost, post: PingPost): Promise<TransactionReceipt> {
  const { to, body, timeoutSec: timeout = 0n, fee = 0n } = post;
  const args = [{ dest: stringToHex(post.dest), to, body, timeout, fee, payer: user.address }] as const;
  return await execute(host, host.addresses.ping, { abi: PING_ABI, functionName: "send", args }, user);
}

/** Sends `count` posts with bodies of their own in one transaction, as the user account. */
export async function sendPings(
  host: IsmpHost,
  pings: Omit<PingPost, "body"> & { readonly count: number },
): Promise<TransactionReceipt> {
  const { dest, to, count, fee = 0n, timeoutSec = 0n } = pings;
  const args = [stringToHex(dest), to, BigInt(count), fee, timeoutSec] as const;
  return await execute(host, host.addresses.ping, { abi: PING_ABI, functionName: "ping", args }, user);
}

/** A get to send through the ping application. */
export interface PingGet {
  readonly dest: string;
  readonly height: bigint;
  readonly keys: readonly Hex[];
  readonly context?: Hex;
  readonly fee?: bigint;
  readonly timeoutSec?: bigint;
}

/** Sends one get, as the user account. The receipt's logs hold the GetRequestEvent. */
export async function sendGet(host: IsmpHost, get: PingGet): Promise<TransactionReceipt> {
  const { height, keys, timeoutSec: timeout = 0n, fee = 0n, context = "0x" } = get;
  const dest = stringToHex(get.dest);
  const args = [{ dest, height, keys, timeout, fee, context, payer: user.address }] as const;
  return await execute(host, host.addresses.ping, { abi: PING_ABI, functionName: "ask", args }, user);
}

/** Number of messages the ping application of this chain has accepted. */
export async function countReceived(host: IsmpHost): Promise<bigint> {
  const { ping: address } = host.addresses;
  return await host.reader.readContract({ address, abi: PING_ABI, functionName: "received" });
}

/** Who delivered the request with this commitment, or undefined. */
export async function findDeliverer(
  { addresses, reader }: Pick<IsmpHost, "addresses" | "reader">,
  commitment: Hex,
): Promise<Address | undefined> {
  const read = { address: addresses.host, abi: HOST_ABI, functionName: "requestReceipts" } as const;
  const deliverer = await reader.readContract({ ...read, args: [commitment] });
  return BigInt(deliverer) === 0n ? undefined : deliverer;
}

/** Commitments of the deliveries that a transaction caused on this host, in order. */
export function deliveredIn(host: IsmpHost, receipt: TransactionReceipt): Hex[] {
  const logs = receipt.logs.filter((log) => log.address.toLowerCase() === host.addresses.host.toLowerCase());
  return parseEventLogs({ abi: HOST_ABI, logs, eventName: ["PostRequestHandled", "GetRequestHandled"] })
    .map((log) => log.args.commitment);
}

/** Sends a call as if `from`, a contract, had made it. */
async function transactAs(host: IsmpHost, from: Address, to: Address, data: Hex): Promise<void> {
  await host.node.setBalance({ address: from, value: parseEther("1") });
  await host.node.impersonateAccount({ address: from });
  const wallet = createWalletClient({ account: from, transport: http(host.rpcUrl) });
  const hash = await wallet.sendTransaction({ to, data, chain: null });
  const receipt = await waitForReceipt(host.reader, hash);
  await host.node.stopImpersonatingAccount({ address: from });
  if (receipt.status !== "success") throw new DevnetTransactionFault(hash, `A call of ${to} as ${from}`);
}
