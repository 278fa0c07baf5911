/**
 * Options of the commands that write encrypted keystores. Apart from the work: it needs libraries that help and mistakes
 * do not wait for.
 */
import type { Command as Parser } from "commander";
import { Option } from "commander";
import type { AccountKind } from "../config/keystores/keystore_file.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import type { StandaloneRun } from "./command.ts";

/** Options of all of them. */
export interface KeystoreOptions {
  readonly type: AccountKind;
  readonly out: string;
  readonly passwordFile?: string;
}

/** Said below the help of all of them. */
export const KEYSTORE_HELP = `
The file is new, readable by its owner only, and an existing one is never overwritten. Without
--password-file the password is asked for at the terminal. In the configuration:
  signer = "keystore:account.json"
  keystore_password_file = "account.password"

Exit status: 0 written, 1 nothing was written, 2 wrong command line.`;

/** Adds their options. */
export function addKeystoreOptions(parser: Parser): Parser {
  return parser
    .addOption(
      new Option("--type <type>", "kind of account: evm (secp256k1) or substrate (sr25519)")
        .choices(["evm", "substrate"]).makeOptionMandatory(),
    )
    .requiredOption("--out <path>", "keystore to write")
    .option("--password-file <path>", "file whose first line is the password");
}

/** Says why nothing was written. */
export function fail({ env }: StandaloneRun, why: string): ExitCode {
  env.writeError(`${why}; nothing was written\n`);
  return exitCodes.failed;
}
