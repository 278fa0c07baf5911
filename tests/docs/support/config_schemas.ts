/** JSON schemas of the configuration files, for editors. Pure. */
import { z } from "zod";
import {
  CHAIN_TYPES,
  chainClients,
  type ChainType,
  HUB_TYPES,
  hubClients,
} from "../../../src/consensus/registry.ts";
import { allKeys, type Section } from "../../../src/core/config/schema.ts";
import { consensus, messaging } from "./config_files.ts";

/** `docs/configuration/messaging.schema.json`. */
export function messagingSchema(): string {
  const hub = objectOf(messaging.hub);
  return write("Configuration file of causeway", {
    properties: { hub, hyperbridge: hub, relayer: objectOf(messaging.relayer) },
    required: ["relayer"],
    additionalProperties: {
      anyOf: [objectOf(messaging.evm), objectOf(messaging.substrate)],
    },
  });
}

/** `docs/configuration/consensus.schema.json`. */
export function consensusSchema(): string {
  const hub = objectOf(consensus.hub, {
    ...Object.fromEntries(
      HUB_TYPES.map((type) => [hubClients[type].sectionName, objectOf(hubClients[type].section)]),
    ),
    substrate: objectOf(consensus.hubSubstrate),
  });
  const chain = (type: ChainType): Json => {
    const { host, networks } = chainClients[type];
    const whole = objectOf(consensus.evm, { host: objectOf(host) });
    const types = [type, ...Object.keys(networks)];
    return {
      ...whole,
      properties: { ...whole.properties, type: { ...whole.properties["type"], enum: types } },
    };
  };
  return write("Configuration file of causeway-consensus", {
    properties: { hub, hyperbridge: hub, relayer: objectOf(consensus.relayer) },
    additionalProperties: {
      anyOf: [
        ...CHAIN_TYPES.map(chain),
        objectOf(consensus.substrate),
      ],
    },
  });
}

/** A part of a JSON schema. */
interface Json {
  readonly [key: string]: unknown;
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

function write(title: string, body: Json): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title, type: "object" };
  return `${JSON.stringify({ ...head, ...body }, undefined, 2)}\n`;
}

/** A section as an object; keys that other names stand for are listed under both. */
function objectOf(section: Section<unknown>, inner: Json["properties"] = {}): Json {
  const keys = allKeys(section);
  const properties = keys.flatMap(({ name, alias, type, fallback, description, example }) => {
    const examples = example === undefined ? {} : { examples: [example] };
    // The defaults are values of the program; those of other types than the file's are empty lists only.
    const usual = fallback === undefined ? {} : { default: fallback };
    const { $schema: _, ...json } = z.toJSONSchema(type, { io: "input", unrepresentable: "any" });
    const property = { description, ...json, ...usual, ...examples };
    return alias === undefined ? [[name, property]] : [[name, property], [alias, property]];
  });
  return {
    type: "object",
    description: section.description,
    properties: { ...Object.fromEntries(properties), ...inner },
    required: keys.filter(({ isRequired, alias }) => isRequired && alias === undefined).map(({ name }) =>
      name
    ),
    additionalProperties: false,
  };
}
