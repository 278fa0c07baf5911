/** Rows about the machine: key files and the limit of open files. Pure. */
import type { MachineFacts, OpenableFiles } from "../runtime/machine_facts.ts";
import { type CheckRow, MACHINE } from "./check_row.ts";

/** Bits of "others may read". */
const OTHERS_READ = 0o004;

/** Rows of the facts. */
export function judgeMachine({ keyFiles, files }: MachineFacts): readonly CheckRow[] {
  return [judgeKeyFiles(keyFiles), judgeOpenFiles(files)];
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

function judgeOpenFiles({ endpoints, needed, openable }: OpenableFiles): CheckRow {
  const row = { chain: MACHINE, check: "open_files" } as const;
  if (openable >= needed) return { ...row, result: "ok", found: `at least ${openable} more files` };
  return {
    ...row,
    result: "warning",
    found: `${openable} more files can be opened; up to ${needed} may be needed for ${endpoints} endpoints`,
    advice: "raise the limit of open files (ulimit -Hn, LimitNOFILE= of the service)",
  };
}
