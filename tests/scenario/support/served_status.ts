/** What compiled programs serve with `--listen`, after they have delivered or proved something. */
import assert from "node:assert/strict";
import { waitUntil } from "../../../devnet/traffic/messages.ts";
import type { RelayerProcess } from "./relayer_process.ts";
import { runRelayerOnce } from "./run_once.ts";
import { assertNoSecrets } from "./secrets.ts";

/** Asserts that page, status, health and metrics show the deliveries over all legs, and no more than they should. */
export async function assertServed(process: RelayerProcess, deliveries: number): Promise<void> {
  const started = await process.waitForLine("status_server_started");
  const base = `http://${started.record?.address}`;
  const read = async (path: string): Promise<string> => {
    const answer = await fetch(base + path);
    assert.equal(answer.status, 200, `${path}: ${answer.status}`);
    return await answer.text();
  };
  // Figures of the database are kept for some seconds.
  await waitUntil("the metrics show every delivery", async () => {
    const found = (await read("/metrics")).matchAll(
      /^causeway_messages_ended_total\{.*status="delivered"\} (\d+)$/gm,
    );
    return [...found].reduce((sum, [, count]) => sum + Number(count), 0) === deliveries;
  }, { everyMs: 200 });
  const metrics = await read("/metrics");
  for (
    const pattern of [
      /^causeway_ready 1$/m,
      /^causeway_rpc_requests_total\{chain="[^"]+",endpoint="127\.0\.0\.1:\d+",method="eth_chainId",outcome="ok"\} \d+$/m,
    ]
  ) assert.match(metrics, pattern);
  const status: { readonly reasons: readonly unknown[]; readonly delivered: readonly unknown[] } = JSON.parse(
    await read("/status.json"),
  );
  assert.deepEqual([status.reasons, status.delivered.length], [[], 10]);
  const page = await read("/");
  assert.match(page, /<p class="state good">Ready\. /);
  const health = await runRelayerOnce(["health", `--url=${base}`]);
  assert.deepEqual([health.code, health.stdout, health.stderr], [0, "ok\n", ""]);
  const taken = await runRelayerOnce([
    `--config=${process.configPath}`,
    `--db=${process.dbPath}.other`,
    `--listen=${started.record?.address}`,
  ]);
  assert.equal(taken.code, 1);
  assert.match(taken.stdout, /status_server_failed/);
  await assert.rejects(Deno.stat(`${process.dbPath}.other`), Deno.errors.NotFound);
}

/** Asserts that a consensus relayer shows an accepted update of each chain, and its light client's age. */
export async function assertServedUpdates(process: RelayerProcess, chains: readonly string[]): Promise<void> {
  const started = await process.waitForLine("status_server_started");
  const base = `http://${started.record?.address}`;
  const metrics = await (await fetch(`${base}/metrics`)).text();
  const status: { readonly chains: readonly { readonly chain: string; readonly name: string }[] } = await (
    await fetch(`${base}/status.json`)
  ).json();
  const names = chains.map((chain) => status.chains.find((each) => each.chain === chain)?.name ?? chain);
  for (const chain of names) {
    const accepted =
      `causeway_updates_total\\{chain="${chain}",target="[^"]+",kind="update",result="accepted"\\}`;
    assert.match(metrics, new RegExp(`^${accepted} [1-9]\\d*$`, "m"));
  }
  const page = await (await fetch(base)).text();
  assert.match(page, /<p class="state (?:good|warn|bad)">/);
  for (const name of names) assert.ok(page.includes(`${name} on `), name);
  assertNoSecrets(page + metrics, "what is served");
  const ready = await fetch(`${base}/readyz`);
  const { reasons }: { readonly reasons: readonly { readonly stops: boolean }[] } = await ready.json();
  assert.equal(ready.status, reasons.some(({ stops }) => stops) ? 503 : 200, JSON.stringify(reasons));
}
