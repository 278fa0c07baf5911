/** Every document that is generated from the schemas of the configuration, by its path. */
import { consensusExample, messagingExample } from "./config_examples.ts";
import { consensusReference, messagingReference } from "./config_reference.ts";
import { writeConsensusSchema } from "../../../src/consensus/config/config_file.ts";
import { writeMessagingSchema } from "../../../src/messaging/config/config_file.ts";

import { parseConsensusConfig } from "../../../src/consensus/config/read.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import {
  goodFiles,
  remarkedConsensusConfigs,
  wrongConsensusConfigs,
} from "../../consensus/config/wrong_configs.ts";
import { remarkedConfigs, wrongConfigs } from "../../messaging/config/wrong_configs.ts";
import { describeConfigs } from "../../support/wrong_configs.ts";

/** Everything that is said of wrong and of remarkable files. */
const messagingProblems = (): string =>
  describeConfigs("relayer.toml", [...wrongConfigs, ...remarkedConfigs], parseMessagingConfig);
const consensusProblems = (): string =>
  describeConfigs(
    "consensus.toml",
    [...wrongConsensusConfigs, ...remarkedConsensusConfigs],
    (_, text) => parseConsensusConfig(goodFiles, text),
  );

export const CONFIG_DOCUMENTS: ReadonlyMap<string, () => string> = new Map([
  ["config.example.toml", messagingExample],
  ["consensus.example.toml", consensusExample],
  ["docs/configuration/messaging.md", messagingReference],
  ["docs/configuration/consensus.md", consensusReference],
  ["docs/configuration/messaging.schema.json", writeMessagingSchema],
  ["docs/configuration/consensus.schema.json", writeConsensusSchema],
  ["tests/messaging/config/wrong_configs.txt", messagingProblems],
  ["tests/consensus/config/wrong_configs.txt", consensusProblems],
]);
