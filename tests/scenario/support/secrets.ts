/**
 * Every kind of secret that a configuration can hold, and the search for them in all that a relayer leaves behind.
 * Start reading at {@link secretly}.
 */
import assert from "node:assert/strict";
import {
  type ConfigChanges,
  type DevnetEndpoints,
  relayerConfig,
  type SectionChanges,
  sectionOf,
} from "../../../devnet/programs/relayer_config.ts";
import { HUB_SEED } from "../../../devnet/programs/consensus_config.ts";
import { DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import { assertSpending } from "./invariants.ts";
import { type RelayerProcess, startRelayer } from "./relayer_process.ts";
import { playSceneOn, type Scene } from "./scene.ts";
import type { Devnet } from "../../../devnet/devnet.ts";

/** Texts that stand in configurations and must stand nowhere else. */
export const SECRETS = {
  etherscanApiKey: "EtherscanKeyQ7XW2",
  user: "rpcuserq7xw2",
  password: "rpcpasswordq7xw2",
  path: "rpcpathkeyq7xw2",
  query: "rpcquerykeyq7xw2",
} as const;

/** The URL with user, password and query; with `hasPath` also a path, which only proxies and the hub take. */
export function secretUrl(url: string, { hasPath = false }: { readonly hasPath?: boolean } = {}): string {
  const secret = new URL(url);
  secret.username = SECRETS.user;
  secret.password = SECRETS.password;
  if (hasPath) secret.pathname = `/v3/${SECRETS.path}`;
  secret.searchParams.set("key", SECRETS.query);
  return secret.href;
}

/** The same changes with secrets in every place that can hold one. */
export function secretly(devnet: DevnetEndpoints, changes: ConfigChanges = {}): ConfigChanges {
  const chains = devnet.chains.filter(({ stateMachine }) => !changes.without?.includes(stateMachine));
  const rpcUrls = chains.map(({ stateMachine, rpcUrl }) =>
    [stateMachine, (changes.rpcUrls?.[stateMachine] ?? [rpcUrl]).map((url) => secretUrl(url))] as const
  );
  const keys = chains.map(({ stateMachine }): readonly [string, SectionChanges] => {
    const section = sectionOf(stateMachine);
    return [section, { etherscan_api_key: SECRETS.etherscanApiKey, ...changes.sections?.[section] }];
  });
  return {
    ...changes,
    hubUrl: secretUrl(changes.hubUrl ?? devnet.hub.wsUrl, { hasPath: true }),
    rpcUrls: Object.fromEntries(rpcUrls),
    sections: { ...changes.sections, ...Object.fromEntries(keys) },
  };
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

/** As `playSceneOn`; at the end nothing of {@link SECRETS} may have left any relayer of the scene. */
export async function playGuardedOn(devnet: Devnet, play: (scene: Scene) => Promise<void>): Promise<void> {
  await playSceneOn(devnet, async (scene) => {
    await play(scene);
    await assertNothingLeaked(scene.relayers.flatMap(({ processes }) => processes));
  });
}

/**
 * A messaging relayer on a devnet whose heights compiled consensus relayers prove: in the end it has to stop in order,
 * without an error line or a secret, and with all that it paid on record.
 */
export async function playMessaging(
  devnet: Devnet,
  play: (messaging: RelayerProcess) => Promise<void>,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "messaging-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const config = relayerConfig(devnet.endpoints, secretly(devnet.endpoints));
  const messaging = stack.use(await startRelayer({ config, folder }));
  await messaging.waitForLine("program_started");
  await play(messaging);
  assert.equal(await messaging.terminate(), 0);
  messaging.assertNoErrors();
  await assertNothingLeaked([messaging]);
  await assertSpending(devnet, messaging);
}
