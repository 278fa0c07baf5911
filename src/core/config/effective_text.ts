/** The values that apply, as TOML or JSON, with where each comes from and without secrets. Pure. */
import type { EffectiveValue } from "./diagnostics.ts";
import { inlineToml } from "./toml_text.ts";

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
