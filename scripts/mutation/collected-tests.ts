// Stands in for node:test while mutants are tried: it collects tests instead of running them, so that one process can run
// the same tests against hundreds of mutants. It offers what the unit tests of this repository use of node:test.
import type { mock } from 'node:test';

type Hook = () => unknown;
type TestBody = (context: { readonly name: string; readonly mock: typeof mock; after(hook: Hook): void }) => unknown;
interface Options {
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
}
type Declare = (name: string, ...rest: readonly unknown[]) => Promise<void>;

export interface CollectedSuite {
  readonly name: string;
  readonly parent: CollectedSuite | undefined;
  readonly children: (CollectedSuite | CollectedTest)[];
  readonly before: Hook[];
  readonly after: Hook[];
  readonly beforeEach: Hook[];
  readonly afterEach: Hook[];
}

export interface CollectedTest {
  readonly name: string;
  readonly parent: CollectedSuite;
  readonly body: TestBody;
}

function createSuite(name: string, parent?: CollectedSuite): CollectedSuite {
  return { name, parent, children: [], before: [], after: [], beforeEach: [], afterEach: [] };
}

/** Where declarations go: node:test is one module for all test files, and so is this. */
let current = createSuite('');

/** Runs `load`, which imports one test file, and returns what the file declared. */
export async function collectTests(load: () => Promise<unknown>): Promise<CollectedSuite> {
  const file = createSuite('');
  current = file;
  await load();
  return file;
}

/** The parts of a call `test(name, options?, body?)`. */
function readCall(rest: readonly unknown[]): { options: Options; body: TestBody | undefined } {
  const [first, second] = rest;
  if (typeof first === 'function') return { options: {}, body: first as TestBody };
  return { options: (first ?? {}) as Options, body: second as TestBody | undefined };
}

export const test: Declare & { skip: Declare; todo: Declare } = Object.assign(declareTest, {
  skip: async () => undefined,
  todo: async () => undefined,
});
export const it = test;

async function declareTest(name: string, ...rest: readonly unknown[]): Promise<void> {
  const { options, body } = readCall(rest);
  if (body !== undefined && !options.skip && !options.todo) current.children.push({ name, parent: current, body });
}

export async function describe(name: string, ...rest: readonly unknown[]): Promise<void> {
  const { options, body } = readCall(rest);
  if (body === undefined || options.skip) return;
  const parent = current;
  const suite = createSuite(name, parent);
  parent.children.push(suite);
  current = suite;
  try {
    (body as () => void)();
  } finally {
    current = parent;
  }
}
export const suite = describe;

export const before = (hook: Hook): void => void current.before.push(hook);
export const after = (hook: Hook): void => void current.after.push(hook);
export const beforeEach = (hook: Hook): void => void current.beforeEach.push(hook);
export const afterEach = (hook: Hook): void => void current.afterEach.push(hook);
// `import test from 'node:test'` takes the default export.
export { test as default };
