/** The two programs as the build and the release see them. Everything that is made per program loops over this list. */

/** A program, what it may do, and what belongs to it in a release. */
export interface Program {
  readonly name: string;
  readonly entry: string;
  /** Flags of `deno compile`. Paths and endpoints come from the command line and the configuration. */
  readonly permissions: readonly string[];
  /** Flags of V8 that it always runs with. */
  readonly v8Flags: readonly string[];
  /** Annotated configuration at the top of the repository. */
  readonly exampleConfig: string;
  /** Hardened service below `packaging/systemd/`. */
  readonly unit: string;
  /** One line for lists of what is inside. */
  readonly summary: string;
}

/**
 * A relayer idles most of the time, and V8 gives memory back only while it works: a heap that at most doubles between
 * collections stays small after a burst (10,000 messages found at once: 55 to 67 MB more instead of 92 MB). In steps of
 * 20 % it would be 52 MB, and half as much processor time again at load; so it would with 2 MB instead of 8 MB for new
 * objects, for 10 MB less when idle. A heap that starts as large as it will be is not collected while the program loads:
 * 15 to 25 ms less to the first poll. Sizes in MB and percent; V8's own are 16 and adaptive.
 */
const HEAP_FLAGS = ["--initial-old-space-size=40", "--max-semi-space-size=8", "--heap-growing-percent=100"];

/**
 * The configuration names the variables that it wants (`${NAME}`). The right is given up once the file is read; until
 * then nothing else is asked for (src/core/runtime/process_env.ts).
 */
const ENVIRONMENT = "--allow-env";

/** Which user runs it: root does not work on files of others (src/core/runtime/file_access.ts). */
const OWN_USER = "--allow-sys=uid";

/** All programs. */
export const PROGRAMS: readonly Program[] = [
  {
    name: "causeway",
    entry: "src/messaging/main.ts",
    permissions: ["--allow-net", "--allow-read", "--allow-write", OWN_USER, ENVIRONMENT],
    v8Flags: HEAP_FLAGS,
    exampleConfig: "config.example.toml",
    unit: "causeway.service",
    summary: "Messaging relayer of an ISMP hub",
  },
  {
    name: "causeway-consensus",
    entry: "src/consensus/main.ts",
    // Writes nothing but the files of `--cache`, which it opens at its start.
    permissions: ["--allow-net", "--allow-read", "--allow-write", OWN_USER, ENVIRONMENT],
    v8Flags: [], // whole states of a beacon chain pass through its heap
    exampleConfig: "consensus.example.toml",
    unit: "causeway-consensus.service",
    summary: "Consensus relayer of an ISMP hub",
  },
];
