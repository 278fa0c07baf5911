import assert from "node:assert/strict";
import { BscProver } from "../../../../src/consensus/clients/bsc/client.ts";
import { openEvmReader } from "../../../../src/consensus/evm_reader.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { decodeBscState } from "../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { systemRandomness } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { bscHeaderRule } from "../../../../devnet/evm/bsc_validators.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { startHeaderRewriter } from "../../../../devnet/evm/header_rewriter.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { BSC0, bscTarget, chapel, MemoryBscChain } from "./bsc_chain.ts";

const signal = new AbortController().signal;

Deno.test("updates built from the headers of a node over HTTP are accepted, across an epoch", async () => {
  await using node = await startAnvil({ chainId: 97 });
  const rule = bscHeaderRule({
    network: chapel,
    epochLength: 20n,
    setOf: (epoch) => [1, 2, 3 + Number(epoch)],
  });
  await using shown = await startHeaderRewriter({ upstream: node.rpcUrl, rule });
  const reader = openEvmReader(
    { fetch: platformFetch, clock: systemClock, randomness: systemRandomness, log: new RecordedLog() },
    { stateMachine: parseStateMachine("EVM-97"), urls: [new EndpointUrl(shown.rpcUrl)] },
  );
  const hub = bscTarget(new MemoryBscChain({ epochLength: 20n }), 20n);
  const prover = new BscProver({ hub, headers: reader }, {
    stateMachine: parseStateMachine("EVM-97"),
    consensusStateId: BSC0,
    epochLength: 20n,
    intervalMs: 1_000,
  });
  assert.deepEqual(await prover.check(signal), []);
  const initial = await prover.fetchInitialState(signal);
  hub.state = decodeBscState(initial.state);
  await mine(node.rpcUrl, 33);
  const found = await prover.next(signal);
  assert.ok(found.kind === "updates");
  hub.take(found.proofs);
  assert.equal(hub.state.finalizedHeight, 31n);
  assert.equal(hub.state.currentEpoch, 1n);
});

async function mine(url: string, blocks: number): Promise<void> {
  const params = [`0x${blocks.toString(16)}`];
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "anvil_mine", params });
  await (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).text();
}
