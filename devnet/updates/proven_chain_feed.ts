/** How the compiled consensus relayer proves an EVM chain of a devnet to its hub. */
import type { Hub } from "../hub/hub.ts";
import type { FeedEnds } from "./program_feed.ts";
import type { ProvenChain } from "../chains/proven_chains.ts";

/** The direction from a chain to the hub. */
export function provenEnds(hub: Hub, chain: ProvenChain): FeedEnds {
  const { stateMachine, consensusStateId } = chain;
  return {
    direction: { from: stateMachine, to: hub.identity.stateMachine },
    receiver: hub,
    last: () => hub.latestHeight({ stateMachine, consensusStateId }) ?? 0n,
    newest: () => newestOf(chain),
    makeFinal: (wanted) => makeFinal(chain, wanted),
  };
}

async function newestOf({ node }: Pick<ProvenChain, "node">): Promise<bigint> {
  return BigInt(String(await ask(node.rpcUrl, "eth_blockNumber", [])));
}

/** Advances a chain until a block is final: with a block per transaction nobody else makes the blocks on top. */
export async function makeFinal(
  { beacon, node }: Pick<ProvenChain, "beacon" | "node">,
  wanted: bigint,
): Promise<void> {
  if (beacon !== undefined) await beacon.finalize(Number(wanted));
  else if (await newestOf({ node }) < wanted + 4n) await ask(node.rpcUrl, "anvil_mine", ["0x4"]);
}

async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const answer: { readonly result?: unknown } = await response.json();
  return answer.result;
}
