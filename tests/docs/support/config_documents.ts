/** Every document that is generated from the schemas of the configuration, by its path. */
import { consensusExample, messagingExample } from "./config_examples.ts";
import { consensusReference, messagingReference } from "./config_reference.ts";
import { writeConsensusSchema } from "../../../src/consensus/config/config_file.ts";
import { writeMessagingSchema } from "../../../src/messaging/config/config_file.ts";

export const CONFIG_DOCUMENTS: ReadonlyMap<string, () => string> = new Map([
  ["config.example.toml", messagingExample],
  ["consensus.example.toml", consensusExample],
  ["docs/configuration/messaging.md", messagingReference],
  ["docs/configuration/consensus.md", consensusReference],
  ["docs/configuration/messaging.schema.json", writeMessagingSchema],
  ["docs/configuration/consensus.schema.json", writeConsensusSchema],
]);
