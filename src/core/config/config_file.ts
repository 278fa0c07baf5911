/** The configuration file of a program, for commands that are the same in both. */
import type { ConfigResult } from "./diagnostics.ts";
import type { InitAnswers, InitFile } from "./commented_file.ts";
import type { ConfigFiles } from "./toml.ts";
import type { EvmValues, SubstrateValues } from "./chains.ts";

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

type OfBoth = "stateMachine" | "consensusStateId" | "signer";
type NodeKey = "rpcWs" | "maxRpcPayloadSizeBytes" | "maxConcurrentQueries";

/** An account of an EVM chain. */
interface EvmSignerAccount
  extends Pick<EvmValues, OfBoth | "rpcUrls" | "ismpHost" | "gasPriceBufferPercent" | "clientType"> {
  /** Name of the section in the file. */
  readonly section: string;
}

/** An account of a Substrate chain. */
interface SubstrateSignerAccount extends Pick<SubstrateValues, OfBoth | NodeKey | "hashing"> {
  readonly section: string;
}

/** An account that a configuration names. */
export type ConfiguredAccount = EvmSignerAccount | SubstrateSignerAccount;
