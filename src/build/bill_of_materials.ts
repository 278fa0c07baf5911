/** The list of what is inside a program, in the format CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/). */
import type { Identity } from "./identity.ts";
import type { Package } from "./packages.ts";
import type { Program } from "./programs.ts";

/** What the list is about. */
export interface BillFacts {
  readonly program: Program;
  readonly identity: Identity;
  readonly denoVersion: string;
  /** Of the executable, hex. */
  readonly sha256: string;
  readonly packages: readonly Package[];
}

/** The list as JSON; the same facts give the same text. */
export function billOfMaterials({ program, identity, denoVersion, sha256, packages }: BillFacts): string {
  const self = `${program.name}@${identity.version}`;
  const runtime = `pkg:github/denoland/deno@v${denoVersion}`;
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(identity.epochSec * 1000).toISOString().replace(".000Z", "Z"),
      component: {
        type: "application",
        "bom-ref": self,
        name: program.name,
        version: identity.version,
        description: program.summary,
        hashes: [{ alg: "SHA-256", content: sha256 }],
        licenses: [{ license: { id: "Apache-2.0" } }],
        properties: [{ name: "causeway:commit", value: identity.commit }],
      },
    },
    components: [
      {
        type: "platform",
        "bom-ref": runtime,
        name: "deno",
        version: denoVersion,
        licenses: [{ license: { id: "MIT" } }],
        purl: runtime,
      },
      ...packages.map(component),
    ],
    dependencies: [{ ref: self, dependsOn: [runtime, ...packages.map(purl)] }],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

function component(one: Package): Record<string, unknown> {
  const slash = one.name.indexOf("/");
  return {
    type: "library",
    "bom-ref": purl(one),
    ...slash >= 0 && { group: one.name.slice(0, slash) },
    name: one.name.slice(slash + 1),
    version: one.version,
    hashes: [{ alg: "SHA-512", content: one.sha512 }],
    licenses: /^[\w.+-]+$/.test(one.licence)
      ? [{ license: { id: one.licence } }]
      : [{ expression: one.licence }],
    purl: purl(one),
  };
}

/** Package URL; the scope's `@` is escaped (https://github.com/package-url/purl-spec). */
function purl({ name, version }: Package): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
