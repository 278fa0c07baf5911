import assert from "node:assert/strict";
import { type EvmBlockHeader, parseHashedBlock } from "../../src/core/evm/block_header.ts";
import { startHeaderRewriter } from "./header_rewriter.ts";
import { startAnvil } from "./anvil.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { serveLocally } from "../../tests/support/test_server.ts";
import { waitUntil } from "../traffic/messages.ts";

async function ask(url: string, method: string, ...params: unknown[]): Promise<never> {
  return await resultHttp(url, method, params) as never;
}

async function header(url: string, block: number | string): Promise<ReturnType<typeof parseHashedBlock>> {
  const name = typeof block === "number" ? `0x${block.toString(16)}` : block;
  const method = name.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  return parseHashedBlock(await ask(url, method, name, false));
}

/** `null`: the node has not yet made the block. */
async function receiptOf(url: string, hash: string): Promise<{ readonly blockHash: string } | null> {
  return await ask(url, "eth_getTransactionReceipt", hash);
}

Deno.test("blocks of a rewritten chain have the hashes of their headers, are linked, and are found by them", async () => {
  await using node = await startAnvil({ chainId: 97 });
  await using shown = await startHeaderRewriter({
    upstream: node.rpcUrl,
    rule: (before) => ({ ...before, extraData: Uint8Array.of(7) }),
  });
  await ask(node.rpcUrl, "anvil_mine", "0x5");
  const parent = await header(shown.rpcUrl, 4);
  const child = await header(shown.rpcUrl, 5);
  assert.equal(child.header.parentHash, parent.hash);
  assert.deepEqual(child.header.extraData, Uint8Array.of(7));
  assert.deepEqual(await header(shown.rpcUrl, child.hash), child);
  assert.notEqual((await header(node.rpcUrl, 5)).hash, child.hash);
});

Deno.test("receipts name the rewritten block, and a reorganisation of the node is one of the rewritten chain", async () => {
  await using node = await startAnvil({ chainId: 97 });
  await using shown = await startHeaderRewriter({
    upstream: node.rpcUrl,
    rule: (before) => ({ ...before, extraData: Uint8Array.of(7) }),
  });
  const from = DEVNET_ACCOUNTS.oracle.address;
  await ask(shown.rpcUrl, "anvil_setBalance", from, "0xde0b6b3a7640000");
  await ask(shown.rpcUrl, "anvil_impersonateAccount", from);
  const snapshot = await ask(shown.rpcUrl, "evm_snapshot");
  const hash = await ask(shown.rpcUrl, "eth_sendTransaction", { from, to: from, value: "0x1" });
  await waitUntil(
    "the transaction is in a block",
    async () => (await receiptOf(shown.rpcUrl, hash)) !== null,
  );
  const before = await header(shown.rpcUrl, 1);
  assert.equal((await receiptOf(shown.rpcUrl, hash))?.blockHash, before.hash);
  await ask(shown.rpcUrl, "evm_revert", snapshot);
  await ask(shown.rpcUrl, "anvil_mine", "0x3", "0x5");
  const after = await header(shown.rpcUrl, 1);
  assert.notEqual(after.hash, before.hash);
  assert.equal(await ask(shown.rpcUrl, "eth_getBlockByHash", before.hash, false), null);
  assert.equal((await header(shown.rpcUrl, 2)).header.parentHash, after.hash);
});

Deno.test("a block that comes while an earlier head is followed is rewritten, too", async () => {
  await using node = await startAnvil({ chainId: 97 });
  const [isFollowing, isAnswered, mayFollow] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  assert.ok(isFollowing !== undefined && isAnswered !== undefined && mayFollow !== undefined);
  let holds = false;
  await using slow = serveLocally({}, async (request) => {
    const body = await request.text();
    const answer = await (await fetch(node.rpcUrl, { method: "POST", body, headers: JSON_HEADERS })).text();
    if (holds && body.includes("eth_blockNumber")) {
      holds = false;
      isFollowing.resolve();
      await mayFollow.promise;
    }
    if (body.includes('"0x1"')) isAnswered.resolve();
    return new Response(answer, { headers: JSON_HEADERS });
  });
  const rule = (before: EvmBlockHeader): EvmBlockHeader => ({ ...before, extraData: Uint8Array.of(7) });
  await using shown = await startHeaderRewriter({ upstream: `http://127.0.0.1:${slow.port}`, rule });
  holds = true;
  const earlier = header(shown.rpcUrl, 0);
  await isFollowing.promise;
  await ask(node.rpcUrl, "anvil_mine", "0x1");
  const found = header(shown.rpcUrl, 1);
  await isAnswered.promise;
  mayFollow.resolve();
  assert.equal((await found).header.parentHash, (await earlier).hash);
});

const JSON_HEADERS = { "content-type": "application/json" };
