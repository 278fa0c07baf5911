/**
 * Puts one ISMP host with everything around it on an EVM chain.
 * Start reading at {@link deployIsmpHost}; what can be done to the host afterwards is in `host_admin.ts`.
 */
import {
  type Abi,
  type Address,
  type Chain,
  concat,
  type ContractFunctionName,
  createPublicClient,
  createTestClient,
  defineChain,
  encodeDeployData,
  encodeFunctionData,
  type EncodeFunctionDataParameters,
  getContractAddress,
  type Hash,
  type Hex,
  http,
  type LocalAccount,
  numberToHex,
  type PublicClient,
  stringToHex,
  type TestClient,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { type BeefyClientState, encodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { FEE_TOKEN_ABI, HOST_ABI, HOST_MANAGER_ABI } from "./abi.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { type Artifact, type Artifacts, compileContracts } from "./compile.ts";
import { initialConsensusState } from "./hub_proof.ts";
import { Patience, pause } from "../waiting.ts";

/** The hub as EVM hosts know it. */
export interface HubParams {
  /** E.g. `KUSAMA-4009`. */
  readonly stateMachine: string;
  /** The number in it. */
  readonly paraId: bigint;
}

/** How the host is set up; units in the names. */
export interface DeployOptions {
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly hub: HubParams;
  /** Default 0: messages can be proved against a hub height as soon as it is stored. */
  readonly challengePeriodSec?: bigint;
  /** Of the fee token. Default 18. */
  readonly decimals?: number;
  /** Fee-token units for one native token. Default 2,000 tokens. */
  readonly feeTokenPerNative?: bigint;
  /**
   * What the host trusts of the relay chain. Default: sets 1 and 2, whose only member is the oracle account, so that
   * `hub_proof.ts` can prove anything to it.
   */
  readonly beefyState?: BeefyClientState;
  /** `apk`: a client whose authority sets have a fourth field, so that its state has ten words. Default `router`. */
  readonly client?: "router" | "apk";
  /** Deploy the verifier that accepts anything behind proof byte 0x01 (known answers only). Default false. */
  readonly acceptsUnsignedProofs?: boolean;
}

/** Where everything is. The same on every fresh chain, since they follow from the deployer's nonces. */
export interface HostAddresses {
  readonly feeToken: Address;
  readonly wrappedNative: Address;
  readonly priceRouter: Address;
  readonly consensusClient: Address;
  /** Governance may replace it: see `replaceHandler`. */
  handler: Address;
  /** Governance may replace it: see `gateManager`. */
  hostManager: Address;
  readonly host: Address;
  readonly ping: Address;
}

/** A deployed host with the means to act on it. */
export interface IsmpHost {
  readonly rpcUrl: string;
  readonly chainId: number;
  /** `EVM-<chain id>`. */
  readonly stateMachine: string;
  readonly hub: HubParams;
  readonly addresses: HostAddresses;
  readonly reader: PublicClient;
  /** anvil's own methods: time, mining, impersonation, storage. */
  readonly node: TestClient;
  /** Sends one call and waits for its receipt; calls of one account go one after another. Reverts throw. */
  transact(account: LocalAccount, call: HostCall): Promise<TransactionReceipt>;
}

/** The parameters of a host as `hostParams()` returns them; periods in seconds. */
export interface DeployedHostParams {
  readonly feeToken: Address;
  readonly admin: Address;
  readonly handler: Address;
  readonly hostManager: Address;
  readonly uniswapV2: Address;
  readonly unStakingPeriod: bigint;
  readonly challengePeriod: bigint;
  readonly consensusClient: Address;
  readonly stateMachines: readonly bigint[];
  readonly hyperbridge: Hex;
}

/** A call to send. */
export interface HostCall {
  /** Unset: a contract is created. */
  readonly to?: Address;
  readonly data: Hex;
  readonly valueWei?: bigint;
  /** Default: the node's estimate. */
  readonly gas?: bigint;
}

/** A transaction of the devnet itself was mined with status 0. */
export class DevnetTransactionFault extends Error {
  override readonly name = "DevnetTransactionFault";
  constructor(readonly hash: Hash, what: string) {
    super(`${what} reverted in transaction ${hash}`);
  }
}

/** 21 days. */
const UNSTAKING_SEC = 1_814_400n;

/** 1,000,000 tokens (at 18 decimals) for everybody who pays fees. */
const FAUCET_UNITS = 10n ** 24n;

/**
 * Deploys fee token, price source, light client, handler, host manager, host and ping application from the deployer
 * account, and initialises them. Takes about 0.3 s after the contracts are compiled.
 *
 * The order of the steps is that of the upstream test deployment, whose addresses occur in the known answers; do not
 * change it.
 */
export async function deployIsmpHost(options: DeployOptions): Promise<IsmpHost> {
  const artifacts = await compileContracts();
  const reader = readerFor(options);
  const deployer = DEVNET_ACCOUNTS.deployer;
  const first = await reader.getTransactionCount({ address: deployer.address, blockTag: "pending" });
  const addressAt = (step: number): Address =>
    getContractAddress({ from: deployer.address, nonce: BigInt(first + step) });
  const addresses: HostAddresses = {
    feeToken: addressAt(0),
    wrappedNative: addressAt(1),
    priceRouter: addressAt(2),
    consensusClient: addressAt(5),
    handler: addressAt(6),
    hostManager: addressAt(7),
    host: addressAt(8),
    ping: addressAt(12),
  };
  const steps = deploymentSteps(artifacts, options, addresses, [addressAt(3), addressAt(4)]);
  await sendInOrder(reader, steps, first);
  return {
    rpcUrl: options.rpcUrl,
    chainId: options.chainId,
    stateMachine: `EVM-${options.chainId}`,
    hub: options.hub,
    addresses,
    reader,
    node: nodeAt(options),
    transact: transactor(reader),
  };
}

interface Step {
  readonly what: string;
  /** Unset: a contract is created. */
  readonly to?: Address;
  readonly data: Hex;
  readonly gas: bigint;
}

/** A client of a node; asks again soon, remembers nothing. */
export function readerFor(
  options: Pick<DeployOptions, "rpcUrl" | "chainId">,
): PublicClient & { chain: Chain } {
  const chain = defineChain({
    id: options.chainId,
    name: `devnet ${options.chainId}`,
    nativeCurrency: { name: "Devnet native", symbol: "DEV", decimals: 18 },
    rpcUrls: { default: { http: [options.rpcUrl] } },
  });
  return createPublicClient({ chain, transport: http(options.rpcUrl), pollingInterval: 50, cacheTime: 0 });
}

/** anvil's own methods of a node. */
export function nodeAt({ rpcUrl }: Pick<DeployOptions, "rpcUrl">): TestClient {
  return createTestClient({ mode: "anvil", transport: http(rpcUrl) });
}

function deploymentSteps(
  artifacts: Artifacts,
  options: DeployOptions,
  at: HostAddresses,
  [sp1Verifier, ecdsaVerifier]: readonly [Address, Address],
): Step[] {
  const deployer = DEVNET_ACCOUNTS.deployer.address;
  const zero = numberToHex(0, { size: 32 });
  const decimals = options.decimals ?? 18;
  const price = options.feeTokenPerNative ?? 2_000n * 10n ** BigInt(decimals);
  const trusted = options.beefyState ?? initialConsensusState(DEVNET_ACCOUNTS.oracle.address);
  const sp1 = options.acceptsUnsignedProofs ? artifacts.PassThroughVerifier : artifacts.EcdsaBeefy;
  return [
    create("fee token", artifacts.FeeToken, ["Devnet dollar", "DUSD", decimals]),
    create("wrapped native token", artifacts.FeeToken, ["Wrapped native", "WDEV", 18]),
    create("price router", artifacts.PriceRouter, [at.wrappedNative, price]),
    create("verifier of type 1", sp1),
    create("verifier of type 0", artifacts.EcdsaBeefy),
    create(
      "consensus router",
      options.client === "apk" ? artifacts.ApkRouter : artifacts.ConsensusRouter,
      [sp1Verifier, ecdsaVerifier],
    ),
    create("handler", artifacts.Handler),
    create("host manager", artifacts.HostManager, [{ admin: deployer, host: deployer }]),
    create("host", artifacts.Host, [deployer]),
    call(at.host, { abi: HOST_ABI, functionName: "initialize", args: [hostParams(options, at)] }),
    call(at.hostManager, { abi: HOST_MANAGER_ABI, functionName: "setIsmpHost", args: [at.host] }),
    call(at.host, {
      abi: HOST_ABI,
      functionName: "setConsensusState",
      args: [
        options.client === "apk" ? encodeApkState(trusted) : toHex(encodeBeefyClientState(trusted)),
        { stateMachineId: options.hub.paraId, height: 1n },
        { timestamp: 0n, overlayRoot: zero, stateRoot: zero },
      ],
    }),
    create("ping", artifacts.Ping, [at.host]),
    ...[at.ping, DEVNET_ACCOUNTS.user.address].map((to) =>
      call(at.feeToken, { abi: FEE_TOKEN_ABI, functionName: "mint", args: [to, FAUCET_UNITS] })
    ),
  ];
}

/** Ten words: sets with a commitment to keys that nobody here has. */
function encodeApkState({ latestHeight, beefyActivationBlock, current, next }: BeefyClientState): Hex {
  const sets = [current, next].flatMap((
    { id, length, root },
  ) => [id, BigInt(length), BigInt(root), BigInt(root) >> 8n]);
  return concat(
    [latestHeight, beefyActivationBlock, ...sets].map((word) => numberToHex(word, { size: 32 })),
  );
}

function hostParams(options: DeployOptions, at: HostAddresses): DeployedHostParams {
  return {
    feeToken: at.feeToken,
    admin: DEVNET_ACCOUNTS.deployer.address,
    handler: at.handler,
    hostManager: at.hostManager,
    uniswapV2: at.priceRouter,
    unStakingPeriod: UNSTAKING_SEC,
    challengePeriod: options.challengePeriodSec ?? 0n,
    consensusClient: at.consensusClient,
    stateMachines: [options.hub.paraId],
    hyperbridge: stringToHex(options.hub.stateMachine),
  };
}

/** Gas is computed, not estimated: a step may depend on one before it that is not mined yet. */
function create(what: string, artifact: Artifact, args: readonly unknown[] = []): Step {
  const data = encodeDeployData({ abi: artifact.abi, bytecode: artifact.bytecode, args });
  // 200 gas per byte of code, up to 16 + 40 (EIP-7623) per byte of data, and room for the constructor.
  return { what, data, gas: 600_000n + BigInt(artifact.bytecode.length) * 130n };
}

function call<const abi extends Abi, name extends ContractFunctionName<abi>>(
  to: Address,
  what: EncodeFunctionDataParameters<abi, name>,
): Step {
  const data = encodeFunctionData<abi, name>(what);
  return { what: String(what.functionName), to, data, gas: 1_000_000n };
}

/** Sends all steps with fixed nonces without waiting in between, then checks every receipt. */
async function sendInOrder(reader: PublicClient, steps: readonly Step[], firstNonce: number): Promise<void> {
  const gasPrice = await reader.getGasPrice() * 2n;
  const hashes: Hash[] = [];
  for (const [index, step] of steps.entries()) {
    const signed = await DEVNET_ACCOUNTS.deployer.signTransaction({
      type: "legacy",
      chainId: reader.chain?.id ?? 0,
      nonce: firstNonce + index,
      gasPrice,
      gas: step.gas,
      data: step.data,
      ...(step.to === undefined ? {} : { to: step.to }),
    });
    hashes.push(await reader.sendRawTransaction({ serializedTransaction: signed }));
  }
  for (const [index, hash] of hashes.entries()) {
    const receipt = await waitForReceipt(reader, hash);
    if (receipt.status !== "success") throw new DevnetTransactionFault(hash, steps[index]?.what ?? "A step");
  }
}

/** Creates a contract; its address. */
export async function createContract(
  transact: IsmpHost["transact"],
  account: LocalAccount,
  { abi, bytecode }: Pick<Artifact, "abi" | "bytecode">,
  args: readonly unknown[] = [],
): Promise<Address> {
  const { contractAddress } = await transact(account, { data: encodeDeployData({ abi, bytecode, args }) });
  if (contractAddress) return contractAddress;
  throw new Error("No contract was created");
}

/** Sends calls and waits for their receipts; those of one account go one after another. Reverts throw. */
export function transactor(reader: PublicClient): IsmpHost["transact"] {
  const last = new Map<Address, Promise<unknown>>();
  return (account, request) => {
    const before = last.get(account.address) ?? Promise.resolve();
    const mine = before.then(() => sendAndWait(reader, account, request));
    // The next call of this account follows whether or not this one fails.
    last.set(account.address, mine.catch(() => undefined));
    return mine;
  };
}

async function sendAndWait(
  reader: PublicClient,
  account: LocalAccount,
  request: HostCall,
): Promise<TransactionReceipt> {
  const { data } = request;
  const place = request.to === undefined ? {} : { to: request.to };
  const value = request.valueWei ?? 0n;
  const [nonce, gasPrice, gas] = await Promise.all([
    reader.getTransactionCount({ address: account.address, blockTag: "pending" }),
    reader.getGasPrice(),
    request.gas ??
      reader.estimateGas({ account: account.address, ...place, data, value }).then((each) => each * 3n / 2n),
  ]);
  const serializedTransaction = await account.signTransaction({
    type: "legacy",
    chainId: reader.chain?.id ?? 0,
    nonce,
    gasPrice,
    gas,
    ...place,
    data,
    value,
  });
  const hash = await reader.sendRawTransaction({ serializedTransaction });
  const receipt = await waitForReceipt(reader, hash);
  if (receipt.status !== "success") throw new DevnetTransactionFault(hash, `A call of ${request.to}`);
  return receipt;
}

/** Milliseconds between two polls for a receipt, at first and at most: it is there at once, or with the next block. */
const RECEIPT_POLL_MS = 10;
const MAX_RECEIPT_POLL_MS = 100;

/**
 * The receipt of a transaction that was sent. Used instead of viem's wait, which leaves timers behind.
 * @throws {TransactionReceiptNotFoundError} when it is not mined within four minutes.
 */
export async function waitForReceipt(reader: PublicClient, hash: Hash): Promise<TransactionReceipt> {
  const patience = new Patience();
  for (let pauseMs = RECEIPT_POLL_MS;; pauseMs = Math.min(2 * pauseMs, MAX_RECEIPT_POLL_MS)) {
    try {
      return await reader.getTransactionReceipt({ hash });
    } catch (error) {
      if (!isNotThereYet(error) || patience.isOver) throw error;
    }
    await pause(pauseMs);
  }
}

/** Geth may not have indexed a new block yet. Source: ethereum/go-ethereum: internal/ethapi/errors.go. */
function isNotThereYet(error: unknown): boolean {
  return error instanceof TransactionReceiptNotFoundError ||
    (error instanceof Error && error.message.includes("transaction indexing is in progress"));
}
