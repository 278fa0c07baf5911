/** What is generated from the schemas of the configuration is what stands in the repository, and fits together. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseToml } from "../../src/core/config/toml.ts";
import { CONFIG_DOCUMENTS } from "./support/config_documents.ts";

const root = new URL("../../", import.meta.url);

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, root));
}

for (const [path, write] of CONFIG_DOCUMENTS) {
  Deno.test(`${path} is what the schema says (else: deno task docs:config)`, () => {
    assert.equal(read(path), write());
  });
}

/** The values of a TOML text as JSON has them. */
function toJson(text: string): unknown {
  const document = parseToml(text);
  assert.ok(!("problem" in document));
  return JSON.parse(
    JSON.stringify(document.table, (_, value: unknown) => typeof value === "bigint" ? Number(value) : value),
  );
}

for (
  const [example, schema] of [
    ["config.example.toml", "docs/configuration/messaging.schema.json"],
    ["consensus.example.toml", "docs/configuration/consensus.schema.json"],
  ] as const
) {
  Deno.test(`${schema} takes ${example}, with and without its optional keys, and nothing else`, () => {
    const validate = new Ajv2020({ allErrors: true, strict: false }).compile(JSON.parse(read(schema)));
    const fits = (text: string): boolean => validate(toJson(text));
    const text = read(example);
    assert.ok(fits(text));
    assert.ok(fits(text.replaceAll(/^#([a-z0-9_]+ = )/gm, "$1")));
    assert.ok(!fits(text.replace("\nrpc_ws =", "\nrpc_wss =")), "a misspelt key");
    assert.ok(!fits(text.replace("rpc_urls = [", "rpc_urls = [5, ")), "a wrong type");
    const named = validate.errors?.filter(({ keyword }) => keyword !== "if").map((error) =>
      error.instancePath
    );
    assert.deepEqual(named, ["/ethereum/rpc_urls/0"], "the key of a mistake is named, and nothing else");
    assert.ok(!fits(text.replace("[hub]", "[hubb]")), "a misspelt section");
  });
}
