/** The configuration file of a program, for commands that are the same in both. */
import type { ConfigResult } from "./diagnostics.ts";
import type { InitAnswers, InitFile } from "./commented_file.ts";
import type { ConfigFiles } from "./files.ts";
import type { Hex } from "../encoding/bytes.ts";
import type { ConsensusStateId, StateMachine } from "../ismp/state_machine.ts";
import type { EvmSigner } from "./evm_signer.ts";
import type { EndpointUrl, Secret } from "./redact.ts";

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

/** What every account has. */
interface AccountPlace {
  /** Name of the section in the file. */
  readonly section: string;
  readonly stateMachine: StateMachine;
  readonly consensusStateId: ConsensusStateId;
}

/** An account of an EVM chain. */
export interface EvmSignerAccount extends AccountPlace {
  readonly kind: "evm";
  readonly rpcUrls: readonly EndpointUrl[];
  readonly ismpHost: Hex;
  /** `undefined`: nothing is signed on this chain. */
  readonly signer: EvmSigner | undefined;
  readonly gasPriceBufferPercent: number;
  readonly clientType: "Geth" | "Erigon";
}

/** An account of a Substrate chain. */
export interface SubstrateSignerAccount extends AccountPlace {
  readonly kind: "substrate";
  readonly hashing: "Keccak" | "Blake2";
  readonly rpcWs: EndpointUrl;
  readonly maxRpcPayloadSizeBytes: number;
  readonly maxConcurrentQueries: number;
  readonly signer: Secret<Hex> | undefined;
}

/** An account that a configuration names. */
export type ConfiguredAccount = EvmSignerAccount | SubstrateSignerAccount;
