/**
 * The real nodes that tests can run on: each that can be built here, or is named by a variable of the environment.
 */
import type { Anvil, AnvilOptions } from "../../devnet/evm/anvil.ts";
import { buildGeth, GETH_KINDS, type GethKind, startBscNode, startGeth } from "../../devnet/evm/geth.ts";

/** A real node. */
export interface RealNode {
  readonly name: GethKind["name"];
  /** `undefined`: it is not there, which was told. */
  readonly start: ((options: AnvilOptions) => Promise<Anvil>) | undefined;
}

/** The node of this name; one line tells why it is left out. */
export async function findNode(name: GethKind["name"]): Promise<RealNode> {
  const kind = GETH_KINDS.find((each) => each.name === name);
  if (kind === undefined) throw new RangeError(`No node ${name}`);
  try {
    const executable = await buildGeth(kind);
    const start = name === "bsc" ? startBscNode : startGeth;
    if (executable !== undefined) return { name, start: (options) => start(executable, options) };
    say(`${name} is left out: Go is not installed, and ${kind.variable} names no executable`);
  } catch (error) {
    // Of Geth itself the task must not skip that.
    if (name === "geth") throw error;
    say(`${name} is left out: ${error instanceof Error ? error.message.trim().split("\n").at(-1) : error}`);
  }
  return { name, start: undefined };
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
