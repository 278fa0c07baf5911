/** `health`: asks a running program whether it answers, for containers and service managers without a shell. */
import { escapeControls } from "../config/redact.ts";
import { platformFetch } from "../rpc/http.ts";
import { exitCodes } from "../runtime/exit_codes.ts";
import { type Command, CommandRefusal, type StandaloneRun } from "./command.ts";
import { InvalidArgumentError } from "commander";

/** Maximum wait for the answer, milliseconds. */
const TIMEOUT_MS = 5_000;

/** Maximum length of an answer that is printed. */
const SHOWN_CHARACTERS = 4_000;

/** The command. */
export const health: Command<StandaloneRun> = {
  name: "health",
  description: "Asks a program that runs with --listen for its health, and prints the answer.",
  examples: ["health --url=http://127.0.0.1:9180", "health --url=http://127.0.0.1:9180/readyz"],
  afterHelp:
    `Without a path it asks /healthz: whether the program answers at all. /readyz also tells whether something
stands still, and why; restarting the program does not help against that.`,
  exitStatus: { 0: "the answer was 200", 1: "it was another one or there was none within 5 s" },
  without: ["config", "db"],
  addOptions: (parser) =>
    void parser
      .requiredOption("--url <url>", "address of its status server, e.g. http://127.0.0.1:9180", toUrl),
  run: async ({ print }, { url }: { readonly url: URL }) => {
    const path = url.pathname === "/" ? "/healthz" : url.pathname;
    try {
      const answer = await platformFetch(new URL(path, url).href, {
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: "manual",
      });
      print(escapeControls((await answer.text()).trim().slice(0, SHOWN_CHARACTERS), "\n"));
      return answer.status === 200 ? exitCodes.ok : exitCodes.failed;
    } catch (error) {
      if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
      throw new CommandRefusal(
        `No answer from ${url.host}${path}. Is the program running, with --listen=${url.host}?`,
      );
    }
  },
};

/** Parses the address of a status server. @throws {InvalidArgumentError} */
function toUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new InvalidArgumentError("Expected a URL such as http://127.0.0.1:9180.");
  }
  return url;
}
