/** Chains as operators name them: by their section of the configuration, or as a state machine. Pure. */
import type { NamedSection } from "../config/chain_names.ts";
import { recover } from "../encoding/coded_error.ts";
import { nearestWord } from "../config/spelling.ts";
import { IdentifierError, parseStateMachine, type StateMachine } from "../ismp/state_machine.ts";
import { CommandRefusal } from "./command.ts";

/** Finds the chain that a text names. @throws {CommandRefusal} that lists the names, where it is none. */
export function findChain(sections: readonly NamedSection[], text: string): StateMachine {
  const named = sections.find(({ section }) => section === text)?.stateMachine ?? toStateMachine(text);
  if (named !== undefined) return named;
  const names = sections.map(({ section }) => section);
  const meant = nearestWord(text, names);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  throw new CommandRefusal(
    `${text} is no chain of the configuration (${
      names.join(", ")
    }) and no state machine such as EVM-1.${hint}`,
  );
}

function toStateMachine(text: string): StateMachine | undefined {
  return recover(IdentifierError, () => parseStateMachine(text), () => undefined);
}
