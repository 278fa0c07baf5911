/** Rows about the machine: key files and the limit of open files. Pure. */
import type { MachineFacts, OpenableFiles } from "../runtime/machine_facts.ts";
import { describeExposure } from "../config/file_failure.ts";
import { type CheckRow, MACHINE } from "./check_row.ts";

/** Rows of the facts. */
export function judgeMachine({ keyFiles, files }: MachineFacts): readonly CheckRow[] {
  return [judgeKeyFiles(keyFiles), judgeOpenFiles(files)];
}

function judgeKeyFiles(files: MachineFacts["keyFiles"]): CheckRow {
  const row = { chain: MACHINE, check: "key_file" } as const;
  const open = files.flatMap(({ path, mode }) => {
    const exposure = describeExposure(mode);
    return exposure === undefined ? [] : [{ path, text: `${path} is ${exposure}` }];
  });
  if (open.length === 0) {
    const found = files.length === 0
      ? "no key is read from a file"
      : `${files.length} files, closed to others`;
    return { ...row, result: "ok", found };
  }
  return {
    ...row,
    result: "warning",
    found: open.map(({ text }) => text).join("; "),
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
