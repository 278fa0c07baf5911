/**
 * Reads the TOML file of the messaging relayer into a {@link MessagingConfig}, or reports everything that is wrong with
 * it. Offline: what requires a connection to the chains is checked at start-up. Source: docs/specification.md,
 * "Messaging relayer configuration"; docs/protocol/messaging.md section 3. Checks across sections use the valid values,
 * so that they report what they can even when other values of the file are invalid.
 */
import { checkChains, type KnownSection, type SectionReading } from "../../core/config/chain_checks.ts";
import { withHubId } from "../../core/config/chains.ts";
import type { ConfigResult, SourceLocation } from "../../core/config/diagnostics.ts";
import { liveHints } from "../../core/config/live_network.ts";
import { readSection } from "../../core/config/schema.ts";
import {
  type ConfigDocument,
  findChainSections,
  findHubSection,
  type NamedTable,
  readConfigFile,
  readDocument,
  readOptional,
  readType,
  reportMissing,
} from "../../core/config/sections.ts";
import type { ConfigFiles, TomlValue } from "../../core/config/toml.ts";
import {
  type ChainConfig,
  chainType,
  type ChainValues,
  FLEET_SECTION,
  type FleetConfig,
  type HubConfig,
  type MessagingConfig,
  type MessagingSections,
  messagingSections,
  type RelayerConfig,
  type RelayerValues,
} from "./schema.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** Reads and checks the file at `path`. An unreadable file is reported as a diagnostic, not thrown. */
export function readMessagingConfig(files: ConfigFiles, path: string): ConfigResult<MessagingConfig> {
  return readConfigFile(files, path, parseMessagingConfig);
}

/** Checks the text of a file. `files` is only used for keys that the text references by path. */
export function parseMessagingConfig(files: ConfigFiles, text: string): ConfigResult<MessagingConfig> {
  return readDocument(files, text, (document) => readSections(messagingSections(files), document));
}

function readSections(sections: MessagingSections, document: ConfigDocument): MessagingConfig | undefined {
  const hub = readHub(sections, document);
  const relayer = readRelayer(sections, document);
  const chains = findChainSections(document, chainType.expected)
    .map((entry) => readChain(sections, entry, document));
  const known = { hub: hub?.known, chains: chains.map((chain) => chain.known) };
  checkBuffers(relayer?.known.minimumProfitPercent, known.chains);
  const deliveryEndpoints = relayer?.known.deliveryEndpoints &&
    selectEndpoints(relayer.known.deliveryEndpoints, relayer, known);
  checkChains(known.hub, known.chains);
  checkChainKinds(known.hub, known.chains);
  if (hub?.config === undefined || relayer?.config === undefined) return undefined;
  return {
    hub: hub.config,
    relayer: { ...relayer.config, deliveryEndpoints },
    chains: chains.flatMap((chain) => chain.config ?? []),
  };
}

function readHub(
  { hub }: MessagingSections,
  document: ConfigDocument,
): SectionReading<HubConfig> | undefined {
  const found = findHubSection(document);
  if (found === undefined) return undefined;
  const { name: section, table } = found;
  const location = document.diagnostics.section(section);
  const { known, complete } = readSection(table, location, hub);
  const config = complete && { ...withHubId(complete, location), section };
  return { known, config };
}

/** `[relayer]` before its list of chains is compared with the sections. */
interface RelayerReading {
  readonly known: Partial<RelayerValues>;
  readonly config: RelayerConfig | undefined;
  /** Place of the list, and the list as the file has it, with state machines for names of sections. */
  readonly listing: SourceLocation;
  readonly listed: TomlValue | undefined;
}

function readRelayer(
  { relayer, fleet, notify }: MessagingSections,
  document: ConfigDocument,
): RelayerReading | undefined {
  if (!document.sections.has("relayer")) reportMissing("relayer", document);
  const table = document.sections.get("relayer");
  if (table === undefined) return undefined;
  const location = document.diagnostics.section("relayer");
  const listed = resolveNames(table["delivery_endpoints"], document);
  const resolved = listed === undefined ? table : { ...table, delivery_endpoints: listed };
  const { known, complete } = readSection(resolved, location, relayer);
  const outer = { name: "relayer", table };
  const share = readOptional(outer, { name: FLEET_SECTION, section: fleet }, document);
  checkFleet(share, document.diagnostics.section(outer.name, FLEET_SECTION));
  const posting = readOptional(outer, { name: "notify", section: notify }, document);
  const config = complete && {
    ...complete,
    fleet: share,
    ...posting && { notify: posting },
    moduleFilter: complete.moduleFilter.length === 0 ? undefined : complete.moduleFilter,
  };
  return { known, config, listing: location.child("delivery_endpoints"), listed };
}

/** Replaces names of sections in a list by the state machines of the sections. */
function resolveNames(listed: TomlValue | undefined, { sections }: ConfigDocument): TomlValue | undefined {
  if (!Array.isArray(listed)) return listed;
  return listed.map((name: TomlValue) => {
    const machine = typeof name === "string" ? sections.get(name)?.["state_machine"] : undefined;
    return typeof machine === "string" ? machine : name;
  });
}

