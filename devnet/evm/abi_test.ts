// The compiled contracts speak the ABI of the live ones, and keep their state in the same slots.
import assert from "node:assert/strict";
import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  type AbiParameter,
  parseAbiItem,
  toEventSelector,
  toFunctionSelector,
} from "viem";
import { FEE_TOKEN_ABI, HANDLER_ABI, HOST_ABI, HOST_MANAGER_ABI, PING_ABI, PRICE_ROUTER_ABI } from "./abi.ts";
import { compileContracts, type ContractName } from "./compile.ts";
import known from "../../tests/vectors/evm-abi.json" with { type: "json" };

interface KnownContract {
  readonly functions: Readonly<Record<string, string>>;
  readonly events: Readonly<Record<string, string>>;
  readonly errors?: Readonly<Record<string, string>>;
}

const PAIRS: readonly [ContractName, KnownContract][] = [
  ["Host", known.EvmHost],
  ["Handler", known.HandlerV2],
  ["HostManager", known.HostManager],
  ["ConsensusRouter", known.ConsensusRouter],
];

/** What the live contracts have and ours do without: quotes for dapps, and an error that nothing raises. */
const LEFT_OUT = new Set(["0x108bc1dd", "0x67418a1a", "0xa97ff08a"]);

/** Types alone, tuples spelled out: names do not travel. */
function types(parameters: readonly AbiParameter[]): string {
  return parameters.map((each) => {
    if (!("components" in each)) return each.type;
    return `(${types(each.components)})${each.type.slice("tuple".length)}`;
  }).join(",");
}

function describe(item: AbiFunction): string {
  // A contract may promise more than it must (pure, view); but what takes value elsewhere has to take it here.
  const state = item.stateMutability === "payable" ? "payable" : "";
  return `${item.name}(${types(item.inputs)}) ${state} returns (${types(item.outputs)})`;
}

function describeEvent(item: AbiEvent): string {
  return `${item.name}(${types(item.inputs)}) indexed ${item.inputs.map((each) => each.indexed === true)}`;
}

function describeAll(abi: Abi): Map<string, string> {
  const found = new Map<string, string>();
  for (const item of abi) {
    if (item.type === "function") found.set(toFunctionSelector(item), describe(item));
    if (item.type === "event") found.set(toEventSelector(item), describeEvent(item));
    if (item.type === "error") {
      found.set(
        toFunctionSelector(`${item.name}(${types(item.inputs)})`),
        `${item.name}(${types(item.inputs)})`,
      );
    }
  }
  return found;
}

function knownItems(contract: KnownContract): Abi {
  const lines = [contract.functions, contract.events, contract.errors ?? {}].flatMap((each) =>
    Object.values(each)
  );
  return lines.map((line) => parseAbiItem([line] as readonly string[]) as Abi[number]);
}

for (const [name, contract] of PAIRS) {
  Deno.test(`devnet contracts: ${name} has the functions, events and errors of the live contract and no others`, async () => {
    const ours = describeAll((await compileContracts())[name].abi);
    const theirs = describeAll(knownItems(contract));
    for (const selector of Object.keys({ ...contract.functions, ...contract.events, ...contract.errors })) {
      assert.ok(theirs.has(selector), `the known answer computes to its own key ${selector}`);
    }
    for (const selector of LEFT_OUT) theirs.delete(selector);
    assert.deepEqual(new Map([...ours].sort()), new Map([...theirs].sort()));
  });
}

Deno.test("devnet contracts: the typed ABI is what the compiler made", async () => {
  const artifacts = await compileContracts();
  const typed: readonly [ContractName, Abi][] = [
    ["Host", HOST_ABI],
    ["Handler", HANDLER_ABI],
    ["HostManager", HOST_MANAGER_ABI],
    ["Ping", PING_ABI],
    ["FeeToken", FEE_TOKEN_ABI],
    ["PriceRouter", PRICE_ROUTER_ABI],
  ];
  for (const [name, abi] of typed) {
    const compiled = describeAll(artifacts[name].abi);
    for (const [selector, text] of describeAll(abi)) assert.equal(compiled.get(selector), text, name);
  }
});

Deno.test("devnet contracts: the host keeps its variables in slots 0 to 23 in the order of the live host", async () => {
  const { storage } = (await compileContracts()).Host;
  assert.deepEqual(Object.fromEntries(storage.map((each) => [each.label, Number(each.slot)])), {
    _requestCommitments: 0,
    _requestReceipts: 1,
    _responseReceipts: 2,
    _stateCommitments: 3,
    _stateCommitmentsUpdateTime: 4,
    _latestStateMachineHeight: 5,
    _vetoes: 6,
    _hostParams: 7,
    _nonce: 17,
    _frozen: 18,
    _consensusState: 19,
    _consensusUpdateTimestamp: 20,
    _epochs: 21,
    _currentEpoch: 22,
    _initialized: 23,
  });
});
