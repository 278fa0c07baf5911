/** The configuration file of a program, for commands that are the same in both. */
import type { ConfiguredAccount } from "./accounts.ts";
import type { ConfigResult } from "./diagnostics.ts";
import type { InitAnswers, InitFile } from "./init_answers.ts";
import type { ConfigFiles } from "./toml.ts";

/** How a program's configuration file is read and described. */
export interface ConfigFileKind {
  /** Reads and checks the file at a path; a file that cannot be read is a problem, too. */
  readonly read: (files: ConfigFiles, path: string) => ConfigResult<unknown>;
  /** JSON schema of the file. */
  readonly writeJsonSchema: () => string;
  /** Writes a commented file. */
  readonly writeInit: (answers: InitAnswers) => InitFile;
  /** As {@link read}; gives the accounts, in the order of the file, the hub's first. */
  readonly readAccounts: (files: ConfigFiles, path: string) => ConfigResult<readonly ConfiguredAccount[]>;
}
