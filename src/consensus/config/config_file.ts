/** The consensus relayer's file, for the commands that both programs have. */
import type { ConfiguredAccount } from "../../core/config/accounts.ts";
import type { ConfigFileKind } from "../../core/config/config_file.ts";
import { writeConsensusInit } from "./init_file.ts";
import { writeConsensusSchema } from "./json_schema.ts";
import { readConsensusConfig } from "./read.ts";
import type { ConsensusConfig } from "./schema.ts";

/** Its reader and its descriptions. */
export const consensusFile: ConfigFileKind = {
  read: readConsensusConfig,
  writeJsonSchema: writeConsensusSchema,
  writeInit: writeConsensusInit,
  readAccounts: (files, path) => {
    const reading = readConsensusConfig(files, path);
    return { ...reading, config: reading.config && accountsOf(reading.config) };
  },
};

function accountsOf({ hub, chains }: ConsensusConfig): readonly ConfiguredAccount[] {
  return [
    { ...hub.substrate, kind: "substrate", section: `${hub.section}.substrate` },
    ...chains.map((chain): ConfiguredAccount =>
      chain.type === "substrate" ? { ...chain, kind: "substrate" } : { ...chain, kind: "evm" }
    ),
  ];
}
