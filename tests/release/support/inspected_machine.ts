/**
 * A machine behind a proxy that inspects TLS: whatever it fetches has an authority that is in the system's store and nowhere
 * else, and its environment is empty. Start reading at {@link makeMachine}.
 */
import { say } from "../../support/notes.ts";
import { haveCommands } from "./debian.ts";
import { runBlock } from "./shell_block.ts";
import type { Certificates } from "./tls.ts";

/** The system's store, which the script `deno` of the repository names, too. */
const STORE = "/etc/ssl/certs/ca-certificates.crt";

/** True where there can be such a machine; else a line on standard error says why not. */
export async function canInspect(): Promise<boolean> {
  if (!await haveCommands({ openssl: "openssl", unshare: "util-linux" })) return false;
  try {
    await Deno.stat(STORE);
    await runBlock(withStore("true", STORE), { cwd: "/", env: {} });
    return true;
  } catch (error) {
    say(
      `\n!!! NOT TESTED, because the system's store cannot be another one here: README behind a proxy (${error})\n`,
    );
    return false;
  }
}

/** Such a machine. */
export interface InspectedMachine {
  /** Where commands run. */
  readonly checkout: string;
  readonly home: string;
  readonly store: string;
}

/**
 * Makes one in a new folder, with an empty checkout, whose npm registry is behind the proxy.
 * @param proxyUrl without a slash at the end
 */
export async function makeMachine(
  folder: string,
  proxyUrl: string,
  { authorityFile }: Certificates,
): Promise<InspectedMachine> {
  const machine = { checkout: `${folder}/checkout`, home: `${folder}/home`, store: `${folder}/store.pem` };
  for (const each of [machine.checkout, machine.home]) await Deno.mkdir(each);
  await Deno.writeTextFile(
    machine.store,
    await Deno.readTextFile(STORE) + await Deno.readTextFile(authorityFile),
  );
  // A prefix of its own: what is installed on this machine is not there.
  const npmrc = [`registry=${proxyUrl}/`, `prefix=${folder}/global`, "audit=false", "update-notifier=false"];
  await Deno.writeTextFile(`${machine.home}/.npmrc`, `${npmrc.join("\n")}\n`);
  return machine;
}

/** Runs lines as somebody would who has just that machine; gives what they printed. */
export function runOn(
  { checkout, home, store }: InspectedMachine,
  lines: string,
  { code = 0, env = "" } = {},
): Promise<string> {
  const line = `env -i PATH="$PATH" HOME=${home} ${env} bash -euc "${lines}"`;
  return runBlock(withStore(line, store), { cwd: checkout, env: {} }, code);
}

/** Lines that run where the system's store is that file. */
function withStore(lines: string, store: string): string {
  const user = Deno.uid() === 0 ? "" : "--user --map-root-user ";
  return `unshare ${user}--mount bash -euc 'mount --bind "$0" ${STORE}; ${lines}' ${store}`;
}
