/** Programs of a few lines on the base that the relayer is built with: what the runtime alone takes. */
import { PROGRAMS } from "../../src/build/programs.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";

/** Where the build leaves a base that it cut itself. */
const CUT_BASE = `${REPOSITORY}/build/denort`;

/** Compiles a program in JavaScript, which may use the network, with the flags of the relayer; gives its path. */
export async function compileBare(
  folder: string,
  { name, source }: { readonly name: string; readonly source: string },
): Promise<string> {
  const file = `${folder}/${name}.js`;
  const program = `${folder}/${name}`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(file, source);
  const flags = PROGRAMS.find((each) => each.name === "causeway")?.v8Flags ?? [];
  const hasBase = Deno.env.get("DENORT_BIN") !== undefined ||
    !await Deno.stat(CUT_BASE).then(() => true, () => false);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-check",
      "--no-config",
      "--no-lock",
      "--no-code-cache",
      "--allow-net",
      ...flags.length === 0 ? [] : [`--v8-flags=${flags.join(",")}`],
      "-o",
      program,
      file,
    ],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...(hasBase ? {} : { DENORT_BIN: CUT_BASE }) },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`The program ${name}: ${new TextDecoder().decode(stderr)}`);
  return program;
}
