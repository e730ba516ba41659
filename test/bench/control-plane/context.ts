/** What every stage gets. */
import type { Row } from '../report.ts';
import type { ControlPlaneBenchOptions } from './options.ts';

export interface StageContext {
  readonly options: ControlPlaneBenchOptions;
  add(row: Row): void;
  /** Called when the stage is over, however it ended; the last one first. */
  defer(stop: () => void | Promise<void>): void;
  /** A finding that is not a number: shown below the table. */
  note(text: string): void;
  /** Progress, on standard error. */
  say(text: string): void;
}
