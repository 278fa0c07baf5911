/** Litestream, built by the Go toolchain from what the Go module proxy has. */
import { installTool } from "../kubernetes/go_tools.ts";

/** The newest release. */
export const LITESTREAM_VERSION = "v0.5.18";

/** The path of the executable, built where that was not done before (two minutes). @throws {Error} without Go. */
export function buildLitestream(): Promise<string> {
  return installTool("litestream", `github.com/benbjohnson/litestream/cmd/litestream@${LITESTREAM_VERSION}`);
}
