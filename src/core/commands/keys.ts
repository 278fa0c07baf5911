/** `keys`: the accounts of the configuration and what they own; keys made, imported and encrypted. */
import { type Command as Parser, Option } from "commander";
import { systemClock } from "../runtime/system_clock.ts";
import { type Command, keysGroup, nothingWritten, readUsable, type StandaloneRun } from "./command.ts";
import type { KeystoreOptions } from "./keystore_work.ts";

/** What is loaded for the work. */
type Work = typeof import("./keystore_work.ts");

/** Defines a command that writes a keystore. @param findKey finds the key to write */
function defineKeystoreCommand(
  texts: { readonly name: string; readonly description: string },
  findKey: (work: Work, run: StandaloneRun, options: KeystoreOptions) => Uint8Array,
  addArgument: (parser: Parser) => Parser = (parser) => parser,
): Command<StandaloneRun> {
  return {
    ...texts,
    group: keysGroup,
    afterHelp: `The file is new, readable by its owner only, and an existing one is never overwritten. Without
--password-file the password is asked for at the terminal. In the configuration:
  signer = "keystore:account.json"
  keystore_password_file = "account.password"`,
    exitStatus: { 0: "written", 1: "nothing was written" },
    without: ["config", "db"],
    addOptions: (parser) =>
      void addArgument(parser)
        .addOption(
          new Option("--type <type>", "kind of account: evm (secp256k1) or substrate (sr25519)")
            .choices(["evm", "substrate"]).makeOptionMandatory(),
        )
        .requiredOption("--out <path>", "keystore to write")
        .option("--password-file <path>", "file whose first line is the password"),
    run: async (run, ...given: readonly unknown[]) => {
      const parser = given.at(-1) as Parser;
      const options = { ...parser.opts<KeystoreOptions>(), keyFile: parser.args[0] };
      const work = await import("./keystore_work.ts");
      work.writeKeystore(run, options, findKey(work, run, options));
    },
  };
}

/** The command. */
export const keysNew = defineKeystoreCommand({
  name: "new",
  description: "Makes a key and writes it as an encrypted keystore. Prints the address.",
}, ({ makeKey }, _, { type }) => makeKey(type));

/** The command. */
export const keysImport = defineKeystoreCommand({
  name: "import",
  description:
    "Asks for a private key (hex) at the terminal, without showing it, and writes it as an encrypted keystore.",
}, ({ readKeyText }, { env }, { type }) => {
  if (env.terminal === undefined) {
    throw nothingWritten("no terminal to ask for a key; use keys encrypt for a key in a file");
  }
  return readKeyText(type, env.terminal.askHidden("Private key (hex): ") ?? "");
});

/** The command. */
export const keysEncrypt = defineKeystoreCommand(
  {
    name: "encrypt",
    description:
      "Encrypts a file with a private key (hex) into a keystore. The file stays: remove it once the keystore works.",
  },
  ({ readKeyFile }, run, { type, keyFile = "" }) => readKeyFile(run, type, keyFile),
  (parser) => parser.argument("<key-file>", "file with the key as hex"),
);

/** The command. */
export const keysList: Command<StandaloneRun> = {
  group: keysGroup,
  name: "list",
  isDefault: true,
  description: "Shows address and native balance of every configured account. Sends nothing.",
  afterHelp:
    `Shows no secret. A chain that does not answer within ten seconds is said to, and its address is shown
anyway. Balances of Substrate accounts are in the smallest unit of their chain.`,
  exitStatus: { 0: "shown", 1: "the configuration cannot be used" },
  without: ["db"],
  run: async (run) => {
    const { config } = readUsable(run, run.file.readAccounts, "no account is shown");
    const { listAccounts } = await import("./list_accounts.ts");
    run.print(await listAccounts(config, systemClock));
  },
};
