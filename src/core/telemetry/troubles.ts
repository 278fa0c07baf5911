/**
 * Troubles that stand, as the log tells them: what begins with one event and ends with another of the same place. So a
 * leg that pauses or a chain that is left out is a reason in the way without a second report of it.
 */
import type { Clock } from "../runtime/clock.ts";
import type { EventText } from "./events/event_text.ts";
import { explainError } from "./line_format.ts";
import { type EventCode, events, type LogFields } from "./log.ts";
import { type FoundReason, toSentence } from "./readiness.ts";

/** An event with its values. */
export interface NotedEvent {
  readonly event: string;
  readonly fields: LogFields;
}

/** Fields that name a place. */
const PLACES = ["leg", "chain", "worker", "to"] as const;

/** Time for which a trouble stands after its next try without another word of it, ms. */
const SILENT_MS = 60_000;

/** True when `end` says that what `begin` told is over: at its place, or everywhere where it names none. */
export function endsTrouble(end: NotedEvent, begin: NotedEvent): boolean {
  return textOf(begin).endedBy?.includes(end.event) === true &&
    PLACES.every((place) => end.fields[place] === undefined || end.fields[place] === begin.fields[place]);
}

/** Time within which one check logs all of its findings, ms; the next check comes seconds later. */
const ONE_CHECK_MS = 1_000;

/** A trouble that stands. */
interface Standing extends NotedEvent {
  readonly event: EventCode;
  readonly said: string;
  readonly sinceMs: number;
  readonly loggedMs: number;
  readonly nextMs: number | undefined;
}

/** Keeps the troubles that stand. */
export class StandingTroubles {
  readonly #clock: Pick<Clock, "now">;
  #standing: readonly Standing[] = [];

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Takes an event of any level. @param redact removes secrets from its explanation */
  note(event: EventCode, fields: LogFields, redact: (text: string) => string): void {
    this.#standing = this.#standing.filter((each) => !endsTrouble({ event, fields }, each));
    if (events[event].endedBy === undefined) return;
    const before = this.#standing.find((each) => isSameTrouble(each, { event, fields }));
    const atMs = this.#clock.now();
    const { againInMs, until } = fields;
    const nextMs = typeof againInMs === "number" ? atMs + againInMs : Date.parse(String(until));
    const sinceMs = before?.sinceMs ?? atMs;
    const next = Number.isNaN(nextMs) ? undefined : nextMs;
    const latest = { event, fields, said: redact(explain(fields)), sinceMs, loggedMs: atMs, nextMs: next };
    // The findings of one check stand together, and replace those of the check before.
    const others = this.#standing.filter((each) =>
      !isSameTrouble(each, latest) ||
      (each.event === event && atMs - each.loggedMs < ONE_CHECK_MS && each.said !== latest.said)
    );
    this.#standing = [...others, latest];
  }

  /** Forgets everything: the workers that told it have ended. */
  clear(): void {
    this.#standing = [];
  }

  /** The troubles as reasons. */
  list(): readonly FoundReason[] {
    const nowMs = this.#clock.now();
    this.#standing = this.#standing.filter(({ nextMs = nowMs }) => nowMs <= nextMs + SILENT_MS);
    return this.#standing.map(({ event, fields, said, sinceMs, nextMs }) => {
      const { text, action = "" } = events[event];
      const leg = placeOf(fields.leg) ?? placeOf(fields.worker);
      const host = placeOf(fields.endpoint) ?? "";
      return {
        code: event,
        chain: placeOf(fields.chain) ?? leg?.split(" -> ")[1],
        leg,
        explanation: `${[text, said.includes(host) ? "" : host, said].filter(Boolean).join(": ")}.`,
        help: typeof fields.advice === "string" ? toSentence(fields.advice) : action,
        sinceMs,
        nextMs,
      };
    });
  }
}

/** Why something happened, a clause; empty: the values do not say. */
function explain({ explanation, detail, because, error }: LogFields): string {
  const why = explanation ?? detail ?? because ?? (error instanceof Error ? explainError(error) : "");
  return String(why).replace(/\.$/, "");
}

/** Different words for one trouble end in the same way. */
function isSameTrouble(a: NotedEvent, b: NotedEvent): boolean {
  return PLACES.every((place) => a.fields[place] === b.fields[place]) &&
    textOf(a).endedBy?.[0] === textOf(b).endedBy?.[0];
}

function placeOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function textOf({ event }: NotedEvent): Pick<EventText, "endedBy"> {
  const known: Readonly<Record<string, EventText>> = events;
  return known[event] ?? {};
}
