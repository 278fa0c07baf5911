/** `keys encrypt`: a key file with hex, encrypted. */
import { fileFailure } from "../config/toml.ts";
import { defineStandalone } from "./command.ts";
import { readKeyText } from "./key_text.ts";
import { keysGroup } from "./keys_group.ts";
import {
  addKeystoreOptions,
  fail,
  KEYSTORE_HELP,
  type KeystoreOptions,
  writeKeystore,
} from "./keystore_output.ts";
import type { StandaloneRun } from "./standalone.ts";

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
  run: (run, options) => {
    const read = readKeyFile(run, options);
    return Promise.resolve(
      "found" in read
        ? fail(run, `${options.keyFile}: ${read.found}`)
        : writeKeystore(run, options, read.key),
    );
  },
});

function readKeyFile(
  { env }: StandaloneRun,
  { type, keyFile }: EncryptOptions,
): ReturnType<typeof readKeyText> {
  try {
    return readKeyText(type, new TextDecoder().decode(env.readFile(keyFile)));
  } catch (error) {
    return { found: fileFailure(error) };
  }
}
