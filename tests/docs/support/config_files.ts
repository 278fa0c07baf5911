/** The sections of both programs' configuration files, as the reference and the JSON schemas list them. */
import type { z } from "zod";
import { consensusSections } from "../../../src/consensus/config/schema.ts";
import type { Section } from "../../../src/core/config/schema.ts";
import { messagingSections } from "../../../src/messaging/config/schema.ts";

/** A section and its header; `<chain>` stands for a name that is the operator's. */
export interface ListedSection {
  readonly header: string;
  readonly section: Section<unknown>;
}

/** How a type is described behind "expected ..."; it is the message of the type's own errors. */
export function expectedText(type: z.ZodType): string {
  return type.safeParse(undefined).error?.issues[0]?.message ?? "";
}

/** Signers are described, not read: there are no files. */
const noFiles = {
  readFile: (): Uint8Array => {
    throw new Error("no file is read for a description");
  },
};

export const messaging = messagingSections(noFiles);
export const consensus = consensusSections(noFiles);

export const MESSAGING_SECTIONS: readonly ListedSection[] = [
  { header: "hub", section: messaging.hub },
  { header: "relayer", section: messaging.relayer },
  { header: "<chain>", section: messaging.evm },
  { header: "<chain>", section: messaging.substrate },
];

export const CONSENSUS_SECTIONS: readonly ListedSection[] = [
  { header: "hub", section: consensus.hub },
  { header: "hub.grandpa", section: consensus.grandpa },
  { header: "hub.prover", section: consensus.prover },
  { header: "hub.substrate", section: consensus.hubSubstrate },
  { header: "relayer", section: consensus.relayer },
  { header: "<chain>", section: consensus.evm },
  { header: "<chain>.host", section: consensus.beaconHost },
  { header: "<chain>.host", section: consensus.opStackHost },
  { header: "<chain>.host", section: consensus.arbitrumHost },
  { header: "<chain>.host", section: consensus.bscHost },
  { header: "<chain>", section: consensus.substrate },
];
