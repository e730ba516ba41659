import { unresolvable, unschedulable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';

export type Verdict = 'success' | 'skip' | Rejection;

const MOST_REASONS = 16;
const LONGEST_REASON = 1024;

/**
 * Reads the result of a module's method. It may be any value, because modules are third-party JavaScript. Throws for an
 * error and for an invalid status.
 */
export function readStatus(plugin: string, answer: unknown): Verdict {
  if (answer === undefined || answer === null || answer === true) return 'success';
  if (typeof answer === 'string') return unschedulable(plugin, answer.slice(0, LONGEST_REASON));
  if (typeof answer !== 'object')
    throw new Error(`the answer is ${String(answer).slice(0, 64)}, which is not a status`);
  if (isPromise(answer)) throw new Error('the answer is a promise; at this extension point it must return a value');
  const { code, reasons: given = [] } = answer as { readonly code?: unknown; readonly reasons?: unknown };
  const reasons = (Array.isArray(given) ? given : [given])
    .slice(0, MOST_REASONS)
    .map((reason) => String(reason).slice(0, LONGEST_REASON));
  switch (code) {
    case undefined:
    case 'Success':
      return 'success';
    case 'Skip':
      return 'skip';
    case 'Unschedulable':
      return unschedulable(plugin, ...reasons);
    case 'UnschedulableAndUnresolvable':
      return unresolvable(plugin, ...reasons);
    case 'Error':
      throw new Error(reasons.join(', '));
    default:
      throw new Error(`there is no code ${JSON.stringify(String(code).slice(0, 64))}`);
  }
}

export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
