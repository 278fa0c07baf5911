/** What the contracts beside the handler answer on an EVM chain in memory: host, fee token, router, price oracle of an L2. */
import { decodeFunctionData, encodeFunctionResult, parseAbi, toFunctionSelector } from "viem";
import { type Hex, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { type Address, toAddress } from "../../src/core/evm/address.ts";
import { encodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { opStackOracle } from "../../src/core/evm/fee_oracles.ts";
import { evmHostAbi } from "../../src/core/evm/host_abi.ts";
import { type StateMachineId, stateMachineIdKey, toParaId } from "../../src/core/ismp/state_machine.ts";
import type { MemoryBlock } from "./memory_block.ts";
import type { Counterparty, HostState } from "./memory_host.ts";
import { wordOf } from "./memory_logs.ts";
import type { MemoryNode } from "./memory_node.ts";

/** Where a read happens. */
export interface ReadPlace {
  readonly node: MemoryNode;
  readonly host: Address;
  readonly hub: StateMachineId;
  readonly feeTokenDecimals: number;
  readonly price27: () => bigint | undefined;
  readonly block: MemoryBlock;
  readonly state: HostState;
}

const FEE_TOKEN = toAddress(toHex(new Uint8Array(20).fill(0xf1)));
const ROUTER = toAddress(toHex(new Uint8Array(20).fill(0xf2)));
const WRAPPED = toAddress(toHex(new Uint8Array(20).fill(0xf3)));
const MANAGER = toAddress(toHex(new Uint8Array(20).fill(0xf4)));
const CLIENT = toAddress(toHex(new Uint8Array(20).fill(0xf5)));
/** Who pays for every request. */
const PAYER = toHex(new Uint8Array(20).fill(0xf6));
const ZERO = wordOf(0);

const otherAbi = parseAbi([
  "function decimals() view returns (uint8)",
  "function WETH() view returns (address)",
  "function getAmountsIn(uint256 amountOut, address[] path) view returns (uint256[] amounts)",
  "function ecdsaBeefy() view returns (address)",
  "function gasPrice() view returns (uint256)",
  "function getL1Fee(bytes data) view returns (uint256)",
]);

/** Names of functions by selector. */
const names = new Map(
  [...evmHostAbi, ...otherAbi].flatMap((item) =>
    item.type === "function" ? [[toFunctionSelector(item), item.name] as const] : []
  ),
);

/** What a call returns; `undefined`: it reverts. */
export function readContract(
  at: ReadPlace,
  { to, data }: { readonly to: Hex; readonly data: Hex },
): Hex | undefined {
  const name = names.get(toHex10(data));
  const argument = toHash256(`${data.slice(10, 74).padEnd(64, "0")}`);
  if (to === at.host) return readHost(at, name, { data, argument });
  if (to === opStackOracle) return readOracle(at, name, data);
  if (to === FEE_TOKEN) return name === "decimals" ? wordOf(at.feeTokenDecimals) : undefined;
  if (to === CLIENT) return name === "ecdsaBeefy" ? addressWord(CLIENT) : undefined;
  if (to !== ROUTER) return "0x";
  if (name === "WETH") return addressWord(WRAPPED);
  const price27 = at.price27();
  if (name !== "getAmountsIn" || price27 === undefined) return undefined;
  const amount = price27 / 10n ** BigInt(27 - at.feeTokenDecimals);
  return encodeFunctionResult({ abi: otherAbi, functionName: "getAmountsIn", result: [amount, 10n ** 18n] });
}

function toHex10(data: Hex): Hex {
  return `0x${data.slice(2, 10)}`;
}

function addressWord(address: Hex): Hex {
  return `0x${address.slice(2).padStart(64, "0")}`;
}

function readOracle({ node }: ReadPlace, name: string | undefined, data: Hex): Hex | undefined {
  if (node.dataWeiPerByte === 0n) return "0x";
  if (name === "gasPrice") return wordOf(node.priceWei);
  if (name !== "getL1Fee") return undefined;
  const { args } = decodeFunctionData({ abi: otherAbi, data });
  return wordOf(node.dataWeiPerByte * BigInt((String(args?.[0]).length - 2) / 2 + 68));
}

function readHost(
  { node, hub, block, state, host }: ReadPlace,
  name: string | undefined,
  { data, argument }: { readonly data: Hex; readonly argument: ReturnType<typeof toHash256> },
): Hex | undefined {
  const known = (): Counterparty | undefined => state.counterparties.get(stateMachineIdKey(hub));
  const isHub = BigInt(argument) === BigInt(toParaId(hub.stateMachine));
  const stored = (): ReturnType<Counterparty["heights"]["get"]> =>
    isHub ? known()?.heights.get(BigInt(`0x0${data.slice(74, 138)}`)) : undefined;
  switch (name) {
    case "hostParams":
      return encodeParams(state.handler, node.challengePeriodSec, hub);
    case "latestStateMachineHeight":
      return wordOf(isHub ? known()?.latest || 1n : 0n);
    case "stateMachineCommitment": {
      const found = stored();
      return found === undefined
        ? `${ZERO}${"0".repeat(128)}`
        : `${wordOf(1)}${found.root.slice(2)}${found.root.slice(2)}`;
    }
    case "stateMachineCommitmentUpdateTime":
      return wordOf(stored()?.updatedAtSec ?? 0n);
    case "challengePeriod":
      return wordOf(node.challengePeriodSec);
    case "unStakingPeriod":
      return wordOf(1n << 40n);
    case "timestamp":
    case "consensusUpdateTime":
      return wordOf(block.timeSec);
    case "frozen":
      return wordOf(state.isFrozen ? 1 : 0);
    case "nonce":
      return wordOf(state.sent.size);
    case "requestReceipts":
      return addressWord(relayerIn(state, argument));
    case "responseReceipts":
      return `${argument}${addressWord(relayerIn(state, argument)).slice(2)}`;
    case "requestCommitments": {
      const fee = state.fees.get(argument);
      return `${wordOf(fee ?? 0n)}${addressWord(fee === undefined ? "0x" : PAYER).slice(2)}`;
    }
    case "consensusState":
      return encodeFunctionResult({
        abi: evmHostAbi,
        functionName: "consensusState",
        result: clientState(state, known()),
      });
    case "hyperbridge":
      return encodeFunctionResult({
        abi: evmHostAbi,
        functionName: "hyperbridge",
        result: textHex(hub.stateMachine),
      });
    default:
      void host;
      return undefined;
  }
}

function relayerIn({ receipts }: HostState, commitment: ReturnType<typeof toHash256>): Hex {
  const relayer = receipts.get(commitment);
  return relayer === undefined ? "0x" : toHex(relayer);
}

function textHex(text: string): Hex {
  return toHex(new TextEncoder().encode(text));
}

const encodedParams = new Map<string, Hex>();

function encodeParams(handler: Address, challengePeriod: bigint, { stateMachine }: StateMachineId): Hex {
  const key = `${handler} ${challengePeriod}`;
  const found = encodedParams.get(key);
  if (found !== undefined) return found;
  const encoded = encodeFunctionResult({
    abi: evmHostAbi,
    functionName: "hostParams",
    result: {
      feeToken: FEE_TOKEN,
      admin: MANAGER,
      handler,
      hostManager: MANAGER,
      uniswapV2: ROUTER,
      unStakingPeriod: 1n << 40n,
      challengePeriod,
      consensusClient: CLIENT,
      stateMachines: [BigInt(toParaId(stateMachine))],
      hyperbridge: textHex(stateMachine),
    },
  });
  encodedParams.set(key, encoded);
  return encoded;
}

/** The light client's state; of another client's layout where proofs do not travel with messages. */
function clientState({ setId }: HostState, known: Counterparty | undefined): Hex {
  if (setId === undefined) return toHex(new Uint8Array(96));
  const root = toHash256(new Uint8Array(32));
  return toHex(encodeBeefyClientState({
    latestHeight: known?.latest ?? 0n,
    beefyActivationBlock: 0n,
    current: { id: setId, length: 3, root },
    next: { id: setId + 1n, length: 3, root },
  }));
}
