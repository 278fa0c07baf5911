/** The messaging relayer's file, for the commands that both programs have. */
import type { ConfigFileKind } from "../../core/config/config_file.ts";
import { writeMessagingSchema } from "./json_schema.ts";
import { readMessagingConfig } from "./read.ts";
import type { MessagingConfig } from "./schema.ts";

/** Its reader and its descriptions. */
export const messagingFile: ConfigFileKind<MessagingConfig> = {
  read: readMessagingConfig,
  writeJsonSchema: writeMessagingSchema,
};
