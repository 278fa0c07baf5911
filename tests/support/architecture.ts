/** The rules of the layout of `src`, checked over source text alone: paths below `src` and what is in them. */
import { importsOf, stripSource } from "./source_text.ts";

/** Source files: path below `src` (with `/`) to text. */
export type SourceTree = ReadonlyMap<string, string>;

/** Rooms of the core that hold protocol code only: bytes in, values out. */
const pureRooms: readonly string[] = [
  "core/encoding",
  "core/merkle",
  "core/ismp",
  "core/evm",
  "core/substrate",
  "core/beefy",
];

/** Layers from the bottom up: a file may import from its own layer and from those before it. */
const layers: readonly (readonly string[])[] = [
  ["core/encoding"],
  pureRooms.slice(1),
  ["core/runtime", "core/telemetry", "core/config"],
  ["core/rpc"],
  ["core/checks", "core/pricing"],
  ["core/chains"],
  ["core/hub_proofs"],
  ["core/commands"],
  ["messaging", "consensus"],
];

/** Parts that share nothing with others of their layer. */
const apart: readonly string[] = ["messaging", "consensus", "build"];

/** The light client that a file belongs to. */
const clientFolder = /^consensus\/clients\/([a-z_]+)\//;

/** The one file outside of the light clients that imports them. */
const clientRegistry = "consensus/registry.ts";

/** Rules of a light client, or of what several have in common, without I/O. */
const specFolder = /^consensus\/(?:[a-z_/]+\/)?spec\//;

/** Libraries without effects: codecs, hashes, curves, tries, shapes. */
const pureLibraries =
  /^(?:@bitauth\/libauth|@chainsafe\/(?:ssz|persistent-merkle-tree|as-sha256)|@lodestar\/types|@ethereumjs\/(?:rlp|mpt|util)|@noble\/(?:hashes|curves)|@polkadot-api\/substrate-bindings|@scure\/[a-z0-9]+|cosmjs-types|hash-wasm|scale-ts|viem|zod)(?:\/|$)/;

/** Of libraries that have effects, what has none: file to library. */
const pureUses: ReadonlyMap<string, string> = new Map([
  ["consensus/clients/grandpa/spec/verify_justification.ts", "node:crypto"], // checks a signature
]);

/** Where the outside world may be touched. */
const mayHaveEffects =
  /^(?:core\/runtime\/.*|core\/telemetry\/.*|core\/rpc\/(?:http|socket)\.ts|messaging\/ledger\/(?:open|inspect|backup|file_\w+)\.ts|consensus\/persisted_text\.ts|(?:messaging|consensus)\/main\.ts|build\/.*)$/;

