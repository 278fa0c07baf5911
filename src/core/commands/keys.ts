/** `keys`: the accounts of the configuration and what they own; keys made, imported and encrypted. */
import { describeProblems } from "../config/diagnostics.ts";
import { fileFailure } from "../config/toml.ts";
import type { AccountKind } from "../config/keystores/keystore_file.ts";
import { toHex } from "../encoding/bytes.ts";
import { exitCodes } from "../runtime/exit_codes.ts";
import { systemRandomness } from "../runtime/clock.ts";
import { systemClock } from "../runtime/system_clock.ts";
import { defineStandalone, keysGroup, requireConfig, type StandaloneRun } from "./command.ts";
import type { readKeyText } from "./key_text.ts";
import { addKeystoreOptions, fail, KEYSTORE_HELP, type KeystoreOptions } from "./keystore_options.ts";

/** The command. */
export const keysNew = defineStandalone<KeystoreOptions>({
  group: keysGroup,
  name: "new",
  description: "Makes a key and writes it as an encrypted keystore. Prints the address.",
  summary: "make a key and write it as an encrypted keystore",
  afterHelp: KEYSTORE_HELP,
  without: ["config", "db"],
  addOptions: (parser, choose) =>
    void addKeystoreOptions(parser).action((options: KeystoreOptions) => choose(options)),
  run: async (run, options) => {
    const { readKeyText } = await import("./key_text.ts");
    const { writeKeystore } = await import("./keystore_output.ts");
    return writeKeystore(run, options, makeKey(options.type, readKeyText));
  },
});

/** Keys that the configuration refuses are not made: one in 256 addresses begins with a zero byte. */
function makeKey(type: AccountKind, readKey: typeof readKeyText): Uint8Array {
  for (;;) {
    const read = readKey(type, toHex(systemRandomness.bytes(32)));
    if ("key" in read) return read.key;
  }
}

/** The command. */
export const keysImport = defineStandalone<KeystoreOptions>({
  group: keysGroup,
  name: "import",
  description:
    "Asks for a private key (hex) at the terminal, without showing it, and writes it as an encrypted keystore.",
  summary: "ask for a key and write it as an encrypted keystore",
  afterHelp: KEYSTORE_HELP,
  without: ["config", "db"],
  addOptions: (parser, choose) =>
    void addKeystoreOptions(parser).action((options: KeystoreOptions) => choose(options)),
  run: async (run, options) => {
    const { terminal } = run.env;
    if (terminal === undefined) {
      return fail(run, "no terminal to ask for a key; use keys encrypt for a key in a file");
    }
    const text = terminal.askHidden("Private key (hex): ");
    const { readKeyText } = await import("./key_text.ts");
    const read = readKeyText(options.type, text ?? "");
    if ("found" in read) return fail(run, read.found);
    const { writeKeystore } = await import("./keystore_output.ts");
    return writeKeystore(run, options, read.key);
  },
});

/** Options of the command. */
interface EncryptOptions extends KeystoreOptions {
  readonly keyFile: string;
}

/** The command. */
export const keysEncrypt = defineStandalone<EncryptOptions>({
  group: keysGroup,
  name: "encrypt",
  description:
    "Encrypts a file with a private key (hex) into a keystore. The file stays: remove it once the keystore works.",
  summary: "encrypt a key file into a keystore",
  afterHelp: KEYSTORE_HELP,
  without: ["config", "db"],
  addOptions: (parser, choose) =>
    void addKeystoreOptions(parser.argument("<key-file>", "file with the key as hex"))
      .action((keyFile: string, options: KeystoreOptions) => choose({ ...options, keyFile })),
  run: async (run, options) => {
    const { readKeyText } = await import("./key_text.ts");
    const read = readKeyFile(run, options, readKeyText);
    if ("found" in read) return fail(run, `${options.keyFile}: ${read.found}`);
    const { writeKeystore } = await import("./keystore_output.ts");
    return writeKeystore(run, options, read.key);
  },
});

function readKeyFile(
  { env }: StandaloneRun,
  { type, keyFile }: EncryptOptions,
  read: typeof readKeyText,
): ReturnType<typeof readKeyText> {
  try {
    return read(type, new TextDecoder().decode(env.readFile(keyFile)));
  } catch (error) {
    return { found: fileFailure(error) };
  }
}

const AFTER_HELP = `
Shows no secret. A chain that does not answer within ten seconds is said to, and its address is shown
anyway. Balances of Substrate accounts are in the smallest unit of their chain.

Exit status: 0 shown, 1 the configuration cannot be used, 2 wrong command line.`;

/** The command. */
export const keysList = defineStandalone<undefined>({
  group: keysGroup,
  name: "list",
  isDefault: true,
  description: "Shows address and native balance of every configured account. Sends nothing.",
  summary: "show address and balance of every configured account (default)",
  afterHelp: AFTER_HELP,
  without: ["db"],
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  run: async ({ arguments: args, env, file, print }) => {
    const path = requireConfig(args);
    const reading = file.readAccounts(env, path);
    if (reading.config === undefined) {
      env.writeError(describeProblems(path, reading, "no account is shown"));
      return exitCodes.failed;
    }
    const { listAccounts } = await import("./list_accounts.ts");
    for (const line of await listAccounts(reading.config, systemClock)) print(line);
    return exitCodes.ok;
  },
});
