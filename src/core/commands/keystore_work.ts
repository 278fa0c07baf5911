/** Work of the commands about keys: texts of keys, their accounts, passwords, and new keystores. Loads the libraries. */
import { getAddress } from "viem/utils";
import { encryptEthereumKey } from "../config/keystores/ethereum_keystore.ts";
import { type AccountKind, readPassword } from "../config/keystores/keystore_file.ts";
import { encryptSr25519Key } from "../config/keystores/polkadot_keystore.ts";
import type { Checked } from "../config/diagnostics.ts";
import { readKey } from "../config/secrets.ts";
import { readTextFile } from "../config/toml.ts";
import { fromHex, toHex } from "../encoding/bytes.ts";
import { sr25519PublicKey, toEvmAddress } from "../ismp/signed_messages.ts";
import { systemRandomness } from "../runtime/clock.ts";
import { ss58Address } from "../substrate/ss58.ts";
import { nothingWritten, type StandaloneRun, writeNew } from "./command.ts";

/** Options of the commands that write keystores. */
export interface KeystoreOptions {
  readonly type: AccountKind;
  readonly out: string;
  readonly passwordFile?: string;
  /** Only of `keys encrypt`. */
  readonly keyFile?: string | undefined;
}

const EXPECTED = { evm: "32 bytes of hex", substrate: "32 or 64 bytes of hex" } as const;

/** A key from hex. @param place where it stands, for the refusal @throws {CommandRefusal} */
export function readKeyText(type: AccountKind, text: string, place = ""): Uint8Array {
  const isStore = text.trimStart().startsWith("{");
  const checked = isStore ? { found: "it is a keystore already" } : readKey(type, text.trim());
  if ("value" in checked) return fromHex(checked.value.reveal());
  const hint = checked.hint === undefined ? "" : `; ${checked.hint}`;
  throw nothingWritten(`${place}${checked.found}, where ${EXPECTED[type]} are expected${hint}`);
}

/** A key from a file with hex. @throws {CommandRefusal} */
export function readKeyFile({ env }: StandaloneRun, type: AccountKind, path: string): Uint8Array {
  return readKeyText(type, found(readTextFile(env, path), path), `${path}: `);
}

/** A random key; keys that the configuration refuses are not made: one in 256 addresses begins with a zero byte. */
export function makeKey(type: AccountKind): Uint8Array {
  for (;;) {
    const read = readKey(type, toHex(systemRandomness.bytes(32)));
    if ("value" in read) return fromHex(read.value.reveal());
  }
}

/** The account of a key: its address, and of Substrate accounts the public key as well. */
export function describeKey(type: AccountKind, key: Uint8Array): string {
  if (type === "evm") return getAddress(toHex(toEvmAddress(key)));
  const publicKey = sr25519PublicKey(key);
  return `${ss58Address(publicKey)} (${toHex(publicKey)})`;
}

/** Encrypts a key into a new file, and prints its address. @throws {CommandRefusal} */
export function writeKeystore(
  run: StandaloneRun,
  { type, out, passwordFile }: KeystoreOptions,
  key: Uint8Array,
): void {
  const password = findPassword(run, passwordFile);
  const encrypt = type === "evm" ? encryptEthereumKey : encryptSr25519Key;
  writeNew(run, out, `${encrypt(key, password, (count) => systemRandomness.bytes(count))}\n`);
  run.print(`${out}: ${describeKey(type, key)}`);
}

/** What is in a file. @throws {CommandRefusal} where it cannot be read */
function found<T>(read: Checked<T>, path: string): T {
  if ("found" in read) throw nothingWritten(`${path}: ${read.found}`);
  return read.value;
}

function findPassword({ env }: StandaloneRun, path: string | undefined): string {
  if (path !== undefined) {
    const password = found(readPassword(env, path), path);
    if (password === "") throw nothingWritten(`${path}: an empty password`);
    return password;
  }
  const { terminal } = env;
  if (terminal === undefined) throw nothingWritten("no terminal to ask for a password; give --password-file");
  const typed = terminal.askHidden("Password of the new keystore: ") ?? "";
  if (typed === "") throw nothingWritten("no password was given");
  if (terminal.askHidden("The same again: ") !== typed) throw nothingWritten("the two passwords differ");
  return typed;
}
