/** A step from one version of the tables to the next. Steps only go forward and are never changed once released. */
export interface Migration {
  /** Version of the tables after this step; steps are numbered 1, 2, 3, ... */
  readonly version: number;
  /** What it is for. */
  readonly title: string;
  /** Statements; run in one transaction. */
  readonly sql: string;
}
