/** JSON schemas of configuration files, for editors, from the sections. Pure. */
import * as z from "zod";
import { allKeys, type Section } from "./schema.ts";
import type { ConfigFiles } from "./files.ts";

/** For sections that are described, not read: there are no files. */
export const noFiles: ConfigFiles = {
  readFile: () => {
    throw new Error("no file is read for a description");
  },
};

/** A part of a JSON schema. */
export interface JsonSchema {
  readonly [key: string]: unknown;
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The schema of a file. */
export function writeSchema(title: string, body: JsonSchema): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title, type: "object" };
  return `${JSON.stringify({ ...head, ...body }, undefined, 2)}\n`;
}

/** A section as an object; keys that other names stand for are listed under both. */
export function objectOf(section: Section<unknown>, inner: JsonSchema["properties"] = {}): JsonSchema {
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
    required: keys.filter(({ isRequired, mayBeIdle, alias }) =>
      isRequired && !mayBeIdle && alias === undefined
    )
      .map(({ name }) => name),
    additionalProperties: false,
  };
}
