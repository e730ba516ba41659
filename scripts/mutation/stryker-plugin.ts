// Plugins for Stryker: a test runner that keeps the code loaded between mutants (a process for each mutant and test file
// takes half a second, a run in here a few milliseconds), and the rule which mutants are not worth a test.
import { globSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { collectTests } from './collected-tests.ts';
import { reasonToIgnore } from './ignored-mutants.ts';
import type { TestOutcome } from './run-collected.ts';
import { runCollected } from './run-collected.ts';

/** What the code under mutation shares with the runner (Stryker: InstrumenterContext). */
interface MutationState {
  activeMutant?: string;
  currentTestId?: string;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
  hitCount?: number;
  hitLimit?: number;
}
interface RunOptions {
  readonly disableBail: boolean;
}
interface MutantRunOptions extends RunOptions {
  /** After which Stryker ends the process; some seconds more than all the tests took without a mutant. */
  readonly timeout: number;
  readonly testFilter?: readonly string[];
  readonly hitLimit?: number;
  readonly activeMutant: { readonly id: string };
  readonly mutantActivation: 'runtime' | 'static';
  readonly reloadEnvironment: boolean;
}

const shared = globalThis as { __stryker__?: MutationState };
const collectedTests = import.meta.resolve('./collected-tests.ts');
const PASSED = 0;
const FAILED = 1;
/** A test may take this much longer with a mutant than LIMIT_FACTOR times the longest time it took before. */
const LIMIT_MS = 700;
const LIMIT_FACTOR = 5;
const LIMIT_OF_DRY_RUN_MS = 60_000;

function noteTest(id: string | undefined): void {
  if (shared.__stryker__ !== undefined) shared.__stryker__.currentTestId = id;
}

class InProcessRunner {
  static readonly inject = ['options'] as const;
  readonly #files: readonly string[];
  readonly #usualMs = new Map<string, number>();
  /** Which copy of the code is loaded: a mutant in code that runs at import time needs a copy of its own. */
  #codeVersion = 0;
  #run = 0;
  #rejectStray: (error: Error) => void = () => undefined;

  constructor({ unitTests }: { readonly unitTests: readonly string[] }) {
    this.#files = unitTests;
  }

  capabilities(): object {
    return { reloadEnvironment: true };
  }

  async init(): Promise<void> {
    const sandbox = pathToFileURL(`${process.cwd()}/`).href;
    const modules = pathToFileURL(path.resolve('node_modules')).href;
    registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === 'node:test' && context.parentURL?.startsWith(sandbox)) {
          return { url: collectedTests, format: 'module-typescript', shortCircuit: true };
        }
        const resolved = next(specifier, context);
        const isCode = resolved.url.startsWith(sandbox) && !resolved.url.startsWith(modules);
        if (!isCode || resolved.url.includes('?')) return resolved;
        return { ...resolved, url: `${resolved.url}?code=${this.#codeVersion}` };
      },
    });
    const stray = (error: unknown): void =>
      this.#rejectStray(error instanceof Error ? error : new Error(String(error)));
    process.on('uncaughtException', stray);
    process.on('unhandledRejection', stray);
  }

  async dryRun(options: RunOptions): Promise<object> {
    const state = (shared.__stryker__ ??= {});
    state.mutantCoverage = { static: {}, perTest: {} };
    const outcomes = await this.#runTests({ bail: !options.disableBail, limitMs: () => LIMIT_OF_DRY_RUN_MS });
    const tests = outcomes.map(({ id, error, tookMs }) => ({
      id,
      name: id,
      timeSpentMs: tookMs,
      ...(error === undefined ? { status: PASSED } : { status: FAILED, failureMessage: error.stack ?? error.message }),
    }));
    return { status: 'complete', tests, mutantCoverage: state.mutantCoverage };
  }

  async mutantRun(options: MutantRunOptions): Promise<object> {
    const state = (shared.__stryker__ ??= {});
    delete state.mutantCoverage;
    state.hitLimit = options.hitLimit;
    state.hitCount = options.hitLimit === undefined ? undefined : 0;
    if (options.reloadEnvironment) this.#codeVersion += 1;
    const { id } = options.activeMutant;
    if (options.mutantActivation === 'static') state.activeMutant = id;
    else state.activeMutant = undefined;
    const outcomes = await this.#runTests({
      bail: !options.disableBail,
      filter: options.testFilter,
      limitMs: (test) => this.#limitMs(test, options.timeout),
      onLoaded: () => (state.activeMutant = id),
    });
    state.activeMutant = undefined;
    if (state.hitLimit !== undefined && (state.hitCount ?? 0) > state.hitLimit) {
      return { status: 'timeout', reason: `ran ${state.hitCount} times` };
    }
    const failed = outcomes.filter(({ error }) => error !== undefined);
    const [first] = failed;
    if (first?.error === undefined) return { status: 'survived', nrOfTests: outcomes.length };
    const killedBy = failed.map((test) => test.id);
    return { status: 'killed', killedBy, failureMessage: first.error.message, nrOfTests: outcomes.length };
  }

  async #runTests(how: {
    readonly bail: boolean;
    readonly filter?: readonly string[];
    readonly onLoaded?: () => void;
    limitMs(test: string): number;
  }): Promise<TestOutcome[]> {
    const chosen = how.filter === undefined ? undefined : new Set(how.filter);
    const outcomes: TestOutcome[] = [];
    for (const file of this.#testFiles()) {
      if (chosen !== undefined && ![...chosen].some((id) => id.startsWith(`${file} `))) continue;
      this.#run += 1;
      const url = `${pathToFileURL(path.resolve(file)).href}?run=${this.#run}`;
      try {
        const root = await collectTests(() => import(url));
        how.onLoaded?.();
        const plan = { file, bail: how.bail, chosen: (id: string) => chosen?.has(id) ?? true, limitMs: how.limitMs };
        outcomes.push(
          ...(await runCollected(root, { ...plan, during: noteTest, strayError: () => this.#strayError() })),
        );
      } catch (error) {
        outcomes.push({ id: `${file} import`, error: error as Error, tookMs: 0 });
      }
      // What a test left behind ends here, and not in the next test file.
      await new Promise((resolve) => setImmediate(resolve));
      if (how.bail && outcomes.some(({ error }) => error !== undefined)) break;
    }
    for (const { id, error, tookMs } of outcomes) {
      if (error === undefined) this.#usualMs.set(id, Math.max(tookMs, this.#usualMs.get(id) ?? 0));
    }
    return outcomes;
  }

  #strayError(): Promise<never> {
    return new Promise((_, reject) => {
      this.#rejectStray = reject;
    });
  }

  /** A process that did not make the dry run does not know how long a test takes before it has passed once. */
  #limitMs(test: string, timeoutMs: number): number {
    const usualMs = this.#usualMs.get(test);
    return usualMs === undefined ? timeoutMs * 0.8 : LIMIT_MS + usualMs * LIMIT_FACTOR;
  }

  #testFiles(): string[] {
    return globSync([...this.#files]).toSorted();
  }
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'in-process', injectableClass: InProcessRunner },
  { kind: 'Ignore', name: 'not-worth-a-test', value: { shouldIgnore: reasonToIgnore } },
];
