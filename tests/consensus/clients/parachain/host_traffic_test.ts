import assert from "node:assert/strict";
import { hostTrafficOf } from "../../../../src/consensus/clients/parachain/host_traffic.ts";
import type { EvmReader } from "../../../../src/consensus/evm_reader.ts";
import type { Log, LogFilter } from "../../../../src/core/chains/evm/rpc_schemas.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { RpcFault, type RpcFaultCode } from "../../../../src/core/rpc/call.ts";

const never = new AbortController().signal;
const HOST = toAddress(`0x${"9a".repeat(20)}`);

/** A reader that has these logs, and notes what it is asked for. */
function readerWith(
  answer: () => Promise<readonly Log[]>,
  asked: unknown[] = [],
): Pick<EvmReader, "fetchLogs" | "fetchChainIds"> {
  return {
    fetchLogs: (filter, range) => {
      asked.push([filter, range]);
      return answer();
    },
    fetchChainIds: () => Promise.resolve([{ host: "a.example", kind: "id", chainId: 420420419n }]),
  };
}

const log: Log = {
  address: HOST,
  blockNumber: 12n,
  data: "0x",
  logIndex: 0n,
  topics: [],
  transactionHash: `0x${"02".repeat(32)}`,
};

function fault(code: RpcFaultCode): RpcFault {
  const where = { chain: "EVM-420420419", endpointHost: "a.example", method: "eth_getLogs" };
  return new RpcFault(code, where);
}

Deno.test("host traffic: messages and receipts count, what the hub tells the host does not", async () => {
  const asked: unknown[] = [];
  const traffic = hostTrafficOf(readerWith(() => Promise.resolve([log]), asked), HOST);
  assert.equal(await traffic.hasTraffic({ from: 11n, to: 14n }, never), true);
  const [[filter, range]] = asked as [[LogFilter, unknown]];
  assert.deepEqual([filter.address, range], [HOST, { from: 11n, to: 14n }]);
  const { topics } = filter;
  for (const [name, topic] of Object.entries(hostEventTopics)) {
    const counts = /^(Post|Get)Request(Event|Handled|TimeoutHandled)$|^RequestFunded$/.test(name);
    assert.equal(topics.includes(topic), counts, name);
  }
  const silent = hostTrafficOf(readerWith(() => Promise.resolve([])), HOST);
  assert.equal(await silent.hasTraffic({ from: 11n, to: 14n }, never), false);
  assert.deepEqual(await traffic.fetchChainIds(never), [{
    host: "a.example",
    kind: "id",
    chainId: 420420419n,
  }]);
});

Deno.test("host traffic: an endpoint that is behind cannot tell, other faults are faults", async () => {
  const behind = hostTrafficOf(readerWith(() => Promise.reject(fault("lagging"))), HOST);
  assert.equal(await behind.hasTraffic({ from: 1n, to: 2n }, never), undefined);
  const down = hostTrafficOf(readerWith(() => Promise.reject(fault("unreachable"))), HOST);
  await assert.rejects(down.hasTraffic({ from: 1n, to: 2n }, never), { code: "unreachable" });
});
