/** JSON schema of the consensus relayer's file. Pure. */
import { type JsonSchema, noFiles, objectOf, writeSchema } from "../../core/config/json_schema.ts";
import { CHAIN_TYPES, chainClients, type ChainType, HUB_TYPES, hubClients } from "../registry.ts";
import { consensusSections } from "./schema.ts";

/** Also at `docs/configuration/consensus.schema.json`. */
export function writeConsensusSchema(): string {
  const sections = consensusSections(noFiles);
  const hub = objectOf(sections.hub, {
    ...Object.fromEntries(
      HUB_TYPES.map((type) => [hubClients[type].sectionName, objectOf(hubClients[type].section)]),
    ),
    substrate: objectOf(sections.hubSubstrate),
  });
  const chain = (type: ChainType): JsonSchema => {
    const { host, networks } = chainClients[type];
    const whole = objectOf(sections.evm, { host: objectOf(host) });
    const types = [type, ...Object.keys(networks)];
    return {
      ...whole,
      properties: { ...whole.properties, type: { ...whole.properties["type"], enum: types } },
    };
  };
  return writeSchema("Configuration file of causeway-consensus", {
    properties: { hub, hyperbridge: hub, relayer: objectOf(sections.relayer) },
    additionalProperties: { anyOf: [...CHAIN_TYPES.map(chain), objectOf(sections.substrate)] },
  });
}
