// Plugins for Stryker: a test runner that keeps the code loaded between mutants (a process for each mutant and test file
// takes half a second, a run in here a few milliseconds), and the rule which mutants are not worth a test.
import { globSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CollectedSuite } from './collected-tests.ts';
import { collectTests } from './collected-tests.ts';
import { reasonToIgnore } from './ignored-mutants.ts';
import type { MutantCoverage } from './mutant-coverage.ts';
import { addCoverage, createCoverage, takeCoverage } from './mutant-coverage.ts';
import type { RunPlan, TestOutcome } from './run-collected.ts';
import { runCollected } from './run-collected.ts';

/** What the code under mutation shares with the runner (Stryker: InstrumenterContext). */
interface MutationState {
  activeMutant?: string;
  currentTestId?: string;
  mutantCoverage?: MutantCoverage;
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
  readonly #loaded = new Set<string>();
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
    const counted = (state.mutantCoverage ??= createCoverage());
    const total = createCoverage();
    const outcomes: TestOutcome[] = [];
    for (const file of this.#testFiles()) {
      await this.#loadCode(file);
      const loading = takeCoverage(counted).static;
      const ofFile = await this.#runFile(file, { bail: !options.disableBail, limitMs: () => LIMIT_OF_DRY_RUN_MS });
      outcomes.push(...ofFile);
      addCoverage(total, { loading, running: takeCoverage(counted), tests: ofFile.map(({ id }) => id) });
    }
    const tests = outcomes.map(({ id, error, tookMs }) => ({
      id,
      name: id,
      timeSpentMs: tookMs,
      ...(error === undefined ? { status: PASSED } : { status: FAILED, failureMessage: error.stack ?? error.message }),
    }));
    return { status: 'complete', tests, mutantCoverage: total };
  }

  async mutantRun(options: MutantRunOptions): Promise<object> {
    const state = (shared.__stryker__ ??= {});
    delete state.mutantCoverage;
    state.hitLimit = options.hitLimit;
    state.hitCount = options.hitLimit === undefined ? undefined : 0;
    if (options.reloadEnvironment) this.#codeVersion += 1;
    const { id } = options.activeMutant;
    const chosen = options.testFilter === undefined ? undefined : new Set(options.testFilter);
    const outcomes: TestOutcome[] = [];
    for (const file of this.#testFiles()) {
      if (chosen !== undefined && ![...chosen].some((test) => test.startsWith(`${file} `))) continue;
      if (options.mutantActivation === 'runtime') await this.#loadCode(file);
      state.activeMutant = id;
      const bail = !options.disableBail;
      const limitMs = (test: string): number => this.#limitMs(test, options.timeout);
      outcomes.push(...(await this.#runFile(file, { bail, chosen, limitMs })));
      state.activeMutant = undefined;
      if (bail && outcomes.some(({ error }) => error !== undefined)) break;
    }
    if (state.hitLimit !== undefined && (state.hitCount ?? 0) > state.hitLimit) {
      return { status: 'timeout', reason: `ran ${state.hitCount} times` };
    }
    const failed = outcomes.filter(({ error }) => error !== undefined);
    const [first] = failed;
    if (first?.error === undefined) return { status: 'survived', nrOfTests: outcomes.length };
    const killedBy = failed.map((test) => test.id);
    return { status: 'killed', killedBy, failureMessage: first.error.message, nrOfTests: outcomes.length };
  }

  /** Imports this test file; its declarations are made again each time, the code that it imports is kept. */
  #collect(file: string): Promise<CollectedSuite> {
    this.#run += 1;
    const url = `${pathToFileURL(path.resolve(file)).href}?run=${this.#run}`;
    return collectTests(() => import(url));
  }

  /** Imports the code of this test file once without a mutant: what runs at import time must not keep one's results. */
  async #loadCode(file: string): Promise<void> {
    const version = `${file}?code=${this.#codeVersion}`;
    if (this.#loaded.has(version)) return;
    this.#loaded.add(version);
    await this.#collect(file).catch(() => undefined);
  }

  async #runFile(file: string, how: Pick<RunPlan, 'bail' | 'limitMs'> & { chosen?: ReadonlySet<string> }) {
    const outcomes: TestOutcome[] = [];
    try {
      const root = await this.#collect(file);
      const chosen = (id: string): boolean => how.chosen?.has(id) ?? true;
      const strayError = (): Promise<never> => this.#strayError();
      outcomes.push(...(await runCollected(root, { ...how, file, chosen, during: noteTest, strayError })));
    } catch (error) {
      outcomes.push({ id: `${file} import`, error: error as Error, tookMs: 0 });
    }
    // What a test left behind ends here, and not in the next test file.
    await new Promise((resolve) => setImmediate(resolve));
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
