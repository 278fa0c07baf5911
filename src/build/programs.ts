/** The two programs as the build and the release see them. Everything that is made per program loops over this list. */

/** A program, what it may do, and what belongs to it in a release. */
export interface Program {
  readonly name: string;
  readonly entry: string;
  /** Flags of `deno compile`. Paths and endpoints come from the command line and the configuration. */
  readonly permissions: readonly string[];
  /** Annotated configuration at the top of the repository. */
  readonly exampleConfig: string;
  /** Hardened service below `packaging/systemd/`. */
  readonly unit: string;
  /** One line for lists of what is inside. */
  readonly summary: string;
}

/** Read by @polkadot/* and @logtape/* when they are loaded; nothing of it changes what the programs do. */
const ENVIRONMENT =
  "--allow-env=POLKADOTJS_DISABLE_ESM_CJS_WARNING,DEBUG,DEBUG_MAX,WS_NO_BUFFER_UTIL,NO_COLOR";

/** All programs. */
export const PROGRAMS: readonly Program[] = [
  {
    name: "causeway",
    entry: "src/messaging/main.ts",
    permissions: ["--allow-net", "--allow-read", "--allow-write", ENVIRONMENT],
    exampleConfig: "config.example.toml",
    unit: "causeway.service",
    summary: "Messaging relayer of an ISMP hub",
  },
  {
    name: "causeway-consensus",
    entry: "src/consensus/main.ts",
    // Keeps nothing on disk.
    permissions: ["--allow-net", "--allow-read", ENVIRONMENT],
    exampleConfig: "consensus.example.toml",
    unit: "causeway-consensus.service",
    summary: "Consensus relayer of an ISMP hub",
  },
];
