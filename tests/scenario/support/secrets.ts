/**
 * Every kind of secret that a configuration can hold, and the search for them in all that a relayer leaves behind.
 * Start reading at {@link withSecrets}.
 */
import assert from "node:assert/strict";
import { HUB_SEED } from "../../../devnet/programs/consensus_config.ts";
import { DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import type { RelayerProcess } from "./relayer_process.ts";

/** Texts that stand in configurations and must stand nowhere else. */
export const SECRETS = {
  etherscanApiKey: "EtherscanKeyQ7XW2",
  user: "rpcuserq7xw2",
  password: "rpcpasswordq7xw2",
  path: "rpcpathkeyq7xw2",
  query: "rpcquerykeyq7xw2",
} as const;

/** The URL of a node with user, password and query; that of a socket also with a path, which EVM nodes do not take. */
export function secretUrl(url: string): string {
  const secret = new URL(url);
  secret.username = SECRETS.user;
  secret.password = SECRETS.password;
  if (secret.protocol === "ws:") secret.pathname = `/v3/${SECRETS.path}`;
  secret.searchParams.set("key", SECRETS.query);
  return secret.href;
}

/** A configuration with secrets in every place that can hold one. @param toml with URLs that have neither path nor query */
export function withSecrets(toml: string): string {
  return toml.replaceAll(
    /"((?:http|ws):\/\/127\.0\.0\.1:\d+\/?)"/g,
    (_, url: string) => `"${secretUrl(url)}"`,
  )
    .replaceAll('etherscan_api_key = ""', `etherscan_api_key = "${SECRETS.etherscanApiKey}"`);
}

/** What is looked for: the secrets, and the keys of all roles with and without `0x`. */
const FORBIDDEN: readonly string[] = [
  ...Object.values(SECRETS),
  ...[...Object.values(DEVNET_KEYS), HUB_SEED].map((key) => key.slice(2)),
].map((secret) => secret.toLowerCase());

/** The secrets that a text holds, in either case. */
export function foundSecrets(text: string): readonly string[] {
  const lower = text.toLowerCase();
  return FORBIDDEN.filter((secret) => lower.includes(secret));
}

/** @throws {assert.AssertionError} when the text holds a secret in either case. */
export function assertNoSecrets(text: string, where: string): void {
  assert.deepEqual(foundSecrets(text), [], `${where} holds secrets`);
}

/** Looks at the output of the processes and at every file but the configuration in their folders. */
export async function assertNothingLeaked(processes: readonly RelayerProcess[]): Promise<void> {
  const paths = new Set(
    processes.flatMap(({ dbPath, configPath }) => [folderOf(dbPath), folderOf(configPath)]),
  );
  for (const process of processes) assertNoSecrets(process.text, "the output");
  for (const path of paths) await assertCleanFolder(path);
}

async function assertCleanFolder(folder: string): Promise<void> {
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (!isFile || name.endsWith(".toml")) continue;
    const bytes = await Deno.readFile(`${folder}/${name}`);
    assertNoSecrets(new TextDecoder("latin1").decode(bytes), name);
    // Keys are 32 bytes; a table could hold them as such.
    const hex = bytes.toHex();
    const asBytes = Object.values(DEVNET_KEYS).filter((key) => hex.includes(key.slice(2).toLowerCase()));
    assert.equal(asBytes.length, 0, `${name} holds a key as bytes`);
  }
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
