/** Deliveries in call data of HandlerV2, as a node in memory reads them; see src/core/evm/handler_calls.ts. */
import { type ContractFunctionArgs, decodeFunctionData, type DecodeFunctionDataReturnType } from "viem";
import type { Delivery } from "../../src/core/chains/submission.ts";
import { fromHex, type Hex, toHash256 } from "../../src/core/encoding/bytes.ts";
import { handlerV2Abi as abi } from "../../src/core/evm/host_abi.ts";
import { getResponseMessage, type Message, postMessage } from "../../src/core/ismp/message.ts";
import { stateMachineFromBytes, type StateMachineId } from "../../src/core/ismp/state_machine.ts";

type Step = Delivery["steps"][number];
type PostArguments = ContractFunctionArgs<typeof abi, "nonpayable", "handlePostRequests">;
type ResponseArguments = ContractFunctionArgs<typeof abi, "nonpayable", "handleGetResponses">;
type Leaf = { readonly message: Message; readonly index: bigint };

/** The delivery that call data carries; `undefined`: it is none. */
export function deliveryIn(data: Hex, hub: StateMachineId): Delivery | undefined {
  let call: DecodeFunctionDataReturnType<typeof abi>;
  try {
    call = decodeFunctionData({ abi, data });
  } catch {
    return undefined; // viem reports everything that it cannot decode by throwing
  }
  switch (call.functionName) {
    case "batchCall":
      return { steps: call.args[0].flatMap((each) => deliveryIn(each, hub)?.steps ?? []) };
    case "handleConsensus":
      return { steps: [{ kind: "consensus", proof: fromHex(call.args[1]) }] };
    case "handlePostRequests": {
      const [, { proof, requests }] = call.args;
      return { steps: [stepOf(requests.map(postLeaf), proof, hub)] };
    }
    case "handleGetResponses": {
      const [, { proof, responses }] = call.args;
      return { steps: [stepOf(responses.map(responseLeaf), proof, hub)] };
    }
    default:
      return undefined;
  }
}

function stepOf(
  leaves: readonly Leaf[],
  { height: { height }, leafCount, multiproof }: PostArguments[1]["proof"],
  hub: StateMachineId,
): Step {
  return {
    kind: "messages",
    messages: leaves.map(({ message }) => message),
    proof: {
      kind: "mmr",
      height: { id: hub, height },
      leafCount,
      items: multiproof.map((item) => toHash256(item)),
      leafIndices: leaves.map(({ index }) => index),
    },
  };
}

function postLeaf({ request, index }: PostArguments[1]["requests"][number]): Leaf {
  const { source, dest, nonce, from, to, timeoutTimestamp, body } = request;
  const message = postMessage({
    source: stateMachineFromBytes(fromHex(source)),
    dest: stateMachineFromBytes(fromHex(dest)),
    nonce,
    from: fromHex(from),
    to: fromHex(to),
    timeoutTimestampSec: timeoutTimestamp,
    body: fromHex(body),
  });
  return { message, index };
}

/** Empty values read as absent. */
function responseLeaf(
  { response: { request, values }, index }: ResponseArguments[1]["responses"][number],
): Leaf {
  const { source, dest, nonce, from, timeoutTimestamp, keys, height, context } = request;
  const message = getResponseMessage({
    get: {
      source: stateMachineFromBytes(fromHex(source)),
      dest: stateMachineFromBytes(fromHex(dest)),
      nonce,
      from: fromHex(from),
      keys: keys.map(fromHex),
      height,
      context: fromHex(context),
      timeoutTimestampSec: timeoutTimestamp,
    },
    values: values.map(({ key, value }) => ({
      key: fromHex(key),
      value: value === "0x" ? undefined : fromHex(value),
    })),
  });
  return { message, index };
}
