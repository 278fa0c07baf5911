/** JSON schema of the messaging relayer's file. Pure. */
import { noFiles, objectOf, writeSchema } from "../../core/config/json_schema.ts";
import { FLEET_SECTION, messagingSections } from "./schema.ts";

/** Also at `docs/configuration/messaging.schema.json`. */
export function writeMessagingSchema(): string {
  const sections = messagingSections(noFiles);
  const hub = objectOf(sections.hub);
  return writeSchema("Configuration file of causeway", {
    properties: {
      hub,
      hyperbridge: hub,
      relayer: objectOf(sections.relayer, { [FLEET_SECTION]: objectOf(sections.fleet) }),
    },
    required: ["relayer"],
    additionalProperties: {
      anyOf: [objectOf(sections.evm), objectOf(sections.substrate_evm), objectOf(sections.substrate)],
    },
  });
}
