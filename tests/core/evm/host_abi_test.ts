import { deepStrictEqual as equal } from "node:assert/strict";
import { type Abi, toEventSelector, toFunctionSelector } from "viem";
import vectors from "../../vectors/evm-abi.json" with { type: "json" };
import {
  consensusRouterAbi,
  evmHostAbi,
  handlerV2Abi,
  hostEventTopics,
  hostManagerAbi,
} from "../../../src/core/evm/host_abi.ts";

const contracts: Record<
  string,
  { readonly abi: Abi; readonly vector: Record<string, Record<string, string>> }
> = {
  EvmHost: { abi: evmHostAbi, vector: vectors.EvmHost },
  HandlerV2: { abi: handlerV2Abi, vector: vectors.HandlerV2 },
  HostManager: { abi: hostManagerAbi, vector: vectors.HostManager },
  ConsensusRouter: { abi: consensusRouterAbi, vector: vectors.ConsensusRouter },
};

for (const [name, { abi, vector }] of Object.entries(contracts)) {
  Deno.test(`ABI of ${name}: every selector and topic is one of the compiled contract`, () => {
    const functions = abi.flatMap((item) => item.type === "function" ? [toFunctionSelector(item)] : []);
    const events = abi.flatMap((item) => item.type === "event" ? [toEventSelector(item)] : []);
    const errors = abi.flatMap((item) =>
      item.type === "error"
        ? [toFunctionSelector({ ...item, type: "function", outputs: [], stateMutability: "view" })]
        : []
    );
    const declared = [[functions, "functions"], [events, "events"], [errors, "errors"]] as const;
    for (const [ids, kind] of declared) equal(ids.filter((id) => !Object.hasOwn(vector[kind] ?? {}, id)), []);
  });
}

Deno.test("ABI: each topic has the name of its event", () => {
  const events: Readonly<Record<string, string>> = vectors.EvmHost.events;
  for (const [name, topic] of Object.entries(hostEventTopics)) {
    equal(events[topic]?.replace(/^event (\w+)\(.*$/, "$1"), name);
  }
});
