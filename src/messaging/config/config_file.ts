/** The messaging relayer's file, for the commands that both programs have. */
import type { ConfiguredAccount } from "../../core/config/accounts.ts";
import type { ConfigFileKind } from "../../core/config/config_file.ts";
import { writeMessagingInit } from "./init_file.ts";
import { writeMessagingSchema } from "./json_schema.ts";
import { readMessagingConfig } from "./read.ts";
import type { MessagingConfig } from "./schema.ts";

/** Its reader and its descriptions. */
export const messagingFile: ConfigFileKind = {
  read: readMessagingConfig,
  writeJsonSchema: writeMessagingSchema,
  writeInit: writeMessagingInit,
  readAccounts: (files, path) => {
    const reading = readMessagingConfig(files, path);
    return { ...reading, config: reading.config && accountsOf(reading.config) };
  },
};

function accountsOf({ hub, chains }: MessagingConfig): readonly ConfiguredAccount[] {
  return [
    { ...hub, kind: "substrate", hashing: "Keccak" },
    ...chains.map((chain): ConfiguredAccount =>
      chain.type === "substrate" ? { ...chain, kind: "substrate" } : { ...chain, kind: "evm" }
    ),
  ];
}
