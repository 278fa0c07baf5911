/** `${NAME}` in configuration files. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { createRedactor } from "../../../src/core/telemetry/redactor.ts";
import { edited } from "../../messaging/config/wrong_configs.ts";
import { readMessaging } from "../../support/wrong_configs.ts";
import { runMessagingCommand } from "../../support/standalone_commands.ts";

const KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/** Reads a file with an environment; gives the names that were asked for, too. */
function readWith(
  variables: Readonly<Record<string, string>>,
  ...changes: readonly (readonly [string, string])[]
): ReturnType<typeof readMessaging> & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  const readVariable = (name: string): string | undefined => {
    asked.push(name);
    return variables[name];
  };
  return { ...readMessaging(edited(...changes), { readVariable }), asked };
}

Deno.test("variables: values of the environment stand for their names in texts, in arrays, several in one", () => {
  const { config, problems, asked } = readWith(
    { API_KEY: "k3y/with?odd#parts", HOST: "evm1.example.org", SIGNER: KEY, CHAIN: "EVM-31337" },
    ["user:evmrpcpassword@evm1.example.org/v3/evmrpckey1", "${HOST}/v3/${API_KEY}"],
    [KEY, "${SIGNER}"],
    ['state_machine = "EVM-31337"', 'state_machine = "${CHAIN}"'],
  );
  assert.deepEqual(problems, []);
  const [evm] = config?.chains ?? [];
  assert.ok(evm !== undefined && "rpcUrls" in evm);
  assert.equal(evm.rpcUrls[0]?.reveal(), "https://evm1.example.org/v3/k3y/with?odd#parts");
  assert.equal(evm.signer?.reveal(), KEY);
  assert.equal(evm.stateMachine, "EVM-31337");
  assert.deepEqual([...asked].sort(), ["API_KEY", "CHAIN", "HOST", "SIGNER"]);
});

Deno.test("variables: a value cannot add to the file", () => {
  const hostile = '"\nminimum_profit_percentage = 5\n[evm2]\n#';
  const { config, lines } = readWith({ API_KEY: hostile }, ["evmrpckey1", "${API_KEY}"]);
  assert.ok(config === undefined || config.chains.length === 2);
  assert.deepEqual(lines.filter((line) => line.includes("evm2") || line.includes("minimum_profit")), []);
});

Deno.test("variables: a value is not searched for names, and $${ stands for ${", () => {
  const { config, asked } = readWith(
    { OUTER: "a${INNER}b" },
    ["evmrpckey1", "${OUTER}"],
    ["ETHERSCANKEY1", "x$${NOT}y$z"],
  );
  const [evm] = config?.chains ?? [];
  assert.ok(evm !== undefined && "rpcUrls" in evm);
  assert.match(evm.rpcUrls[0]?.reveal() ?? "", /\/v3\/a\$\{INNER\}b$/);
  assert.equal(evm.etherscanApiKey?.reveal(), "x${NOT}y$z");
  assert.deepEqual(asked, ["OUTER"]);
});

Deno.test("variables: one that is not set is a problem at its place, the only one of its key", () => {
  const { config, lines } = readWith(
    {},
    ["evmrpckey1", "${API_KEY}"],
    [KEY, "${SIGNER}"],
    ["Blake2", "Blake3"],
  );
  assert.equal(config, undefined);
  assert.deepEqual(lines, [
    '[evm1].rpc_urls[0]: found `${API_KEY}`, and no variable "API_KEY" in the environment, expected a variable that is set when the program starts',
    '[evm1].signer: found `${SIGNER}`, and no variable "SIGNER" in the environment, expected a variable that is set when the program starts',
    '[para].hashing: found "Blake3", expected "Keccak" or "Blake2"; did you mean "Blake2"?',
  ]);
});

Deno.test("variables: what is no name is a problem, and is never asked for", () => {
  for (const text of ["${}", "${A B}", "${1A}", "${A", "${A:-b}"]) {
    const { lines, asked } = readWith({ A: "x" }, ["ETHERSCANKEY1", text]);
    assert.equal(lines.length, 1, text);
    assert.match(
      lines[0] ?? "",
      /etherscan_api_key: found `\$\{` without a name and a bracket behind it, expected/,
    );
    assert.deepEqual(asked, []);
  }
});

Deno.test("variables: those in keys and endpoints are secrets, those that may be seen are not", () => {
  const values = { API_KEY: "pl41nURLkey", HOST: "evm1.example.org", SIGNER: KEY, CHAIN: "EVM-31337" };
  const reading = readWith(
    values,
    ["user:evmrpcpassword@evm1.example.org/v3/evmrpckey1", "${HOST}/v3/${API_KEY}"],
    [KEY, "${SIGNER}"],
    ['state_machine = "EVM-31337"', 'state_machine = "${CHAIN}"'],
  );
  assert.deepEqual([...reading.secrets].sort(), [values.SIGNER, values.API_KEY].sort());
  const redact = createRedactor(reading.secrets);
  assert.equal(
    redact(`EVM-31337 evm1.example.org said: bad key ${values.API_KEY}`),
    "EVM-31337 evm1.example.org said: bad key [secret]",
  );
  for (const secret of [values.API_KEY, KEY.slice(2)]) {
    assert.ok(!inspect({ config: reading.config, values: reading.values }, { depth: 9 }).includes(secret));
  }
});

Deno.test("variables: config show names them, and shows no value of a secret", async () => {
  const toml = edited(["evmrpckey1", "${API_KEY}"], ['"EVM-31337"\nrpc', '"${CHAIN}"\nrpc']);
  const { code, stdout } = await runMessagingCommand(["-c", "relayer.toml", "config", "show"], {
    "relayer.toml": toml,
  }, { readVariable: (name) => ({ API_KEY: "s3cretURLpart", CHAIN: "EVM-31337" })[name] });
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^rpc_urls = \["https:\/\/evm1\.example\.org\/\.\.\.", .*\] # line 13, \$\{API_KEY\}$/m,
  );
  assert.match(stdout, /^state_machine = "EVM-31337" # line 12, \$\{CHAIN\}$/m);
  assert.ok(!stdout.includes("s3cretURLpart"));
});
