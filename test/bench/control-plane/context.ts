/** The parameters of every stage. */
import type { Row } from '../report.ts';
import type { ControlPlaneBenchOptions } from './options.ts';

export interface StageContext {
  readonly options: ControlPlaneBenchOptions;
  add(row: Row): void;
  /** Registers a function that is called when the stage ends, in any case; the last one is called first. */
  defer(stop: () => void | Promise<void>): void;
  /** Adds a result that is not a number; it is shown below the table. */
  note(text: string): void;
  /** Reports progress on standard error. */
  say(text: string): void;
}
