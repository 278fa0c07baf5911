/** The values that apply: as TOML or JSON without secrets, and which are others than before. Pure. */
import type { EffectiveValue } from "./diagnostics.ts";
import { inlineToml } from "./toml_text.ts";
import { EndpointUrl, Secret } from "./redact.ts";

/** Writes all values in their order. */
export function writeEffective(values: readonly EffectiveValue[], format: "toml" | "json"): string {
  return format === "json" ? values.map(toJson).join("\n") : toToml(values);
}

function toJson(effective: EffectiveValue): string {
  const { section, key, shown = null, origin, line, variables } = effective;
  return JSON.stringify(
    { section, key, value: shown, origin, line, variables },
    (_, value: unknown) => typeof value === "bigint" ? String(value) : value,
  );
}

function toToml(values: readonly EffectiveValue[]): string {
  const sections = new Map<string, string[]>();
  for (const effective of values) {
    const lines = sections.get(effective.section) ?? [];
    sections.set(effective.section, [...lines, toLine(effective)]);
  }
  return [...sections].map(([section, lines]) => [`[${section}]`, ...lines].join("\n")).join("\n\n");
}

function toLine(effective: EffectiveValue): string {
  const { key, shown } = effective;
  return shown === undefined
    ? `#${key} # not set`
    : `${key} = ${inlineToml(shown)} # ${describeOrigin(effective)}`;
}

function describeOrigin({ origin, line, variables }: EffectiveValue): string {
  switch (origin) {
    case "file":
      return [`line ${line ?? "?"}`, ...variables.map((name) => `\${${name}}`)].join(", ");
    case "default":
      return "default";
    case "derived":
      return "derived";
  }
}

/** Names of the keys such as `[relayer].module_filter`; of sections that came or went, `[name]` alone. */
export function findChangedKeys(
  before: readonly EffectiveValue[],
  after: readonly EffectiveValue[],
): readonly string[] {
  const old = new Map(before.map((value) => [nameOf(value), value]));
  const now = new Map(after.map((value) => [nameOf(value), value]));
  const sectionsBefore = new Set(before.map(({ section }) => section));
  const sectionsAfter = new Set(after.map(({ section }) => section));
  const changed = [...old.values(), ...now.values()].flatMap((value) => {
    const isBoth = sectionsBefore.has(value.section) && sectionsAfter.has(value.section);
    if (!isBoth) return [`[${value.section}]`];
    const name = nameOf(value);
    return isSame(old.get(name), now.get(name)) ? [] : [name];
  });
  return [...new Set(changed)];
}

function nameOf({ section, key }: EffectiveValue): string {
  return `[${section}].${key}`;
}

function isSame(a: EffectiveValue | undefined, b: EffectiveValue | undefined): boolean {
  return toText(a?.value) === toText(b?.value);
}

/** Compared, never shown: secrets are revealed. */
function toText(value: unknown): string {
  return JSON.stringify(value, function (key, plain: unknown): unknown {
    // `plain` has been through toJSON; the holder has the value itself.
    const inner: unknown = key === "" ? value : Reflect.get(this, key);
    if (inner instanceof Secret || inner instanceof EndpointUrl) return { revealed: inner.reveal() };
    return typeof plain === "bigint" ? `${plain}n` : plain;
  }) ?? "undefined";
}
