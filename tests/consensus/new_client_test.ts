/**
 * What CONTRIBUTING.md promises about a new light client: one folder and one entry of the registry. A copy of the sources
 * gets a toy client, whose chain counts seconds, and nothing else; configuration, prover and worker then know it.
 */
import assert from "node:assert/strict";
import { u64 } from "../../src/core/encoding/scale.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { MemoryTarget } from "../support/memory_target.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";
import { toConsensusClientId, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";

const FOLDER: Readonly<Record<string, string>> = {
  "spec/toy_update.ts": `/** State of the toy client: a height; its updates are heights as text. */
import { type Codec, u64 } from "../../../../core/encoding/scale.ts";
import { ClientError, clientDecoder } from "../../../spec/client_error.ts";

/** A height that is not the SCALE form of one. */
class ToyError extends ClientError<"undecodable_state"> {
  override readonly name = "ToyError";
}

/** SCALE of the state. */
export const toyCodec: Codec<bigint> = u64;

/** Decodes a state. @throws {ToyError} */
export const decodeToyState = clientDecoder(toyCodec, ToyError, "undecodable_state");
`,
  "toy_prover.ts": `/** Proves a chain whose height is the hub's clock, in steps. */
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import type { CheckRow } from "../../../core/checks/check_row.ts";
import { toConsensusClientId } from "../../../core/ismp/state_machine.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  type ProverFinding,
  type ProverOptions,
} from "../../prover.ts";
import { TargetClient } from "../../target_client.ts";
import { decodeToyState, toyCodec } from "./spec/toy_update.ts";

const clientId = toConsensusClientId("TOYC");

/** Prover of the toy chain. */
export class ToyProver extends BaseProver implements ConsensusProver {
  readonly #client: TargetClient<bigint>;
  readonly #step: bigint;

  constructor(hub: ConsensusTarget, { step, ...options }: ProverOptions & { readonly step: number }) {
    super(options);
    this.#step = BigInt(step);
    this.#client = new TargetClient(hub, options, { clientId, decode: decodeToyState });
  }

  check(): Promise<readonly CheckRow[]> {
    return Promise.resolve([]);
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const { state, bytes, nowSec } = await this.#client.fetch(signal);
    const height = state + this.#step;
    if (height > nowSec) return { kind: "nothing", reason: "no step has passed" };
    const proofs = [new TextEncoder().encode(String(height))];
    return { kind: "updates", proofs, madeOn: bytes, height, summary: \`height \${height}\`, hasMore: false };
  }

  fetchInitialState(): Promise<InitialConsensusState> {
    const state = toyCodec.enc(0n);
    return Promise.resolve({
      clientId,
      state,
      unbondingSec: 86_400n,
      challengePeriods: new Map(),
      commitments: [],
    });
  }
}
`,
  "client.ts": `/** Light client of the toy chain, as the registry lists it. */
import { required, type SectionValues, withDefault } from "../../../core/config/schema.ts";
import { integer } from "../../../core/config/values.ts";
import type { ChainClient } from "../../client.ts";
import { frequencyKey } from "../../config/keys.ts";
import { ToyProver } from "./toy_prover.ts";

const hostKeys = {
  step: required("step", integer(1, 1_000), { description: "Seconds of a step.", example: 10 }),
  consensusUpdateFrequencySec: withDefault("consensus_update_frequency", integer(1, 1_000), 300, { description: "How often the chain is polled.",
  }),
};

/** \`type = "toy"\`. */
export const toyClient: ChainClient<SectionValues<typeof hostKeys>> = {
  networks: { toytown: 4242 },
  host: { description: "Of type \`toy\`: steps of the hub's clock.", keys: hostKeys },
  createChecks: () => () => [],
  createProver: ({ hub }, { stateMachine, consensusStateId, host }) =>
    new ToyProver(hub, {
      stateMachine,
      consensusStateId,
      step: host.step,
      intervalMs: host.consensusUpdateFrequencySec * 1_000,
    }),
};
`,
};

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
step = 10
`;

/** Runs \`work\` with a copy of the sources that has the client. */
async function withToy(work: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    for (const name of ["src", "deno.json", "deno.lock"]) {
      const { success } = await new Deno.Command("cp", { args: ["-r", name, root] }).output();
      assert.ok(success);
    }
    const folder = `${root}/src/consensus/clients/toy`;
    await Deno.mkdir(`${folder}/spec`, { recursive: true });
    for (const [name, text] of Object.entries(FOLDER)) await Deno.writeTextFile(`${folder}/${name}`, text);
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

Deno.test("a new light client is one folder and one entry: configuration, and a round of its worker", () =>
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
    const { isProved }: typeof import("../../src/consensus/connect.ts") = await import(at("connect.ts"));
    const section = config?.chains.find(({ stateMachine }) => stateMachine === "EVM-4242");
    assert.ok(section !== undefined && isProved(section));

    const { chainClients }: typeof import("../../src/consensus/registry.ts") = await import(
      at("registry.ts")
    );
    const { chainWorker }: typeof import("../../src/consensus/chain_worker.ts") = await import(
      at("chain_worker.ts")
    );
    const id = { stateMachine: section.stateMachine, consensusStateId: toConsensusStateId("TOY0") };
    const hub = new MemoryTarget({
      rules: (proof) => {
        const height = BigInt(new TextDecoder().decode(proof));
        const stateRoot: `0x${string}` = `0x${"00".repeat(32)}`;
        const commitment = { timestampSec: height, overlayRoot: undefined, stateRoot };
        return { state: u64.enc(height), commitments: [{ height: { id, height }, commitment }] };
      },
    });
    hub.nowSec = 25n;
    const [clock, log, random] = [new FakeClock(), new RecordedLog(), fixedRandomness(0)];
    const context = {
      clock,
      log,
      hub,
      randomness: random,
      fetch: () => Promise.reject(new Error("The toy has no nodes")),
      openSocket: () => {
        throw new Error("The toy has no nodes");
      },
    };
    const prover = chainClients[section.type].createProver(context, section);
    const { state } = await prover.fetchInitialState(AbortSignal.timeout(1_000));
    hub.addClient(id.consensusStateId, toConsensusClientId("TOYC"), state);
    const stop = new AbortController();
    const worker = chainWorker({ clock, log, hub, random, intervalMs: 10_000 }, prover);
    const running = worker.run(stop.signal).catch(() => undefined);
    await clock.advance(700_000);
    stop.abort();
    await running;
    const accepted = log.lines.filter(({ event }) => event === "update_accepted");
    assert.deepEqual(accepted.map(({ fields }) => fields.heights), ["10", "20"]);
  }));
