/** One reader for the rollups of an L1: who shares it, and what is never mixed. */
import assert from "node:assert/strict";
import { type EvmReader, L1Readers } from "../../../src/consensus/evm_reader.ts";
import { EndpointUrl } from "../../../src/core/config/redact.ts";
import { toHash256 } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { evmStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { platformFetch } from "../../../src/core/rpc/http.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { ScriptedRpc } from "../../support/scripted_rpc.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { never } from "./fixture.ts";

const deps = {
  fetch: platformFetch,
  clock: systemClock,
  randomness: seededRandomness(1),
  log: new RecordedLog(),
};
const root = toHash256(new Uint8Array(32).fill(7));
const contracts = [1, 2].map((at) => toAddress(`0x${`0${at}`.repeat(20)}`));
const topic = toHash256(new Uint8Array(32).fill(1));

function startNode(): ScriptedRpc {
  return new ScriptedRpc({
    eth_chainId: () => "0x1",
    eth_blockNumber: () => "0x64",
    eth_getBlockByNumber: ([number]) => ({ number, stateRoot: root }),
    eth_getLogs: () => [],
  });
}

function open(readers: L1Readers, ...urls: readonly string[]): EvmReader {
  return readers.open(deps, {
    stateMachine: evmStateMachine(1),
    urls: urls.map((url) => new EndpointUrl(url)),
  });
}

async function scan(reader: EvmReader, at: number, to = 99n): Promise<void> {
  const [address = toAddress(`0x${"00".repeat(20)}`)] = contracts.slice(at);
  const held = reader.heldTo({ height: to, stateRoot: root });
  await held.fetchLogs({ address, topics: [topic] }, { from: 90n, to }, never);
}

Deno.test("L1 readers: rollups that name the same endpoints share a reader, and what it has learned", async () => {
  await using node = startNode();
  const readers = new L1Readers();
  const [one, two] = [open(readers, node.url), open(readers, node.url)];
  assert.equal(one, two);
  for (const at of [0, 1]) await scan(one, at);
  const methods = node.requests.map((calls) => calls.map(({ method }) => method));
  const scanned = ["eth_blockNumber", "eth_getLogs", "eth_getBlockByNumber"];
  assert.deepEqual(methods, [["eth_chainId", ...scanned], scanned]);
});

Deno.test("L1 readers: other endpoints, another order or another chain are another reader", async () => {
  await using node = startNode();
  await using other = startNode();
  const readers = new L1Readers();
  const own = open(readers, node.url);
  assert.notEqual(open(readers, other.url), own);
  assert.notEqual(open(readers, node.url, other.url), open(readers, other.url, node.url));
  const urls = [new EndpointUrl(node.url)];
  assert.notEqual(readers.open(deps, { stateMachine: evmStateMachine(2), urls }), own);
  assert.notEqual(
    readers.open(deps, { stateMachine: evmStateMachine(1), urls, blocksPerLogQuery: 10n }),
    own,
  );
  await Promise.all([scan(own, 0), scan(open(readers, other.url), 1)]);
  assert.deepEqual([node.requests.length, other.requests.length], [1, 1]);
  const asked = (at: ScriptedRpc): unknown =>
    at.requests.flat().filter(({ method }) => method === "eth_getLogs").map(({ params: [filter] }) =>
      Object(filter).address
    );
  assert.deepEqual([asked(node), asked(other)], [[contracts[0]], [contracts[1]]]);
});

Deno.test("L1 readers: each rollup's block is its own, and a node on another fork is refused for one alone", async () => {
  await using node = startNode();
  const readers = new L1Readers();
  const [one, two] = [open(readers, node.url), open(readers, node.url)];
  const forked = two.heldTo({ height: 98n, stateRoot: toHash256(new Uint8Array(32).fill(8)) });
  const filter = { address: toAddress(`0x${"03".repeat(20)}`), topics: [topic] };
  const [good, bad] = await Promise.allSettled([
    scan(one, 0),
    forked.fetchLogs(filter, { from: 90n, to: 98n }, never),
  ]);
  assert.equal(good.status, "fulfilled");
  assert.ok(bad.status === "rejected" && bad.reason.code === "wrong_chain", JSON.stringify(bad));
});
