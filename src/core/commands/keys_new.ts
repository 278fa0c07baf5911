/** `keys new`: a new key, encrypted. */
import type { AccountKind } from "../config/keystores/keystore_file.ts";
import { toHex } from "../encoding/bytes.ts";
import { systemRandomness } from "../runtime/randomness.ts";
import { defineStandalone, keysGroup } from "./command.ts";
import type { readKeyText } from "./key_text.ts";
import { addKeystoreOptions, KEYSTORE_HELP, type KeystoreOptions } from "./keystore_options.ts";

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
