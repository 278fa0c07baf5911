/** Encrypted keystores in files, with their passwords in other files. */
import { keccak256, toHex } from "../../encoding/bytes.ts";
import type { Checked } from "../diagnostics.ts";
import { type ConfigFiles, readTextFile, type TomlValue } from "../toml.ts";
import { quoted } from "../redact.ts";
import { isEthereumKeystore, openEthereumKeystore } from "./ethereum_keystore.ts";
import type { OpenedKeystore } from "./opened_keystore.ts";
import { isPolkadotKeystore, openPolkadotKeystore } from "./polkadot_keystore.ts";

/** Accounts by what signs for them: secp256k1 or sr25519. */
export type AccountKind = "evm" | "substrate";

/** What a keystore is opened for and with. */
export interface KeystoreUse {
  readonly account: AccountKind;
  /** `keystore_password_file` as the section has it. */
  readonly passwordFile: TomlValue | undefined;
}

/** Opens the keystore at a path. */
export function openKeystoreFile(
  files: ConfigFiles,
  path: string,
  { account, passwordFile }: KeystoreUse,
): OpenedKeystore {
  const file = readTextFile(files, path);
  if ("found" in file) return { found: `a keystore at a path with ${file.found}` };
  if (typeof passwordFile !== "string") {
    const hint = "name the file of its password in keystore_password_file";
    return { found: "a keystore without a password", hint };
  }
  const password = readPassword(files, passwordFile.trim());
  if ("found" in password) return { found: "a keystore whose password cannot be read" };
  // Opening takes a second: several sections, and later readings of the file, share it.
  const facts = JSON.stringify([account, file.value, password.value]);
  const name = toHex(keccak256(new TextEncoder().encode(facts)));
  const known = files.openedKeystores?.get(name);
  if (known !== undefined) return { value: known };
  const opened = openKeystore(file.value, account, password.value);
  if ("found" in opened) return { ...opened, found: `${opened.found} (${quoted(path)})` };
  files.openedKeystores?.set(name, opened.value);
  return opened;
}

/** A password: the first line of a file. */
export function readPassword(files: ConfigFiles, path: string): Checked<string> {
  const file = readTextFile(files, path);
  return "found" in file ? file : { value: file.value.split(/\r?\n/, 1)[0] ?? "" };
}

/** Opens the text of a keystore of either kind. */
function openKeystore(text: string, account: AccountKind, password: string): OpenedKeystore {
  const json = parseObject(text);
  if (json === undefined) return { found: "a keystore that is not JSON" };
  if (isEthereumKeystore(json)) {
    return account === "evm"
      ? openEthereumKeystore(json, password)
      : { found: "a keystore of an Ethereum account", hint: "Substrate accounts need those of polkadot-js" };
  }
  if (isPolkadotKeystore(json)) {
    return account === "substrate"
      ? openPolkadotKeystore(json, password)
      : { found: "a keystore of polkadot-js", hint: "EVM accounts need Ethereum's keystores (version 3)" };
  }
  return { found: "a file that is no keystore", hint: "Ethereum's version 3, or polkadot-js's JSON" };
}

function parseObject(text: string): object | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? json : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
