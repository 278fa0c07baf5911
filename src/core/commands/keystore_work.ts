/** Work of the commands about keys: texts of keys, their accounts, passwords, and new keystores. Loads the libraries. */
import { getAddress } from "viem/utils";
import { encryptEthereumKey } from "../config/keystores/ethereum_keystore.ts";
import { type AccountKind, readPassword } from "../config/keystores/keystore_file.ts";
import { encryptSr25519Key } from "../config/keystores/polkadot_keystore.ts";
import type { Checked } from "../config/diagnostics.ts";
import { readKey } from "../config/secrets.ts";
import { fileFailure, readTextFile } from "../config/toml.ts";
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

const EXPECTED = { evm: "32 bytes of hex", substrate: "32 or 64 bytes of hex" } as const;

/** A key from hex. */
export function readKeyText(type: AccountKind, text: string): Checked<Uint8Array> {
  if (text.trimStart().startsWith("{")) return { found: "it is a keystore already" };
  const checked = readKey(type, text.trim());
  if ("value" in checked) return { value: fromHex(checked.value.reveal()) };
  const hint = checked.hint === undefined ? "" : `; ${checked.hint}`;
  return { found: `${checked.found}, where ${EXPECTED[type]} are expected${hint}` };
}

/** A key from a file with hex. */
export function readKeyFile({ env }: StandaloneRun, type: AccountKind, path: string): Checked<Uint8Array> {
  const file = readTextFile(env, path);
  const read = "found" in file ? file : readKeyText(type, file.value);
  return "found" in read ? { found: `${path}: ${read.found}` } : read;
}

/** A random key; keys that the configuration refuses are not made: one in 256 addresses begins with a zero byte. */
export function makeKey(type: AccountKind): Checked<Uint8Array> {
  for (;;) {
    const read = readKeyText(type, toHex(systemRandomness.bytes(32)));
    if ("value" in read) return read;
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
  read: Checked<Uint8Array>,
): ExitCode {
  if ("found" in read) return fail(run, read.found);
  const password = findPassword(run, passwordFile);
  if ("found" in password) return fail(run, password.found);
  const encrypt = type === "evm" ? encryptEthereumKey : encryptSr25519Key;
  try {
    const text = encrypt(read.value, password.value, (count) => systemRandomness.bytes(count));
    if (!run.env.writeNewFile(out, `${text}\n`)) return fail(run, `${out} exists and is not overwritten`);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return fail(run, `${out} cannot be written: ${fileFailure(error)}`);
  }
  run.print(`${out}: ${describeKey(type, read.value)}`);
  return exitCodes.ok;
}

function fail({ env }: StandaloneRun, why: string): ExitCode {
  env.writeError(`${why}; nothing was written\n`);
  return exitCodes.failed;
}

function findPassword({ env }: StandaloneRun, path: string | undefined): Checked<string> {
  if (path !== undefined) {
    const read = readPassword(env, path);
    if ("found" in read) return { found: `${path}: ${read.found}` };
    return read.value === "" ? { found: `${path}: an empty password` } : read;
  }
  if (env.terminal === undefined) return { found: "no terminal to ask for a password; give --password-file" };
  const typed = env.terminal.askHidden("Password of the new keystore: ") ?? "";
  if (typed === "") return { found: "no password was given" };
  const again = env.terminal.askHidden("The same again: ");
  return again === typed ? { value: typed } : { found: "the two passwords differ" };
}