function checkFleet(fleet: FleetConfig | undefined, location: SourceLocation): void {
  if (fleet === undefined || fleet.index < fleet.count) return;
  const { index, count } = fleet;
  location.child("index").problem(`${index}`, `an integer from 0 to ${count - 1}, below count`);
}

function readChain(
  sections: MessagingSections,
  entry: NamedTable,
  document: ConfigDocument,
): SectionReading<ChainConfig> {
  const { name, table } = entry;
  const location = document.diagnostics.section(name);
  const type = readType(entry, chainType, document);
  if (type === undefined) return { known: { location }, config: undefined };
  const hints = type === "substrate" ? {} : { hintFor: liveHints(table) };
  const { known, complete } = readSection<ChainValues>(table, location, { ...sections[type], ...hints });
  return { known, config: complete && { section: location.section, ...complete } };
}

/**
 * Keeps what the open database depends on: it belongs to one hub, and how its log is written back is set when it is
 * opened. `fixed` names the keys that have changed.
 */
export function keepFixed(
  { hub: { stateMachine, consensusStateId }, relayer: { leaveCheckpoints } }: MessagingConfig,
  after: MessagingConfig,
): { readonly config: MessagingConfig; readonly fixed: readonly string[] } {
  const { hub } = after;
  const fixed = [
    ...hub.stateMachine === stateMachine ? [] : [`[${hub.section}].state_machine`],
    ...hub.consensusStateId === consensusStateId ? [] : [`[${hub.section}].consensus_state_id`],
    ...after.relayer.leaveCheckpoints === leaveCheckpoints ? [] : ["[relayer].leave_checkpoints"],
  ];
  const config = {
    ...after,
    hub: { ...hub, stateMachine, consensusStateId },
    relayer: { ...after.relayer, leaveCheckpoints },
  };
  return { config, fixed };
}

/** Checks that one instance serves either solochains or parachains: the hub has one consensus state id per process. */
function checkChainKinds(hub: KnownSection | undefined, chains: readonly KnownSection[]): void {
  const parachain = chains.find((chain) => /^(POLKADOT|KUSAMA)-/.test(chain.stateMachine ?? ""));
  const solochain = chains.find((chain) => chain.stateMachine?.startsWith("SUBSTRATE-"));
  if (parachain === undefined) return;
  const name = `[${parachain.location.section}] with "${parachain.stateMachine}"`;
  if (hub?.consensusStateId !== undefined) {
    hub.location.child("consensus_state_id").problem(
      `"${hub.consensusStateId}", which is for solochains, beside the parachain ${name}`,
      "either solochains or parachains in one file",
      "remove it, or run one relayer for the solochains and one for the parachains",
    );
  } else if (solochain !== undefined) {
    solochain.location.child("state_machine").warning(
      `the solochain "${solochain.stateMachine}" beside the parachain ${name}`,
      "either solochains or parachains in one file",
      "run one relayer for the solochains and one for the parachains",
    );
  }
}

/**
 * Warns when the gas price buffer is larger than the required profit: near the threshold a delivery at the buffered
 * price would cost more than its fee.
 */
function checkBuffers(profitPercent: number | undefined, chains: readonly KnownSection[]): void {
  if (profitPercent === undefined || profitPercent === 0) return; // everything is delivered at any price
  for (const { location, gasPriceBufferPercent } of chains) {
    if (gasPriceBufferPercent === undefined || gasPriceBufferPercent <= profitPercent) continue;
    location.child("gas_price_buffer").warning(
      `${gasPriceBufferPercent}, above minimum_profit_percentage = ${profitPercent}`,
      "no more than minimum_profit_percentage",
      "barely profitable messages are sent with a smaller buffer, since with all of it they would be delivered at a loss",
    );
  }
}

/** Configured chains, as far as they are known. */
interface KnownChains {
  readonly hub: KnownSection | undefined;
  readonly chains: readonly KnownSection[];
}

/** Selects the listed chains that requests can be delivered to, and warns about the others. `undefined` means all. */
function selectEndpoints(
  listed: readonly StateMachine[],
  { listing, listed: raw }: Pick<RelayerReading, "listing" | "listed">,
  { hub, chains }: KnownChains,
): readonly StateMachine[] | undefined {
  if (listed.length === 0) return undefined;
  // With an invalid section, no chain can be reported as missing.
  const isComplete = [hub, ...chains].every((section) => section?.stateMachine !== undefined);
  const usable = listed.filter((machine) => {
    const chain = chains.find(({ stateMachine }) => stateMachine === machine);
    const what = machine === hub?.stateMachine
      ? "the hub"
      : chain?.inboundOnly === true
      ? "a chain with inbound_only = true"
      : chain === undefined && isComplete
      ? "a chain without a section in this file"
      : undefined;
    if (what === undefined) return chain?.inboundOnly === false;
    const index = Array.isArray(raw) ? raw.indexOf(machine) : -1;
    const at = index === -1 ? listing : listing.child(index);
    at.warning(`"${machine}", ${what}, which is ignored`, "a configured chain other than the hub");
    return false;
  });
  if (usable.length === 0 && isComplete) {
    listing.warning(
      "no configured chain",
      "at least one of the configured chains",
      "nothing is delivered from the hub to any chain",
    );
  }
  return usable;
}
