// Runs collected tests one after another, with their hooks, in the order of the file.
import { mock } from 'node:test';
import type { CollectedSuite, CollectedTest } from './collected-tests.ts';

/** As they are before a test mocks them. */
const { setTimeout, clearTimeout } = globalThis;

export interface TestOutcome {
  readonly id: string;
  readonly error: Error | undefined;
  readonly tookMs: number;
}

export interface RunPlan {
  /** Begin of the ids of the tests. Two tests of the same name share an id, and so run together. */
  readonly file: string;
  chosen(id: string): boolean;
  /** Called with the id before each test, and with undefined after it. */
  during(id: string | undefined): void;
  /** How long a test may take before it counts as failed. A mutant can make a test wait for what never comes. */
  limitMs(id: string): number;
  /** Whether the rest is skipped after the first failure. */
  readonly bail: boolean;
  /** Rejects with an error that was thrown outside of any call of the test, in a timer for example. */
  strayError(): Promise<never>;
}

function testId(file: string, test: CollectedTest | CollectedSuite): string {
  const names: string[] = [];
  for (let at: CollectedTest | CollectedSuite | undefined = test; at?.parent !== undefined; at = at.parent) {
    names.unshift(at.name);
  }
  return `${file} ${names.join(' > ')}`;
}

export async function runCollected(root: CollectedSuite, plan: RunPlan): Promise<TestOutcome[]> {
  const outcomes: TestOutcome[] = [];
  await runSuite(root, plan, outcomes);
  return outcomes;
}

function hasChosen(suite: CollectedSuite, plan: RunPlan): boolean {
  return suite.children.some((child) =>
    'body' in child ? plan.chosen(testId(plan.file, child)) : hasChosen(child, plan),
  );
}

async function runSuite(suite: CollectedSuite, plan: RunPlan, outcomes: TestOutcome[]): Promise<void> {
  if (!hasChosen(suite, plan)) return;
  const hasFailed = (): boolean => plan.bail && outcomes.some(({ error }) => error !== undefined);
  const hookId = `${plan.file} hooks of ${suite.name}`;
  const opened = await attempt(hookId, plan, () => runHooks(suite.before));
  if (opened.error !== undefined) outcomes.push(opened);
  else {
    for (const child of suite.children) {
      if (hasFailed()) break;
      if (!('body' in child)) await runSuite(child, plan, outcomes);
      else if (plan.chosen(testId(plan.file, child))) outcomes.push(await runTest(child, plan));
    }
  }
  const closed = await attempt(hookId, plan, () => runHooks(suite.after));
  if (closed.error !== undefined) outcomes.push(closed);
}

async function runHooks(hooks: readonly (() => unknown)[]): Promise<void> {
  for (const hook of hooks) await hook();
}

async function runTest(test: CollectedTest, plan: RunPlan): Promise<TestOutcome> {
  const id = testId(plan.file, test);
  const suites: CollectedSuite[] = [];
  for (let at: CollectedSuite | undefined = test.parent; at !== undefined; at = at.parent) suites.unshift(at);
  const ending: (() => unknown)[] = [];
  plan.during(id);
  try {
    const outcome = await attempt(id, plan, async () => {
      for (const suite of suites) await runHooks(suite.beforeEach);
      await test.body({ name: test.name, mock, after: (hook) => void ending.push(hook) });
    });
    // Hooks that clean up run in any case; a failure of theirs counts when the test itself passed.
    const closed = await attempt(id, plan, async () => {
      for (const suite of suites.toReversed()) await runHooks(suite.afterEach);
      await runHooks(ending);
    });
    return { ...outcome, error: outcome.error ?? closed.error };
  } finally {
    mock.reset();
    plan.during(undefined);
  }
}

async function attempt(id: string, plan: RunPlan, body: () => unknown): Promise<TestOutcome> {
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const limitMs = plan.limitMs(id);
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([(async () => body())(), late, plan.strayError()]);
    return { id, error: undefined, tookMs: performance.now() - startedAt };
  } catch (error) {
    const shown = error instanceof Error ? error : new Error(String(error));
    return { id, error: shown, tookMs: performance.now() - startedAt };
  } finally {
    clearTimeout(timer);
  }
}
