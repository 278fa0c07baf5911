import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { readConsensusConfig } from "../src/consensus/config/read.ts";
import { readMessagingConfig } from "../src/messaging/config/read.ts";
import type { DevnetFacts } from "./terminal/facts.ts";
import { REPOSITORY } from "./programs/repository.ts";

/** What is looked at here. */
type Facts = Pick<DevnetFacts, "chains" | "relay" | "grandpaConfig">;

Deno.test("devnet program: prints its facts, writes files that work, ends on SIGTERM", async () => {
  const folder = await Deno.makeTempDir();
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "devnet/main.ts",
      "--json",
      "--polygon",
      "--polkadot-hub",
      "--substrate",
      "--ports=0,0,0",
      `--folder=${folder}`,
    ],
    cwd: REPOSITORY,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = createInterface({ input: Readable.from(child.stdout) });
  try {
    const [line] = await once(lines, "line");
    const facts: Facts = JSON.parse(line);
    assert.deepEqual(facts.chains.map(({ chainId }) => chainId), [11155111, 97, 80002, 420420417]);
    const config = readMessagingConfig({ readFile: Deno.readFileSync }, `${folder}/relayer.toml`).config;
    const urls = config?.chains.flatMap((chain) => chain.type === "substrate" ? [] : chain.rpcUrls) ?? [];
    assert.equal(urls.length, 4);
    assert.ok(config?.chains.some((chain) => chain.type === "substrate_evm"));
    const consensus = readConsensusConfig({ readFile: Deno.readFileSync }, `${folder}/consensus.toml`).config;
    assert.deepEqual(consensus?.chains.map(({ type }) => type), ["evm", "bsc", "polygon", "substrate_evm"]);
    assert.equal(consensus?.relayer.enableHubConsensus, true);
    const other = readConsensusConfig({ readFile: Deno.readFileSync }, facts.grandpaConfig ?? "").config;
    assert.deepEqual(other?.chains.map(({ stateMachine }) => stateMachine), ["SUBSTRATE-demo"]);
    assert.match(facts.relay.wsUrl, /^ws:/);
    const answer = await fetch(facts.chains[0]?.rpcUrl ?? "", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
    });
    assert.equal((await answer.json()).result, "0xaa36a7");
    const saved: unknown = JSON.parse(await Deno.readTextFile(`${folder}/devnet.json`));
    assert.deepEqual(saved, facts);
  } finally {
    child.kill("SIGTERM");
    assert.equal((await child.status).code, 0);
    lines.close();
    await Deno.remove(folder, { recursive: true });
  }
});
