/**
 * What CONTRIBUTING.md promises about a new light client: one folder and one entry of the registry. A copy of the sources
 * gets a client under another type and network, and nothing else; configuration and prover then know it.
 */
import assert from "node:assert/strict";
import { FakeClock } from "../support/fake_clock.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";

const CLIENT = `/** Light client of the toy chain, as the registry lists it. */
import { arbitrumClient } from "../arbitrum/client.ts";

/** \`type = "toy"\`. */
export const toyClient: typeof arbitrumClient = { ...arbitrumClient, networks: { toytown: 4242 } };
`;

const IMPORT = 'import { toyClient } from "./clients/toy/client.ts";\n';
const ENTRY = "  toy: toyClient,\n";

const SECTION = `
[toy]
type = "toytown"
state_machine = "EVM-4242"
rpc_urls = ["https://toy.example.org"]
consensus_state_id = "TOY0"
etherscan_api_key = ""
ismp_host = "0x0000000000000000000000000000000000000001"
inbound_only = true
[toy.host]
beacon_rpc_url = ["https://sepolia.example.org"]
l1_state_machine = "EVM-11155111"
l1_consensus_state_id = "ETH0"
`;

/** Runs \`work\` with a copy of the sources that has the client. */
async function withToy(work: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    for (const name of ["src", "deno.json", "deno.lock"]) {
      const { success } = await new Deno.Command("cp", { args: ["-r", name, root] }).output();
      assert.ok(success);
    }
    await Deno.mkdir(`${root}/src/consensus/clients/toy`);
    await Deno.writeTextFile(`${root}/src/consensus/clients/toy/client.ts`, CLIENT);
    const registry = `${root}/src/consensus/registry.ts`;
    const text = await Deno.readTextFile(registry);
    await Deno.writeTextFile(
      registry,
      text.replace(/^import /m, `${IMPORT}import `).replace("};\n", `${ENTRY}};\n`),
    );
    await work(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("a new light client is one folder and one entry: configuration and prover", () =>
  withToy(async (root) => {
    const at = (path: string): string => new URL(`file://${root}/src/consensus/${path}`).href;
    const { writeConsensusSchema }: typeof import("../../src/consensus/config/config_file.ts") = await import(
      at("config/config_file.ts")
    );
    assert.match(writeConsensusSchema(), /"toytown"/);
    const { parseConsensusConfig }: typeof import("../../src/consensus/config/read.ts") = await import(
      at("config/read.ts")
    );
    const key = new TextEncoder().encode(`0x${"11".repeat(32)}`);
    const example = Deno.readTextFileSync(new URL("../../consensus.example.toml", import.meta.url));
    const { config, problems } = parseConsensusConfig({ readFile: () => key }, example + SECTION);
    assert.deepEqual(problems, []);
    const { connectChains }: typeof import("../../src/consensus/connect.ts") = await import(at("connect.ts"));
    const section = config?.chains.find(({ stateMachine }) => stateMachine === "EVM-4242");
    assert.ok(config !== undefined && section !== undefined);
    const deps = { clock: new FakeClock(), random: fixedRandomness(0), log: new RecordedLog() };
    const { hub, proved, hubState } = connectChains(deps, { ...config, chains: [section] });
    const [prover] = proved;
    assert.deepEqual([prover?.chain, prover?.consensusStateId], ["EVM-4242", "TOY0"]);
    await Promise.all([hub, ...proved].map((part) => part.close()));
    await hubState?.close();
  }));
