/** `keys encrypt`: a key file with hex, encrypted. */
import { fileFailure } from "../config/file_failure.ts";
import { defineStandalone, keysGroup } from "./command.ts";
import type { readKeyText } from "./key_text.ts";
import { addKeystoreOptions, fail, KEYSTORE_HELP, type KeystoreOptions } from "./keystore_options.ts";
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
