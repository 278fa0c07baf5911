/** `keys new`: a new key, encrypted. */
import type { AccountKind } from "../config/keystores/keystore_file.ts";
import { toHex } from "../encoding/bytes.ts";
import { systemRandomness } from "../runtime/randomness.ts";
import { defineStandalone } from "./command.ts";
import { readKeyText } from "./key_text.ts";
import { keysGroup } from "./keys_group.ts";
import { addKeystoreOptions, KEYSTORE_HELP, type KeystoreOptions, writeKeystore } from "./keystore_output.ts";

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
  run: (run, options) => Promise.resolve(writeKeystore(run, options, makeKey(options.type))),
});

/** Keys that the configuration refuses are not made: one in 256 addresses begins with a zero byte. */
function makeKey(type: AccountKind): Uint8Array {
  for (;;) {
    const read = readKeyText(type, toHex(systemRandomness.bytes(32)));
    if ("key" in read) return read.key;
  }
}
