/** The table of the live networks' chains names every chain, as the programs know it. */
import assert from "node:assert/strict";
import { findOtherTrie, namedChains } from "../../src/core/config/live_network.ts";
import { evmStateMachine } from "../../src/core/ismp/state_machine.ts";
import { chainClients } from "../../src/consensus/registry.ts";
import { runConsensusCommand } from "../support/standalone_commands.ts";

const DOCUMENT = new URL("../../docs/operations/nodes.md", import.meta.url);

/** The rows of the table, by state machine. */
function rowsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = text.split("\n").filter((line) => /^\| .* \| EVM-\d+ /.test(line));
  return new Map(rows.map((line) => {
    const cells = line.split("|").map((cell) => cell.trim()).slice(1, -1);
    return [cells[1] ?? "", cells];
  }));
}

/** What `config init` of the consensus relayer writes as the type of a chain. */
async function typeOf(name: string): Promise<string | undefined> {
  let text = "";
  const args = ["config", "init", "--out=c.toml", `--chain=${name}`];
  await runConsensusCommand(args, {}, {
    writeNewFile: (path, written) => {
      if (path === "c.toml") text = written;
      return true;
    },
  });
  return new RegExp(`^\\[${name}\\][^[]*?^type = "(\\w+)"`, "ms").exec(text)?.[1];
}

Deno.test("docs: the table of the live networks' chains is complete, and says what the programs do", async () => {
  const rows = rowsOf(await Deno.readTextFile(DOCUMENT));
  for (const chain of namedChains) {
    const id = evmStateMachine(chain.chainId);
    const type = await typeOf(chain.name);
    assert.ok(type !== undefined && type in chainClients);
    const { consensusStateId } = chain;
    assert.deepEqual(rows.get(id), [chain.name, id, consensusStateId, `\`${type}\``]);
  }
  for (const [id, [name, , , consensus]] of rows) {
    const chainId = Number(id.slice("EVM-".length));
    if (namedChains.some((chain) => chain.chainId === chainId)) continue;
    const known = evmStateMachine(chainId);
    assert.deepEqual([name, consensus], [findOtherTrie(known), "no"]);
  }
});
