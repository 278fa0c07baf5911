/** Names of chains as the operator wrote them: the sections of the configuration. */
import type { StateMachine } from "../ismp/state_machine.ts";

/** Section of one chain. */
export interface NamedSection<Machine extends string = StateMachine> {
  readonly section: string;
  readonly stateMachine: Machine;
}

/** What identifiers of state machines look like, e.g. `EVM-1`, `KUSAMA-4009`, `SUBSTRATE-cere`. */
const IDENTIFIER = /\b(?:EVM|POLKADOT|KUSAMA|SUBSTRATE|TNDRMINT)-[0-9A-Za-z]+\b/g;

/** Puts names into texts that identify chains. A chain that is not configured keeps its identifier. */
export class ChainNames {
  #names: ReadonlyMap<string, string> = new Map();

  constructor(sections: readonly NamedSection<string>[] = []) {
    this.set(sections);
  }

  /** Replaces all names: the configuration was read again. */
  set(sections: readonly NamedSection<string>[]): void {
    this.#names = new Map(sections.map(({ section, stateMachine }) => [stateMachine, section]));
  }

  /** The state machine that has the name, or the text itself. */
  identify(text: string): string {
    return [...this.#names].find(([, name]) => name === text)?.[0] ?? text;
  }

  /** The text with the names alone: `base-sepolia -> hub`. */
  short(text: string): string {
    return text.replace(IDENTIFIER, (id) => this.#names.get(id) ?? id);
  }

  /** The text with names and identifiers: `base-sepolia (EVM-84532)`. */
  full(text: string): string {
    return text.replace(IDENTIFIER, (id) => {
      const name = this.#names.get(id);
      return name === undefined || name === id ? id : `${name} (${id})`;
    });
  }
}
