import assert from "node:assert/strict";
import {
  hasTraffic,
  type IsmpHostReader,
} from "../../../../src/consensus/clients/parachain/parachain_prover.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
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
): IsmpHostReader {
  const reader: IsmpHostReader["reader"] = {
    chain: evmStateMachine(420420419),
    fetchLogs: (filter, range) => {
      asked.push([filter, range]);
      return answer();
    },
    fetchChainIds: () => Promise.resolve([]),
  };
  return { reader, address: HOST };
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
  const traffic = readerWith(() => Promise.resolve([log]), asked);
  assert.equal(await hasTraffic(traffic, { from: 11n, to: 14n }, never), true);
  const [[filter, range]] = asked as [[LogFilter, unknown]];
  assert.deepEqual([filter.address, range], [HOST, { from: 11n, to: 14n }]);
  const { topics } = filter;
  for (const [name, topic] of Object.entries(hostEventTopics)) {
    const counts = /^(Post|Get)Request(Event|Handled|TimeoutHandled)$|^RequestFunded$/.test(name);
    assert.equal(topics.includes(topic), counts, name);
  }
  const silent = readerWith(() => Promise.resolve([]));
  assert.equal(await hasTraffic(silent, { from: 11n, to: 14n }, never), false);
});

Deno.test("host traffic: an endpoint that is behind cannot tell, other faults are faults", async () => {
  const behind = readerWith(() => Promise.reject(fault("lagging")));
  assert.equal(await hasTraffic(behind, { from: 1n, to: 2n }, never), undefined);
  const down = readerWith(() => Promise.reject(fault("unreachable")));
  await assert.rejects(hasTraffic(down, { from: 1n, to: 2n }, never), { code: "unreachable" });
});
