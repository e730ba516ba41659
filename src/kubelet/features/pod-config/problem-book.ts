import type { Logger } from '../../../base/log.ts';
import { formatProblem, type ManifestProblem } from './manifest-reader.ts';

/** What is wrong with which manifest now. Says each problem once, when it comes, and once more when it is mended. */
export class ProblemBook {
  readonly #log: Logger;
  readonly #byKey = new Map<string, readonly ManifestProblem[]>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Replaces what is known about `key`; an empty list means all is well. */
  set(key: string, problems: readonly ManifestProblem[]): void {
    const before = (this.#byKey.get(key) ?? []).map(formatProblem);
    const now = problems.map(formatProblem);
    for (const problem of problems) {
      const line = formatProblem(problem);
      if (before.includes(line)) continue;
      if (problem.severity === 'warning') this.#log.warn('manifest warning', { problem: line });
      else this.#log.error('manifest problem', { problem: line });
    }
    if (before.length > 0 && now.length === 0) this.#log.info('manifest is well again', { manifest: key });
    if (now.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, problems);
  }

  /** All standing problems, by key. */
  list(): ManifestProblem[] {
    return [...this.#byKey.keys()].sort().flatMap((key) => [...(this.#byKey.get(key) ?? [])]);
  }
}
