/** The sections of both programs' configuration files, as the reference and the JSON schemas list them. */
import { consensusSections } from "../../../src/consensus/config/schema.ts";
import {
  CHAIN_TYPES,
  chainClients,
  HUB_TYPES,
  hubClients,
  type HubType,
} from "../../../src/consensus/registry.ts";
import { noFiles, type Section } from "../../../src/core/config/schema.ts";
import { FLEET_SECTION, messagingSections } from "../../../src/messaging/config/schema.ts";

/** A section and its header; `<chain>` stands for a name that is the operator's. */
export interface ListedSection {
  readonly header: string;
  readonly section: Section<unknown>;
}

export const messaging = messagingSections(noFiles);
export const consensus = consensusSections(noFiles);

export const MESSAGING_SECTIONS: readonly ListedSection[] = [
  { header: "hub", section: messaging.hub },
  { header: "relayer", section: messaging.relayer },
  { header: `relayer.${FLEET_SECTION}`, section: messaging.fleet },
  { header: "relayer.notify", section: messaging.notify },
  { header: "<chain>", section: messaging.evm },
  { header: "<chain>", section: messaging.substrate_evm },
  { header: "<chain>", section: messaging.substrate },
];

/** Section of `[hub]` that belongs to a type of hubs. */
export function hubSection(type: HubType): ListedSection {
  const { sectionName, section } = hubClients[type];
  return { header: `hub.${sectionName}`, section };
}

export const CONSENSUS_SECTIONS: readonly ListedSection[] = [
  { header: "hub", section: consensus.hub },
  ...HUB_TYPES.map((type) => hubSection(type)),
  { header: "hub.substrate", section: consensus.hubSubstrate },
  { header: "relayer", section: consensus.relayer },
  { header: "relayer.notify", section: consensus.notify },
  { header: "<chain>", section: consensus.evm },
  ...CHAIN_TYPES.map((type) => ({ header: "<chain>.host", section: chainClients[type].host })),
  { header: "<chain>", section: consensus.substrate },
];
