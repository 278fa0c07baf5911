/**
 * Posts changes of readiness and of its reasons to a webhook, for operators without Prometheus. A reason that comes and
 * goes is posted once; what could not be posted is posted with the next change that can be.
 */
import type { ChainNames } from "../config/chain_names.ts";
import { type EndpointUrl, escapeControls } from "../config/redact.ts";
import { connectionProblem, type Fetch, JSON_TYPE, splitAuthorization } from "../rpc/http_exchange.ts";
import type { Clock } from "../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import { formatDuration } from "../runtime/text_table.ts";
import { everyWorker, type Worker } from "../runtime/worker.ts";
import type { OpenLog } from "../telemetry/open_log.ts";
import { describeReason, isReady, type NotReadyReason, reasonKey } from "../telemetry/readiness.ts";

/** Time for which a reason must hold before it is posted, ms: most faults of endpoints end sooner. */
const HOLDS_MS = 30_000;

/** Time for which a reason must be gone before that is posted, ms: one that returns within it is the same one. */
const GONE_MS = 120_000;

/** Interval of readings, and of posts at least, ms. */
const READ_EVERY_MS = 10_000;
const POST_EVERY_MS = 60_000;

/** Time for an answer of the webhook, ms. */
const TIMEOUT_MS = 10_000;

/** Maximum length of a text: Discord takes 2,000 characters. */
const MAX_TEXT = 1_900;

/** Maximum number of reasons in a post. */
const MAX_REASONS = 50;

/** A reason that was posted, and when it was seen last, Unix milliseconds. */
interface PostedReason {
  readonly reason: NotReadyReason;
  readonly seenMs: number;
}

/** News of a post, and all that is in the way. */
interface News {
  readonly appeared: readonly NotReadyReason[];
  readonly ended: readonly NotReadyReason[];
  readonly reasons: readonly NotReadyReason[];
}

/** What posts say of the program. */
interface PostingProgram {
  readonly name: string;
  readonly hub: string;
}

/** Text of nodes must not name people of a chat, nor look like another line. */
function harmless(text: string): string {
  return escapeControls(text.replaceAll(/[<@]/g, " "), "\n");
}

/** Dependencies of a {@link Webhook}. */
interface WebhookDeps {
  readonly clock: Clock;
  /** Logs failures, and removes the secrets of every configuration so far from texts. */
  readonly log: Pick<OpenLog, "warn" | "redact">;
  readonly fetch: Fetch;
  /** What is in the way now. */
  readonly reasons: () => readonly NotReadyReason[];
  readonly names: Pick<ChainNames, "full">;
}

/** Posts for one program as long as it runs, whatever configuration it works with. */
export class Webhook {
  readonly #deps: WebhookDeps;
  /** By what makes them the same. */
  readonly #posted = new Map<string, PostedReason>();
  #postedMs = -Infinity;
  #isFailing = false;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  /** The worker that posts; none without a webhook. */
  workers(webhook: EndpointUrl | undefined, program: PostingProgram): readonly Worker[] {
    if (webhook === undefined) return [];
    const round = (signal: AbortSignal): Promise<void> => this.#round(webhook, program, signal);
    return [everyWorker(this.#deps.clock, "notifications", READ_EVERY_MS, round)];
  }

  async #round(webhook: EndpointUrl, program: PostingProgram, signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.clock.now();
    const reasons = this.#deps.reasons();
    const isPosted = (reason: NotReadyReason): boolean => this.#posted.has(reasonKey(reason));
    for (const reason of reasons.filter(isPosted)) {
      this.#posted.set(reasonKey(reason), { reason, seenMs: nowMs });
    }
    const appeared = reasons.filter((reason) => !isPosted(reason) && nowMs - reason.sinceMs >= HOLDS_MS);
    const ended = [...this.#posted.values()].filter(({ seenMs }) => nowMs - seenMs >= GONE_MS)
      .map(({ reason }) => reason);
    if (appeared.length + ended.length === 0 || nowMs - this.#postedMs < POST_EVERY_MS) return;
    this.#postedMs = nowMs;
    const body = this.#toBody(program, { appeared, ended, reasons });
    const failure = await this.#post(webhook, body, signal);
    if (failure === undefined) {
      for (const reason of ended) this.#posted.delete(reasonKey(reason));
      for (const reason of appeared) this.#posted.set(reasonKey(reason), { reason, seenMs: nowMs });
    } else if (!this.#isFailing) {
      this.#deps.log.warn("notification_failed", { endpoint: webhook.host, explanation: failure });
    }
    this.#isFailing = failure !== undefined;
  }

  /**
   * A post as JSON. Slack, Telegram and Mattermost show `text`, Discord `content`, and ntfy what its template names; the
   * rest is for other receivers.
   */
  #toBody({ name, hub }: PostingProgram, { appeared, ended, reasons }: News): string {
    const { clock, names, log } = this.#deps;
    const nowMs = clock.now();
    const shown = (text: string): string => harmless(log.redact(names.full(text)));
    const placeOf = ({ chain, leg }: NotReadyReason): string => leg ?? chain ?? name;
    const item = (reason: NotReadyReason) => ({ code: reason.code, place: shown(placeOf(reason)) });
    const whole = shown([
      `${name} of ${hub} is ${isReady(reasons) ? "ready" : "not ready"}.`,
      ...appeared.map((reason) => `${placeOf(reason)}: ${reason.code}: ${describeReason(reason, nowMs)}`),
      ...ended.map((reason) => `${placeOf(reason)}: ${reason.code} is resolved.`),
    ].join("\n"));
    const text = whole.length > MAX_TEXT ? `${whole.slice(0, MAX_TEXT)} ...` : whole;
    return JSON.stringify({
      text,
      content: text,
      allowed_mentions: { parse: [] },
      program: name,
      hub,
      ready: isReady(reasons),
      reasons: reasons.slice(0, MAX_REASONS).map((reason) => ({
        ...item(reason),
        since: formatDuration(nowMs - reason.sinceMs),
        warning: reason.isWarning === true,
        text: shown(describeReason(reason, nowMs)),
      })),
      resolved: ended.slice(0, MAX_REASONS).map(item),
    });
  }

  /** Posts once; returns what went wrong. */
  async #post(webhook: EndpointUrl, body: string, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#deps;
    const { url, headers } = splitAuthorization(webhook.reveal());
    const init = { method: "POST", headers: { ...headers, "content-type": JSON_TYPE }, body };
    try {
      const deadline = { what: "the webhook", afterMs: TIMEOUT_MS, signal };
      const answer = await withDeadline(clock, deadline, async (ends) => {
        const given = await this.#deps.fetch(url.href, { ...init, signal: ends, redirect: "manual" });
        await given.body?.cancel();
        return given;
      });
      return answer.ok ? undefined : `it answered with status ${answer.status}`;
    } catch (error) {
      signal.throwIfAborted();
      return error instanceof DeadlineFault
        ? `no answer within ${TIMEOUT_MS / 1_000} s`
        : connectionProblem(error);
    }
  }
}
