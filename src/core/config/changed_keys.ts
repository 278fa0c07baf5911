/** Which keys of a configuration file have other values than before. Pure. */
import type { EffectiveValue } from "./diagnostics.ts";
import { EndpointUrl, Secret } from "./redact.ts";

/** Names of the keys such as `[relayer].module_filter`; of sections that came or went, `[name]` alone. */
export function findChangedKeys(
  before: readonly EffectiveValue[],
  after: readonly EffectiveValue[],
): readonly string[] {
  const [old, now] = [before, after].map((values) =>
    new Map(values.map((of) => [nameOf(of), toText(of.value)]))
  );
  const sectionsOf = (values: typeof before): Set<string> => new Set(values.map(({ section }) => section));
  const lasting = sectionsOf(before).intersection(sectionsOf(after));
  const changed = [...before, ...after].flatMap((value) => {
    if (!lasting.has(value.section)) return [`[${value.section}]`];
    const name = nameOf(value);
    return (old?.get(name) ?? "undefined") === (now?.get(name) ?? "undefined") ? [] : [name];
  });
  return [...new Set(changed)];
}

function nameOf({ section, key }: EffectiveValue): string {
  return `[${section}].${key}`;
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
