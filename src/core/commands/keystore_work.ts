/** Work of the commands about keys: texts of keys, their accounts, passwords, and new keystores. Loads the libraries. */
import { getAddress } from "viem/utils";
import { encryptEthereumKey } from "../config/keystores/ethereum_keystore.ts";
import { type AccountKind, readPassword } from "../config/keystores/keystore_file.ts";
import { encryptSr25519Key } from "../config/keystores/polkadot_keystore.ts";
import { judgeEvmKey, judgeHex, judgeSubstrateKey } from "../config/secrets.ts";
import { fileFailure } from "../config/toml.ts";
import { fromHex, toHex } from "../encoding/bytes.ts";
import { sr25519PublicKey, toEvmAddress } from "../ismp/signed_messages.ts";
import { systemRandomness } from "../runtime/clock.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { ss58Address } from "../substrate/ss58.ts";
import type { StandaloneRun } from "./command.ts";

/** Options of the commands that write keystores. */
export interface KeystoreOptions {
  readonly type: AccountKind;
  readonly out: string;
  readonly passwordFile?: string;
  /** Only of `keys encrypt`. */
  readonly keyFile?: string | undefined;
}

/** A key, or why there is none; the text holds nothing of it. */
export type KeyReading = { readonly key: Uint8Array } | { readonly found: string };

const EXPECTED = { evm: "32 bytes of hex", substrate: "32 or 64 bytes of hex" } as const;

/** A key from hex. */
export function readKeyText(type: AccountKind, text: string): KeyReading {
  if (text.trimStart().startsWith("{")) return { found: "it is a keystore already" };
  const judgement = judgeHex(text.trim(), type === "evm" ? judgeEvmKey : judgeSubstrateKey);
  if ("value" in judgement) return { key: fromHex(judgement.value.reveal()) };
  const hint = judgement.hint === undefined ? "" : `; ${judgement.hint}`;
  return { found: `${judgement.found}, where ${EXPECTED[type]} are expected${hint}` };
}

/** A key from a file with hex. */
export function readKeyFile({ env }: StandaloneRun, type: AccountKind, path: string): KeyReading {
  try {
    const read = readKeyText(type, new TextDecoder().decode(env.readFile(path)));
    return "found" in read ? { found: `${path}: ${read.found}` } : read;
  } catch (error) {
    return { found: `${path}: ${fileFailure(error)}` };
  }
}

/** A random key; keys that the configuration refuses are not made: one in 256 addresses begins with a zero byte. */
export function makeKey(type: AccountKind): KeyReading {
  for (;;) {
    const read = readKeyText(type, toHex(systemRandomness.bytes(32)));
    if ("key" in read) return read;
  }
}

/** The account of a key: its address, and of Substrate accounts the public key as well. */
export function describeKey(type: AccountKind, key: Uint8Array): string {
  if (type === "evm") return getAddress(toHex(toEvmAddress(key)));
  const publicKey = sr25519PublicKey(key);
  return `${ss58Address(publicKey)} (${toHex(publicKey)})`;
}

/** Encrypts a key into a new file, and prints its address. */
export function writeKeystore(
  run: StandaloneRun,
  { type, out, passwordFile }: KeystoreOptions,
  read: KeyReading,
): ExitCode {
  if ("found" in read) return fail(run, read.found);
  const password = findPassword(run, passwordFile);
  if ("found" in password) return fail(run, password.found);
  const encrypt = type === "evm" ? encryptEthereumKey : encryptSr25519Key;
  try {
    const text = encrypt(read.key, password.text, (count) => systemRandomness.bytes(count));
    if (!run.env.writeNewFile(out, `${text}\n`)) return fail(run, `${out} exists and is not overwritten`);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return fail(run, `${out} cannot be written: ${fileFailure(error)}`);
  }
  run.print(`${out}: ${describeKey(type, read.key)}`);
  return exitCodes.ok;
}

function fail({ env }: StandaloneRun, why: string): ExitCode {
  env.writeError(`${why}; nothing was written\n`);
  return exitCodes.failed;
}

function findPassword(
  { env }: StandaloneRun,
  path: string | undefined,
): { readonly text: string } | { readonly found: string } {
  if (path !== undefined) {
    const read = readPassword(env, path);
    if ("found" in read) return { found: `${path}: ${read.found}` };
    return read.text === "" ? { found: `${path}: an empty password` } : read;
  }
  if (env.terminal === undefined) return { found: "no terminal to ask for a password; give --password-file" };
  const text = env.terminal.askHidden("Password of the new keystore: ");
  if (text === undefined || text === "") return { found: "no password was given" };
  const again = env.terminal.askHidden("The same again: ");
  return again === text ? { text } : { found: "the two passwords differ" };
}
