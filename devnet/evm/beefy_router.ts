/** The devnet's BEEFY client behind its consensus router, on a node of its own. */
import { decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from "viem";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { startAnvil } from "./anvil.ts";
import { type CallOutcome, callRaw } from "./call.ts";
import { compileContracts } from "./compile.ts";
import { createContract, readerFor, transactor } from "./deploy.ts";

const abi = parseAbi([
  "function verify(bytes previousState, bytes proof) view returns (bytes, (uint256 stateMachineId, uint256 height, (uint256 timestamp, bytes32 overlayRoot, bytes32 stateRoot) commitment)[], uint256)",
]);

/** What the client answers to a proof that it takes: new state, heights, id of the next set. */
export function decodeVerified(data: Hex): ReturnType<typeof decodeFunctionResult<typeof abi, "verify">> {
  return decodeFunctionResult({ abi, functionName: "verify", data });
}

/** A deployed client. */
export interface BeefyRouter extends AsyncDisposable {
  /** What the client says to a proof. */
  verify(state: Hex, proof: Hex): Promise<CallOutcome>;
}

/** The router with the client behind both kinds of proof. */
export async function startBeefyRouter(): Promise<BeefyRouter> {
  const node = await startAnvil({ chainId: 31337, extraArguments: ["--gas-limit", "100000000"] });
  const reader = readerFor({ rpcUrl: node.rpcUrl, chainId: 31337 });
  const transact = transactor(reader);
  const { EcdsaBeefy, ConsensusRouter } = await compileContracts();
  const client = await createContract(transact, DEVNET_ACCOUNTS.deployer, EcdsaBeefy);
  const router = await createContract(transact, DEVNET_ACCOUNTS.deployer, ConsensusRouter, [client, client]);
  return {
    verify: (state, proof) =>
      callRaw(
        { reader },
        DEVNET_ACCOUNTS.user.address,
        router,
        encodeFunctionData({ abi, functionName: "verify", args: [state, proof] }),
      ),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}
