/** Rows about the machine: key files and the limit of open files. Pure. */
import { type MachineFacts, PROBED_FILES } from "../runtime/machine_facts.ts";
import { type CheckRow, MACHINE } from "./check_row.ts";

/** Connections that one endpoint may need at a time. */
const FILES_PER_ENDPOINT = 20;

/** Files that the program needs besides: database, log, libraries. */
const OWN_FILES = 32;

/** Bits of "others may read". */
const OTHERS_READ = 0o004;

/** Rows of the facts. @param endpoints number of configured endpoints. */
export function judgeMachine({ keyFiles, openable }: MachineFacts, endpoints: number): readonly CheckRow[] {
  return [judgeKeyFiles(keyFiles), judgeOpenFiles(openable, endpoints)];
}

function judgeKeyFiles(files: MachineFacts["keyFiles"]): CheckRow {
  const row = { chain: MACHINE, check: "key_file" } as const;
  const open = files.filter(({ mode }) => mode !== undefined && (mode & OTHERS_READ) !== 0);
  if (open.length === 0) {
    const found = files.length === 0
      ? "no key is read from a file"
      : `${files.length} files, closed to others`;
    return { ...row, result: "ok", found };
  }
  const paths = open.map(({ path, mode = 0 }) => `${path} (mode ${(mode & 0o777).toString(8)})`).join(", ");
  return {
    ...row,
    result: "warning",
    found: `every user of this machine may read ${paths}`,
    advice: `chmod 600 ${open.map(({ path }) => path).join(" ")}`,
  };
}

function judgeOpenFiles(openable: number, endpoints: number): CheckRow {
  const row = { chain: MACHINE, check: "open_files" } as const;
  const needed = Math.min(OWN_FILES + FILES_PER_ENDPOINT * endpoints, PROBED_FILES);
  const found = openable >= PROBED_FILES ? `at least ${openable} more files` : `${openable} more files`;
  if (openable >= needed) return { ...row, result: "ok", found };
  return {
    ...row,
    result: "warning",
    found: `${found} can be opened; up to ${needed} may be needed for ${endpoints} endpoints`,
    advice: "raise the limit of open files (ulimit -Hn, LimitNOFILE= of the service)",
  };
}
