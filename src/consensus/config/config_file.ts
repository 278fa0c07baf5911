/** The consensus relayer's file, for the commands that both programs have. */
import type { ConfigFileKind } from "../../core/config/config_file.ts";
import { writeConsensusSchema } from "./json_schema.ts";
import { readConsensusConfig } from "./read.ts";
import type { ConsensusConfig } from "./schema.ts";

/** Its reader and its descriptions. */
export const consensusFile: ConfigFileKind<ConsensusConfig> = {
  read: readConsensusConfig,
  writeJsonSchema: writeConsensusSchema,
};
