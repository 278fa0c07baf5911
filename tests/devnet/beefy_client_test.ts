import assert from "node:assert/strict";
import {
  type Address,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  parseAbi,
  toFunctionSelector,
} from "viem";
import { toHex } from "../../src/core/protocol/bytes.ts";
import { readVectors } from "../core/protocol/consensus/vector_node.ts";
import { type Anvil, startAnvil } from "./evm/anvil.ts";
import { callRaw } from "./evm/call.ts";
import { compileContracts } from "./evm/compile.ts";
import { readerFor, transactor } from "./evm/deploy.ts";
import { DEVNET_ACCOUNTS } from "./evm/accounts.ts";

const abi = parseAbi([
  "function verify(bytes previousState, bytes proof) view returns (bytes, (uint256 stateMachineId, uint256 height, (uint256 timestamp, bytes32 overlayRoot, bytes32 stateRoot) commitment)[], uint256)",
]);
const accepted = (await readVectors("beefy-ecdsa-accepted.json")).list("cases");
const rejected = (await readVectors("beefy-ecdsa-rejected.json")).list("cases");

/** The router with the client behind both bytes, on a fresh node. */
async function startRouter(): Promise<
  { readonly node: Anvil; verify(state: Hex, proof: Hex): ReturnType<typeof callRaw> }
> {
  const node = await startAnvil({ chainId: 31337, extraArguments: ["--gas-limit", "100000000"] });
  const reader = readerFor({ rpcUrl: node.rpcUrl, chainId: 31337 });
  const transact = transactor(reader);
  const { EcdsaBeefy, ConsensusRouter } = await compileContracts();
  const deploy = async (data: Hex): Promise<Address> => {
    const { contractAddress } = await transact(DEVNET_ACCOUNTS.deployer, { data });
    assert.ok(contractAddress);
    return contractAddress;
  };
  const client = await deploy(
    encodeDeployData({ abi: EcdsaBeefy.abi, bytecode: EcdsaBeefy.bytecode, args: [] }),
  );
  const router = await deploy(
    encodeDeployData({
      abi: ConsensusRouter.abi,
      bytecode: ConsensusRouter.bytecode,
      args: [client, client],
    }),
  );
  const verify = (state: Hex, proof: Hex): ReturnType<typeof callRaw> =>
    callRaw(
      { reader },
      DEVNET_ACCOUNTS.user.address,
      router,
      encodeFunctionData({ abi, functionName: "verify", args: [state, proof] }),
    );
  return { node, verify };
}

Deno.test("the devnet's BEEFY contract answers every vector as the live one does", async (t) => {
  const { node, verify } = await startRouter();
  await using _ = node;
  for (const vector of accepted) {
    await t.step(`accepts ${vector.text("name")}`, async () => {
      const outcome = await verify(toHex(vector.bytes("trusted_state.abi")), toHex(vector.bytes("proof")));
      assert.equal(outcome.kind, "returned", outcome.data);
      const [state, heights, setId] = decodeFunctionResult({
        abi,
        functionName: "verify",
        data: outcome.data,
      });
      assert.equal(state, vector.text("expected.new_state_abi"));
      assert.equal(setId, vector.integer("expected.returned_authority_set_id"));
      const expected = vector.list("expected.intermediates").map((each) => ({
        stateMachineId: each.integer("stateMachineId"),
        height: each.integer("height"),
        commitment: {
          timestamp: each.integer("commitment.timestamp"),
          overlayRoot: each.text("commitment.overlayRoot"),
          stateRoot: each.text("commitment.stateRoot"),
        },
      }));
      assert.deepEqual(heights, expected);
    });
  }
  for (const vector of rejected) {
    await t.step(`refuses ${vector.text("name")} with ${vector.text("revert_name")}`, async () => {
      const outcome = await verify(toHex(vector.bytes("trusted_state_abi")), toHex(vector.bytes("proof")));
      assert.deepEqual(outcome, { kind: "reverted", data: vector.text("revert") });
    });
  }
});

Deno.test("names of the client's reverts have the selectors of the vectors", () => {
  for (const vector of rejected) {
    const name = vector.text("revert_name");
    if (!/^\w+\(\)$/.test(name)) continue;
    assert.equal(toFunctionSelector(name), vector.text("revert"), name);
  }
});
