import assert from "node:assert/strict";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { DEVNET_KEYS } from "../evm/accounts.ts";
import { type ConfigChanges, type DevnetEndpoints, relayerConfig, sectionOf } from "./relayer_config.ts";

const host = "0x5fc8d32690cc91d4c39d9d3abcbd16989f875707";
const devnet: DevnetEndpoints = {
  hub: { stateMachine: "KUSAMA-4009", wsUrl: "ws://127.0.0.1:9944" },
  chains: [31337, 31338].map((id) => ({
    stateMachine: `EVM-${id}`,
    consensusStateId: "ETH0",
    rpcUrl: `http://127.0.0.1:${id}`,
    ismpHost: host,
  })),
};

const noFiles = {
  readFile: (path: string): never => {
    throw new Deno.errors.NotFound(path);
  },
};

function read(changes: ConfigChanges): ReturnType<typeof parseMessagingConfig> {
  return parseMessagingConfig(noFiles, relayerConfig(devnet, changes));
}

Deno.test("relayer config: the default one is accepted without a warning", () => {
  const { config, problems, remarks } = read({});
  assert.deepEqual(problems, []);
  assert.deepEqual(remarks, []);
  assert.equal(config?.hub.stateMachine, "KUSAMA-4009");
  assert.equal(config?.hub.consensusStateId, "PAS0");
  assert.equal(config?.hub.pollIntervalSec, 1);
  assert.deepEqual(config?.chains.map(({ stateMachine }) => stateMachine), ["EVM-31337", "EVM-31338"]);
  const [first] = config?.chains ?? [];
  assert.equal(first?.type === "evm" && first.ismpHost, host);
  assert.ok(relayerConfig(devnet).includes(DEVNET_KEYS.relayer));
});

Deno.test("relayer config: every change arrives in the checked configuration", () => {
  const { config, problems } = read({
    signer: "relayer2",
    pollIntervalSec: 3,
    moduleFilter: [host],
    deliveryEndpoints: ["EVM-31338"],
    minimumProfitPercent: 5,
    unprofitableRetryFrequencySec: 9,
    disableFeeAccumulation: true,
    without: ["EVM-31337"],
    rpcUrls: { "EVM-31338": ["http://127.0.0.1:1", "http://127.0.0.1:2"] },
    hubUrl: "ws://127.0.0.1:3",
    sections: { [sectionOf("EVM-31338")]: { query_batch_size: 7 } },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(config?.relayer.moduleFilter?.map(toHex), [host]);
  assert.deepEqual(config?.relayer.deliveryEndpoints, ["EVM-31338"]);
  assert.equal(config?.relayer.minimumProfitPercent, 5);
  assert.equal(config?.relayer.unprofitableRetryFrequencySec, 9);
  assert.equal(config?.relayer.disableFeeAccumulation, true);
  const [only, ...others] = config?.chains ?? [];
  assert.equal(others.length, 0);
  assert.ok(only?.type === "evm");
  assert.equal(only.rpcUrls.length, 2);
  assert.equal(only.queryBatchSizeBlocks, 7);
  assert.equal(only.pollIntervalSec, 3);
  assert.ok(relayerConfig(devnet, { signer: "relayer2" }).includes(DEVNET_KEYS.relayer2));
});

Deno.test("relayer config: a key set to undefined is left out, and the relayer says so", () => {
  const { problems } = read({ sections: { hub: { rpc_ws: undefined } } });
  assert.equal(problems.length, 1);
});
