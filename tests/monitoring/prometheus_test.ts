/**
 * Prometheus as operators run it: it scrapes both compiled programs on the devnet with the rules that are delivered; an
 * alert fires when a wallet is drained, and is resolved when it is filled. Task of its own, some minutes:
 * `deno task monitoring` (Debian: apt install prometheus).
 */
import assert from "node:assert/strict";
import { startDevnet } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { startConsensusRelayer } from "../../devnet/programs/consensus_relayer.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { haveCommands } from "../release/support/debian.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { type PrometheusServer, startPrometheus } from "./support/prometheus_server.ts";

const LISTEN = ["--listen=127.0.0.1:0"];

async function addressOf(process: RelayerProcess): Promise<string> {
  return String((await process.waitForLine("status_server_started")).record?.address);
}

async function untilAlert(
  prometheus: PrometheusServer,
  alert: { readonly name: string; readonly chain: string; readonly isFiring: boolean },
): Promise<void> {
  const { name, chain, isFiring } = alert;
  await waitUntil(`${name} of ${chain} ${isFiring ? "fires" : "is resolved"}`, async () => {
    const found = (await prometheus.alerts()).find(({ labels }) =>
      labels.alertname === name && labels.chain === chain
    );
    return isFiring ? found?.state === "firing" : found === undefined;
  }, { everyMs: 500 });
}

Deno.test("prometheus: it scrapes both programs, an alert fires when a wallet is drained and is resolved when it is filled", async () => {
  assert.ok(
    await haveCommands({ prometheus: "prometheus" }),
    "There is no `prometheus`: apt install prometheus",
  );
  const folder = await Deno.makeTempDir({ prefix: "prometheus-" });
  await using devnet = await startDevnet({
    kinds: ["beacon", "bsc"],
    hubBlockTimeMs: 400,
    startsOracle: false,
  });
  await using proving = await startConsensusRelayer(devnet.consensusEndpoints, { extraArguments: LISTEN });
  await waitUntil(
    "the hub knows every chain",
    () => devnet.chains.every((chain) => devnet.hub.latestHeight(devnet.idOnHub(chain)) !== undefined),
  );
  await using relaying = await startRelayer({
    config: relayerConfig(devnet.endpoints),
    folder: `${folder}/relayer`,
    extraArguments: LISTEN,
  });
  await using prometheus = await startPrometheus(folder, {
    "causeway": await addressOf(relaying),
    "causeway-consensus": await addressOf(proving),
  });
  try {
    const [chain] = devnet.chains;
    assert.ok(chain !== undefined);
    await relaying.waitForLine("program_started");
    await sendPing(devnet, { from: "B", to: "A", count: 2 });
    for (
      const query of [
        'up{job="causeway"} == 1',
        'up{job="causeway-consensus"} == 1',
        'causeway_updates_total{result="accepted"} > 0',
        "causeway_update_age_seconds < 300",
        'sum by (target) (causeway_messages_ended_total{status="delivered"}) > 1',
        "causeway_wallet_balance > 0",
        "histogram_quantile(0.5, sum by (le) (causeway_rpc_request_seconds_bucket)) > 0",
      ]
    ) {
      await waitUntil(query, async () => (await prometheus.query(query)).length > 0, {
        everyMs: 500,
      });
    }
    const { address } = DEVNET_ACCOUNTS.relayer;
    const before = await chain.host.reader.getBalance({ address });
    const alert = { name: "CausewayWalletEmpty", chain: chain.stateMachine };
    assert.deepEqual((await prometheus.alerts()).filter(({ labels }) => labels.alertname === alert.name), []);
    await chain.host.node.setBalance({ address, value: 0n });
    await untilAlert(prometheus, { ...alert, isFiring: true });
    await chain.host.node.setBalance({ address, value: before });
    await untilAlert(prometheus, { ...alert, isFiring: false });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
