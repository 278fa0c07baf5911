/**
 * Migration from one version of the tables to the next. Migrations only go forward and are never changed once released.
 */
export interface Migration {
  /** Version of the tables after this step; steps are numbered 1, 2, 3, ... */
  readonly version: number;
  /** Purpose of the migration. */
  readonly title: string;
  /** Statements; run in one transaction. */
  readonly sql: string;
}
