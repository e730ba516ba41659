import type { Logger } from '../../../base/log.ts';
import type { ManifestProblem } from './manifest-reader.ts';
import { formatProblem } from './manifest-reader.ts';

/** Stores the current problems of each manifest. Logs each problem once when it appears, and once when it is fixed. */
export class ManifestProblems {
  readonly #log: Logger;
  readonly #byKey = new Map<string, readonly ManifestProblem[]>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Replaces the problems of `key`. An empty list means that there are none. */
  set(key: string, problems: readonly ManifestProblem[]): void {
    const before = (this.#byKey.get(key) ?? []).map(formatProblem);
    const now = problems.map(formatProblem);
    for (const problem of problems) {
      const line = formatProblem(problem);
      if (before.includes(line)) continue;
      if (problem.severity === 'warning') this.#log.warn('manifest warning', { problem: line });
      else this.#log.error('manifest problem', { problem: line });
    }
    if (before.length > 0 && now.length === 0) this.#log.info('manifest is valid again', { manifest: key });
    if (now.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, problems);
  }

  /** All current problems, by key. */
  list(): ManifestProblem[] {
    return [...this.#byKey.keys()].sort().flatMap((key) => [...(this.#byKey.get(key) ?? [])]);
  }
}
