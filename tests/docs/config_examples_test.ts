/** The examples are what they tell: complete, correct, and true about the defaults. */
import assert from "node:assert/strict";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import type { ConfigResult } from "../../src/core/config/diagnostics.ts";
import type { ConfigFiles } from "../../src/core/config/toml.ts";
import { readBlocks } from "./support/markdown.ts";
import { readFile } from "./support/tree.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

const secrets = {
  readFile: (path: string): Uint8Array => {
    assert.match(path, /^\/run\/secrets\/[a-z-]+?(-consensus)?-(key|seed|password)$/);
    return new TextEncoder().encode(KEY);
  },
};

/** The configuration of a text; `remarked` are the keys of which something is said. */
function accept<C>(
  parse: (files: ConfigFiles, text: string) => ConfigResult<C>,
  text: string,
  remarked: readonly string[] = [],
): C {
  const { config, problems, remarks } = parse(secrets, text);
  assert.deepEqual([problems, remarks.map(({ place }) => place)], [[], remarked]);
  assert.ok(config !== undefined);
  return config;
}

/** An example with its placeholders filled in, which are warned about. */
async function readExample(file: string): Promise<string> {
  return (await readFile(file)).replaceAll("YOUR-", "MY-");
}

const messaging = await readExample("config.example.toml");
const consensus = await readExample("consensus.example.toml");

/** Keys for kinds of signers that the examples do not have: they are warned about beside the other keys. */
const OTHER_SIGNERS: ReadonlySet<string> = new Set(["keystore_password_file", "signer_address"]);

/** Settings that are commented out (`#key = value`, without a space), each with the file in which it is switched on. */
function optionals(text: string): readonly { readonly place: string; readonly switchedOn: string }[] {
  const lines = text.split("\n");
  let section = "";
  return lines.flatMap((line, at) => {
    section = /^\[(.+)\]/.exec(line)?.[1] ?? section;
    const name = /^#([a-z0-9_]+) = /.exec(line)?.[1];
    return name === undefined
      ? []
      : [{ place: `[${section}].${name}`, switchedOn: lines.toSpliced(at, 1, line.slice(1)).join("\n") }];
  });
}

/** Names of fields in the lists of docs/specification.md below a heading. */
async function readFields(heading: string): Promise<readonly string[]> {
  const blocks = readBlocks(await readFile("docs/specification.md"));
  const list = blocks.find((block) => block.heading === heading)?.text ?? "";
  const plain = list.replaceAll(/\([^)]*\)|"[^"]*"|^\[.*?\]|\w+:/gm, "");
  return [...plain.matchAll(/\b(?:type|rpc|hashing|signer|[a-z0-9]+(?:_[a-z0-9]+)+)\b/g)].map(([name]) =>
    name
  );
}

for (
  const [file, text, heading] of [
    ["config.example.toml", messaging, "Messaging relayer configuration"],
    ["consensus.example.toml", consensus, "Consensus relayer configuration"],
  ] as const
) {
  Deno.test(`${file}: every field of the specification is there`, async () => {
    const fields = await readFields(heading);
    assert.ok(fields.length >= 30, fields.join());
    const missing = fields.filter((field) => !new RegExp(`^#?${field} = `, "m").test(text));
    assert.deepEqual(missing, []);
  });

  Deno.test(`${file}: each optional setting is taken when it is switched on`, () => {
    const parse = text === messaging ? parseMessagingConfig : parseConsensusConfig;
    const settings = optionals(text);
    assert.ok(settings.length >= 18);
    for (const { place, switchedOn } of settings) {
      // A hub with this key serves solochains.
      const isOfSolochains = text === messaging && place === "[hub].consensus_state_id";
      if (isOfSolochains) {
        assert.deepEqual(parse(secrets, switchedOn).problems.map((problem) => problem.place), [place]);
      }
      const fitting = isOfSolochains ? switchedOn.replaceAll("POLKADOT-2030", "SUBSTRATE-cere") : switchedOn;
      accept<unknown>(parse, fitting, OTHER_SIGNERS.has(place.split("].")[1] ?? "") ? [place] : []);
    }
  });
}

Deno.test("config.example.toml: the relayer takes it as it is", () => {
  const { hub, relayer, chains } = accept(parseMessagingConfig, messaging);
  assert.equal(hub.stateMachine, "POLKADOT-3367");
  assert.deepEqual(relayer.deliveryEndpoints, chains.map(({ stateMachine }) => stateMachine));
  assert.deepEqual(chains.map(({ type }) => type), ["evm", "evm", "evm", "substrate_evm", "substrate"]);
});

Deno.test("consensus.example.toml: the relayer takes it as it is, and the list of watched chains that it explains", () => {
  const { hub, relayer, chains } = accept(parseConsensusConfig, consensus);
  assert.deepEqual([hub.consensus.type, hub.substrate.stateMachine], ["grandpa", "POLKADOT-3367"]);
  assert.equal(relayer.enableHubConsensus, true);
  assert.deepEqual(chains.map(({ type, consensusStateId }) => `${type} ${consensusStateId}`), [
    "evm ETH0",
    "op_stack OPT0",
    "arbitrum_orbit ARB0",
    "bsc BSC0",
    "polygon POLY",
    "substrate_evm DOT0",
    "substrate CERE",
  ]);
  const list = /^# {3}(\[\[\{ state_id = .+\]\])$/m.exec(consensus)?.[1];
  const watching = consensus.replace("maximum_update_intervals = []", `maximum_update_intervals = ${list}`);
  const limits = accept(parseConsensusConfig, watching).relayer.maximumUpdateIntervals;
  assert.deepEqual(limits.map(({ maxSec }) => maxSec), [3_600n, 14_400n]);
});

Deno.test("README and getting started: the shortest configurations work, without a remark", async () => {
  const shortest = async (path: string): Promise<string> =>
    readBlocks(await readFile(path)).find(({ language }) => language === "toml")?.text ?? "";
  assert.equal(accept(parseMessagingConfig, await shortest("README.md")).chains.length, 1);
  const { chains } = accept(parseConsensusConfig, await shortest("docs/getting-started.md"));
  assert.deepEqual(chains.map(({ type }) => type), ["evm"]);
});

Deno.test("consensus.example.toml: the messaging relayer refuses it and says whose file it is", () => {
  const { config, problems } = parseMessagingConfig(secrets, consensus);
  assert.equal(config, undefined);
  assert.ok(problems.some(({ hint }) => hint?.includes("consensus relayer")));
});
