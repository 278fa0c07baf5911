import assert from "node:assert/strict";
import { inspect } from "node:util";
import fc from "fast-check";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { type ConfigResult, renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import type { ConsensusConfig } from "../../../src/consensus/config/schema.ts";
import { parseConsensusConfig } from "../../../src/consensus/config/read.ts";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { edited as editedConsensus } from "../../consensus/config/wrong_configs.ts";
import { edited, GOOD_TOML } from "./wrong_configs.ts";

const HEX = "0123456789abcdef";
const ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

function textOf(alphabet: string, length: number): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...alphabet), { minLength: length, maxLength: length })
    .map((letters) => letters.join(""))
    .filter((text) => /[0-9]/.test(text) && /[A-Za-z]/.test(text));
}

const privateKey = textOf(HEX, 64);
const apiKey = fc.oneof(textOf(ALNUM, 34), textOf(ALNUM, 32), textOf(HEX, 32), textOf(ALNUM, 22));

/** Everything of a reading that a program could print, in every way of printing. */
function printed(toml: string, file: string): string {
  const isConsensus = toml.includes("[hub.substrate]");
  const parse: (files: ConfigFiles, text: string) => ConfigResult<MessagingConfig | ConsensusConfig> =
    isConsensus ? parseConsensusConfig : parseMessagingConfig;
  const reading = parse({ readFile: () => new TextEncoder().encode(file) }, toml);
  return [
    ...[...reading.problems, ...reading.remarks].map((problem) => renderDiagnostic("relayer.toml", problem)),
    JSON.stringify(reading, (_, value) => typeof value === "bigint" ? String(value) : value),
    inspect(reading, { depth: 20, showHidden: true }),
    Deno.inspect(reading, { depth: 20, showHidden: true }),
    ...(reading.config?.chains ?? []).flatMap((chain) => Object.values(chain).map(String)),
    ...Object.values(reading.config?.hub ?? {}).map(String),
  ].join("\n");
}

/** No run of 8 characters of the secret may be seen. */
function assertHidden(secret: string, output: string): void {
  const low = output.toLowerCase();
  for (let start = 0; start + 8 <= secret.length; start++) {
    const part = secret.slice(start, start + 8).toLowerCase();
    assert(!low.includes(part), `shown: ${part}`);
  }
}

const SIGNER = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const HOST = "0x1111111111111111111111111111111111111111";

Deno.test("secrecy: no part of a secret in its own field is ever printed, whether the file is good or wrong (F26)", () => {
  fc.assert(
    fc.property(
      privateKey,
      apiKey,
      apiKey,
      apiKey,
      fc.boolean(),
      (key, etherscan, path, password, isWrong) => {
        const toml = edited(
          [SIGNER, `0x${key}`],
          ["ETHERSCANKEY1", etherscan],
          ["evmrpckey1", path],
          ["evmrpcpassword", password],
          ["hubrpckey1", path],
          ["[hub]\n", `[hub]\nsigner = "${key}"\n`],
          ...(isWrong ? [["Blake2", "Blake3"]] as const : []),
        );
        const output = printed(toml, "");
        for (const secret of [key, etherscan, path, password]) assertHidden(secret, output);
      },
    ),
    { numRuns: 60 },
  );
});

