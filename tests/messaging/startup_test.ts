import assert from "node:assert/strict";
import type { CheckRow } from "../../src/core/checks/check_row.ts";
import type { ChainGate } from "../../src/core/chains/check.ts";
import type { Chain } from "../../src/core/chains/port.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { createGates } from "../../src/messaging/session.ts";
import { GOOD_TOML } from "./config/wrong_configs.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { MemoryChain } from "../support/memory_chain.ts";
import { MemoryHub } from "../support/memory_hub.ts";
import { MemoryNode } from "../support/memory_node.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";

const row = { chain: "EVM-31337", check: "host_invalid" } as const;
const failed = (found: string): CheckRow => ({ ...row, result: "failed", found });

/** The hub and chains of the good configuration behind gates, whose workers run for a second. */
class Scene {
  readonly clock = new FakeClock();
  readonly log = new RecordedLog();
  readonly hub: MemoryHub;
  readonly evm: MemoryChain;
  readonly para: MemoryChain;
  readonly #entries;

  constructor() {
    const { clock } = this;
    const { config } = parseMessagingConfig({ readFile: () => new Uint8Array() }, GOOD_TOML);
    assert.ok(config !== undefined);
    const relayer = fromHex("11".repeat(20));
    const nodeOf = (
      { stateMachine, consensusStateId }: Chain["id"],
      family: "evm" | "substrate",
    ): MemoryNode => new MemoryNode(clock, { id: { stateMachine, consensusStateId }, family });
    this.#entries = config.chains.map((chain) => ({
      config: chain,
      chain: new MemoryChain(nodeOf(chain, chain.type === "substrate" ? "substrate" : "evm"), clock, {
        relayer,
      }),
    }));
    const of = (stateMachine: string): MemoryChain => {
      const found = this.#entries.find(({ chain }) => chain.id.stateMachine === stateMachine);
      assert.ok(found !== undefined);
      return found.chain;
    };
    this.evm = of("EVM-31337");
    this.para = of("KUSAMA-2000");
    this.hub = new MemoryHub(nodeOf(config.hub, "substrate"), clock, { relayer });
  }

  /** Names of the chains whose gates are open after a second. */
  async open(): Promise<readonly string[]> {
    const { clock, log, hub } = this;
    const deps = { clock, log, random: fixedRandomness(0) };
    const { hubGate, gated } = createGates(deps, { hub, chains: this.#entries }, "[hub].rpc_ws");
    const gates: readonly (readonly [string, ChainGate])[] = [
      ["hub", hubGate],
      ...gated.map(({ entry, gate }) => [entry.chain.id.stateMachine, gate] as const),
    ];
    const stop = new AbortController();
    const runs = gates.map(([, { worker }]) => worker.run(stop.signal).catch(() => {}));
    await clock.advance(1_000);
    stop.abort();
    await Promise.all(runs);
    return gates.flatMap(([name, { isOpen }]) => isOpen ? [name] : []);
  }

  told(chain: Chain): readonly unknown[] {
    return this.log.lines
      .filter(({ level, fields }) => level !== "debug" && fields["chain"] === chain.id.stateMachine)
      .map(({ fields }) => fields["explanation"]);
  }
}

Deno.test("startup: rows of a chain and of the hub about it come together, and keep it out alone", async () => {
  const scene = new Scene();
  scene.evm.findings = [failed("evm")];
  assert.deepEqual(await scene.open(), ["hub", "KUSAMA-2000"]);
  scene.hub.counterpartyFindings = [failed("unknown to the hub")];
  assert.deepEqual(await scene.open(), ["hub"]);
  assert.deepEqual(scene.told(scene.evm), ["evm", "evm", "unknown to the hub"]);
  assert.deepEqual(scene.told(scene.para), ["unknown to the hub"]);
});

Deno.test("startup: nothing is asked of the chains before the hub is there", async () => {
  const scene = new Scene();
  scene.hub.findings = [failed("another hub")];
  scene.evm.findings = [failed("evm")];
  assert.deepEqual(await scene.open(), []);
  assert.deepEqual([scene.told(scene.hub), scene.told(scene.evm)], [["another hub"], []]);
  assert.ok(!scene.hub.calls.includes("checkCounterparty"));
});
