/**
 * Answers of the database to questions that workers repeat all the time. This process alone writes to the file, so an
 * answer holds until something is written; it is asked again after a few seconds anyway, so that a file which
 * cannot be read is noticed. Start reading at {@link RememberedAnswers.find}.
 */
import type { Parameters, Row } from "./columns.ts";

/** Time for which an answer is believed, ms. */
const TTL_MS = 5_000;

/** Maximum number of answers to one statement: with a time among its parameters it is never asked the same again. */
const MAX_ANSWERS = 256;

/** Maximum number of rows of an answer that is worth remembering: while nothing happens there are none. */
const MAX_ROWS = 2;

interface Answer {
  readonly untilMs: number;
  readonly rows: readonly Row[];
}

/** A question to the database. */
export interface AskedQuestion {
  readonly sql: string;
  readonly parameters: Parameters;
  /** True where only the first row is asked for. */
  readonly isOne: boolean;
  readonly nowMs: number;
  readonly ask: () => readonly Row[];
}

/** See the head of the file. */
export class RememberedAnswers {
  /** By statement and parameters. */
  readonly #answers = new Map<string, Map<string, Answer>>();

  /** Rows that were given before, unless something may have changed; else those that the database gives. */
  find({ sql, parameters, isOne, nowMs, ask }: AskedQuestion): readonly Row[] {
    const values = Object.values(parameters);
    // Bytes name single rows, which are not asked for again and again.
    if (values.some((value) => typeof value === "object" && value !== null)) return ask();
    const key = `${isOne}\0${values.join("\0")}`;
    const known = this.#answers.get(sql)?.get(key);
    // The clock may have been set back.
    if (known !== undefined && nowMs < known.untilMs && nowMs >= known.untilMs - TTL_MS) return known.rows;
    const rows = ask();
    if (rows.length <= MAX_ROWS) this.#remember(sql, key, { untilMs: nowMs + TTL_MS, rows });
    return rows;
  }

  /** Forgets everything: something is written. */
  forget(): void {
    this.#answers.clear();
  }

  #remember(sql: string, key: string, answer: Answer): void {
    const some = this.#answers.get(sql) ?? new Map<string, Answer>();
    if (some.size >= MAX_ANSWERS) some.clear();
    some.set(key, answer);
    this.#answers.set(sql, some);
  }
}
