/** `keys import`: a key that is typed or pasted, encrypted. */
import { defineStandalone, keysGroup } from "./command.ts";
import { addKeystoreOptions, fail, KEYSTORE_HELP, type KeystoreOptions } from "./keystore_options.ts";

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