/** Names of the outside world, not preceded by a dot: members of other objects are no concern. */
const EFFECTS: readonly (readonly [string, RegExp])[] = [
  ["Deno", /(?<![.\w$#])Deno\s*\./],
  ["fetch", /(?<![.\w$#]|\basync )fetch\b(?!\??\s*:)/],
  ["WebSocket", /(?<![.\w$#])WebSocket\b/],
  ["Date.now", /(?<![.\w$#])Date\s*\.\s*now\b/],
  ["new Date()", /(?<![.\w$#])new\s+Date\s*(?:\(\s*\)|(?![\w(]))/],
  ["performance.now", /(?<![.\w$#])performance\s*\.\s*now\b/],
  ["setTimeout", /(?<![.\w$#])set(?:Timeout|Interval|Immediate)\b/],
  ["Math.random", /(?<![.\w$#])Math\s*\.\s*random\b/],
  ["crypto.getRandomValues", /(?<![.\w$#])crypto\s*\.\s*(?:getRandomValues|randomUUID)\b/],
  ["console", /(?<![.\w$#])console\s*\./],
  ["globalThis", /(?<![.\w$#])globalThis\b/],
  ["process", /(?<![.\w$#])process\s*\./],
];

/** The one file outside of `src` that may be read: it holds the version. */
const versionFile = "../deno.json";

/** Most lines of a `main.ts`. */
const mostMainLines = 60;

/** Every violation of the layout, as sentences that begin with the path. */
export function findViolations(tree: SourceTree): string[] {
  return [
    ...[...tree].flatMap(([path, text]) => [
      ...badImports(path, text),
      ...badGlobals(path, text),
      ...badNames(path, text),
    ]),
    ...findCycles(tree),
  ].sort();
}

/** Path below `src` of a relative import; `undefined` for libraries. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") {
      if (parts.length === 0 || parts.at(-1) === "..") parts.push("..");
      else parts.pop();
    } else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function layerOf(path: string): number | undefined {
  const index = layers.findIndex((parts) => parts.some((part) => path.startsWith(`${part}/`)));
  return index < 0 ? undefined : index;
}

function programOf(path: string): string | undefined {
  return apart.find((part) => path.startsWith(`${part}/`));
}

function badImports(path: string, text: string): string[] {
  return importsOf(text).flatMap((specifier) => {
    const target = resolveImport(path, specifier);
    if (target === undefined) return badLibrary(path, specifier);
    if (target === versionFile) return [];
    return badTarget(path, target);
  });
}

function badLibrary(path: string, specifier: string): string[] {
  if (!isPure(path) || pureLibraries.test(specifier) || pureUses.get(path) === specifier) return [];
  return [`${path}: protocol code is pure and may not import ${specifier}`];
}

/** True for protocol code: it has no effects and imports nothing that has. */
function isPure(path: string): boolean {
  return specFolder.test(path) || pureRooms.some((room) => path.startsWith(`${room}/`));
}

function badTarget(path: string, target: string): string[] {
  const program = programOf(target);
  if (program !== undefined && programOf(path) !== program) {
    return [`${path}: ${program} may not be imported from outside (${target})`];
  }
  if (programOf(path) === "build") {
    return programOf(target) === "build"
      ? []
      : [`${path}: the build stands apart and may not import ${target}`];
  }
  const client = clientFolder.exec(target)?.[1];
  const ownClient = clientFolder.exec(path)?.[1];
  if (client !== undefined && ownClient !== undefined && client !== ownClient) {
    return [`${path}: light clients do not import each other (${target})`];
  }
  if (client !== undefined && ownClient === undefined && path !== clientRegistry) {
    return [`${path}: only ${clientRegistry} knows the light clients (${target})`];
  }
  if (path === clientRegistry && client !== undefined && !target.endsWith(`/${client}/client.ts`)) {
    return [`${path}: the registry lists definitions and nothing else of a light client (${target})`];
  }
  if (isPure(path) && !isPure(target)) return [`${path}: protocol code is pure and may not import ${target}`];
  const from = layerOf(path);
  const to = layerOf(target);
  if (from === undefined) return [`${path}: no layer has this file`];
  if (to === undefined) return [`${path}: no layer has ${target}`];
  return to > from ? [`${path}: imports point down only, but ${target} is above`] : [];
}

function badGlobals(path: string, text: string): string[] {
  if (mayHaveEffects.test(path)) return [];
  const code = stripSource(text);
  return EFFECTS.filter(([, pattern]) => pattern.test(code)).map(([name]) =>
    `${path}: ${name} must be handed in`
  );
}

function badNames(path: string, text: string): string[] {
  const name = path.split("/").at(-1) ?? path;
  const problems: string[] = [];
  if (/^(?:utils?|helpers?|common|types?|misc)\.ts$/.test(name)) {
    problems.push(`${path}: the name says nothing`);
  }
  if (!/^[a-z0-9]+(?:_[a-z0-9]+)*\.(?:ts|json)$/.test(name)) {
    problems.push(`${path}: files are named in snake_case`);
  }
  for (const [, className] of stripSource(text).matchAll(/\bclass\s+(\w+(?:Manager|Service|Handler))\b/g)) {
    problems.push(`${path}: class ${className} needs a name that says what it does`);
  }
  const lines = text.trimEnd().split("\n").length;
  if (name === "main.ts" && lines > mostMainLines) {
    problems.push(`${path}: ${lines} lines; ${mostMainLines} are enough to start a program`);
  }
  return problems;
}

/** Circles of imports, each named once, from its first file in order of the alphabet. */
export function findCycles(tree: SourceTree): string[] {
  const targets = new Map([...tree].map(([path, text]) => [
    path,
    importsOf(text).map((specifier) => resolveImport(path, specifier)).filter((to) =>
      to !== undefined && tree.has(to)
    ),
  ]));
  const cycles = new Set<string>();
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) {
      cycles.add(nameCycle(way.slice(start)));
      return;
    }
    if (done.has(path)) return;
    for (const to of targets.get(path) ?? []) if (to !== undefined) visit(to, [...way, path]);
    done.add(path);
  };
  for (const path of [...tree.keys()].sort()) visit(path, []);
  return [...cycles];
}

function nameCycle(cycle: readonly string[]): string {
  const first = [...cycle].sort()[0] ?? "";
  const turned = [...cycle.slice(cycle.indexOf(first)), ...cycle.slice(0, cycle.indexOf(first)), first];
  return `${first}: imports go in a circle: ${turned.join(" -> ")}`;
}
