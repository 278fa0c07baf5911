/** JSON schemas for kubeconform, from the OpenAPI document of Kubernetes and from definitions of resources. */

type Json = Readonly<Record<string, unknown>>;

/** A resource, as far as its kind is concerned. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A kind of resource, as the OpenAPI document names it. */
interface Kind {
  readonly kind: string;
  readonly version: string;
}

const KINDS = "x-kubernetes-group-version-kind";

/** Writes `kind-version.json` for every kind; fields that it does not name are refused. */
export async function writeSchemas(
  folder: string,
  openApi: string,
  definitions: readonly Resource[],
): Promise<void> {
  const { definitions: all }: { readonly definitions: Readonly<Record<string, Json>> } = JSON.parse(
    (await Deno.readTextFile(openApi)).replaceAll("#/definitions/", "_definitions.json#/definitions/"),
  );
  const strict = Object.fromEntries(
    Object.entries(all).map(([name, schema]) => [name, refuseOthers(schema)]),
  );
  await Deno.writeTextFile(`${folder}/_definitions.json`, JSON.stringify({ definitions: strict }));
  for (const [name, schema] of Object.entries(all)) {
    const kinds = schema[KINDS] as readonly Kind[] | undefined;
    const [kind, ...others] = kinds ?? [];
    // Of the kinds of the same name only those of stable groups are applied by the manifests.
    if (kind === undefined || others.length > 0 || !/\.api\.(core|apps|networking)\./.test(name)) continue;
    await write(folder, kind, { $ref: `_definitions.json#/definitions/${name}` });
  }
  for (const definition of definitions) {
    const { spec } = definition as unknown as {
      readonly spec: {
        readonly names: { readonly kind: string };
        readonly versions: readonly {
          readonly name: string;
          readonly schema: { readonly openAPIV3Schema: Json };
        }[];
      };
    };
    for (const { name, schema } of spec.versions) {
      await write(folder, { kind: spec.names.kind, version: name }, refuseOthers(schema.openAPIV3Schema));
    }
  }
}

async function write(folder: string, { kind, version }: Kind, schema: unknown): Promise<void> {
  await Deno.writeTextFile(`${folder}/${kind.toLowerCase()}-${version}.json`, JSON.stringify(schema));
}

/** The schema, whose objects with named fields take no others. The metadata of a resource of one's own are any. */
function refuseOthers(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(refuseOthers);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, refuseOthers(value)]));
  // Numbers are written as such there.
  if ("format" in schema && schema.format === "int-or-string") return { type: ["string", "integer"] };
  const isClosed = "properties" in schema && typeof schema.properties === "object" &&
    !("additionalProperties" in schema) && !("x-kubernetes-preserve-unknown-fields" in schema);
  return isClosed ? { ...inner, additionalProperties: false } : inner;
}
