import assert from "node:assert/strict";
import { foundSecrets, SECRETS, withSecrets } from "./secrets.ts";

Deno.test("secrets: they stand in every place of a configuration, and are found in either case", () => {
  const toml = withSecrets('a = ["http://127.0.0.1:1"]\nb = "ws://127.0.0.1:2"\netherscan_api_key = ""\n');
  assert.deepEqual(
    foundSecrets(toml.toUpperCase()),
    Object.values(SECRETS).map((secret) => secret.toLowerCase()),
  );
  assert.deepEqual(foundSecrets("nothing"), []);
});