/** Places in the file where an operator might paste a secret by mistake; `@` stands for it. */
const MISPLACED: readonly (readonly [string, string])[] = [
  [`"${SIGNER}"`, '"@'],
  [`"${SIGNER}"`, "@"],
  [`"${SIGNER}"`, "0x@"],
  [`"${SIGNER}"`, '"0x@zz"'],
  [`"${SIGNER}"`, '"@@"'],
  [`"${SIGNER}"`, '["@"]'],
  [`"${SIGNER}"`, '"@" "@"'],
  [`"${SIGNER}"`, '"keys/@"'],
  [`signer = "${SIGNER}"`, '"@"'],
  [`signer = "${SIGNER}"`, "@"],
  [`signer = "${SIGNER}"`, '@ = "x"'],
  [`signer = "${SIGNER}"`, "[@"],
  [`signer = "${SIGNER}"`, "[@]"],
  [`"${HOST}"`, '"@"'],
  [`"${HOST}"`, '"0x@"'],
  ['"ETH0"', '"@"'],
  ['"EVM-31337"', '"@"'],
  ['"KUSAMA-4009"', '"KUSAMA-@"'],
  ['"evm"', '"@"'],
  ['"Blake2"', '"@"'],
  ['["EVM-31337", "KUSAMA-2000"]', '["@"]'],
  ["minimum_profit_percentage = 0", "minimum_profit_percentage = 0x@"],
  ["minimum_profit_percentage = 0", 'minimum_profit_percentage = "@"'],
  ["wss://hub.example.org", "@"],
  ["wss://hub.example.org", "@:"],
  ["wss://hub.example.org", "wss://@.example.org"],
  ["wss://hub.example.org", "http://user:@@hub.example.org"],
  ["wss://hub.example.org", "wss://us er:@@hub.example.org"],
  ["# relayer of the devnet", 'key = "@"'],
  ["# relayer of the devnet", "# @\n]"],
];

/** The same in the file of the consensus relayer, for types that the other one does not have. */
const MISPLACED_IN_CONSENSUS: typeof MISPLACED = [
  ['"ARB0"', '"@"'],
  ['l1_consensus_state_id = "ETH0"', 'l1_consensus_state_id = ["@"]'],
  ["[4009]", '["@"]'],
  ["maximum_update_intervals = []", 'maximum_update_intervals = ["@"]'],
  ["maximum_update_intervals = []", 'maximum_update_intervals = [["@", "@"]]'],
  ["maximum_update_intervals = []", 'maximum_update_intervals = [[["@", "@"], 0x@]]'],
];

Deno.test("secrecy: a key pasted into the wrong place is not printed either", () => {
  const places = [
    ...MISPLACED.map((place) => [...place, edited] as const),
    ...MISPLACED_IN_CONSENSUS.map((place) => [...place, editedConsensus] as const),
  ];
  for (const [from, to, edit] of places) {
    fc.assert(
      fc.property(fc.oneof(privateKey, textOf(ALNUM, 34)), (secret) => {
        const toml = edit([from, to.replaceAll("@", secret)]);
        try {
          assertHidden(secret, printed(toml, "not hex"));
        } catch (cause) {
          throw new Error(`Instead of ${from}: ${to}`, { cause });
        }
      }),
      { numRuns: 15 },
    );
  }
});

Deno.test("secrecy: the content of a signer file is never printed", () => {
  fc.assert(
    fc.property(privateKey, fc.constantFrom("", "ff", "x", "\n\n0x"), (key, rest) => {
      assertHidden(key, printed(edited([SIGNER, "keys/evm"]), key + rest));
    }),
    { numRuns: 30 },
  );
});

Deno.test("secrecy: what may be shown is still shown", () => {
  const output = printed(GOOD_TOML, "");
  assert(output.includes("https://evm1.example.org/..."));
  assert(output.includes("EVM-31337"));
});

Deno.test("secrecy: what a pattern may overlook is not printed: a key in a URL without a scheme, behind the length of a header, or behind a dollar sign", () => {
  const secret = "s3cretKey9";
  const list = GOOD_TOML.slice(GOOD_TOML.indexOf("rpc_urls = ["), GOOD_TOML.indexOf("consensus_state_id"));
  for (const url of [`evm1.example.org/v3/${secret}`, `user:${secret}@evm1.example.org`]) {
    assertHidden(secret, printed(edited([list, `rpc_urls = "${url}"\n`]), ""));
    assertHidden(secret, printed(edited([list, `rpc_urls = ["${url}"]\n`]), ""));
    assertHidden(secret, printed(edited(['"Blake2"', `"${url}"`]), ""));
  }
  const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWA1";
  assertHidden(key, printed(edited([`signer = "${SIGNER}"`, `[${key}`]), ""));
  assertHidden("SWORD12345", printed(edited(["evmrpcpassword", "pa$SWORD12345"]), ""));
});
