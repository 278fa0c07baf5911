/** What the commands share that write encrypted keystores: passwords, and the new file. */
import { encryptEthereumKey } from "../config/keystores/ethereum_keystore.ts";
import { readPassword } from "../config/keystores/keystore_file.ts";
import { encryptSr25519Key } from "../config/keystores/polkadot_keystore.ts";
import { fileFailure } from "../config/toml.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { systemRandomness } from "../runtime/clock.ts";
import { describeKey } from "./key_text.ts";
import { fail, type KeystoreOptions } from "./keystore_options.ts";
import type { StandaloneRun } from "./command.ts";

/** Encrypts a key into a new file, and prints its address. */
export function writeKeystore(
  run: StandaloneRun,
  { type, out, passwordFile }: KeystoreOptions,
  key: Uint8Array,
): ExitCode {
  const password = findPassword(run, passwordFile);
  if ("found" in password) return fail(run, password.found);
  const encrypt = type === "evm" ? encryptEthereumKey : encryptSr25519Key;
  try {
    const text = encrypt(key, password.text, (count) => systemRandomness.bytes(count));
    if (!run.env.writeNewFile(out, `${text}\n`)) return fail(run, `${out} exists and is not overwritten`);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return fail(run, `${out} cannot be written: ${fileFailure(error)}`);
  }
  run.print(`${out}: ${describeKey(type, key)}`);
  return exitCodes.ok;
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
