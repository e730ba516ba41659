import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as collected from './collected-tests.ts';
import type { TestOutcome } from './run-collected.ts';
import { runCollected } from './run-collected.ts';

interface How {
  readonly bail?: boolean;
  readonly only?: string;
  readonly limitMs?: number;
}

let throwStray: (error: Error) => void = () => undefined;

/** Declares tests as a test file would, runs them, and returns `name: passed` or `name: <message>`. */
async function run(declare: () => void, how: How = {}): Promise<string[]> {
  const root = await collected.collectTests(async () => declare());
  const outcomes = await runCollected(root, {
    file: 'f',
    bail: how.bail ?? false,
    chosen: (id) => how.only === undefined || id === `f ${how.only}`,
    during: () => undefined,
    limitMs: () => how.limitMs ?? 60_000,
    strayError: () =>
      new Promise<never>((_, reject) => {
        throwStray = reject;
      }),
  });
  return outcomes.map(({ id, error }: TestOutcome) => `${id.slice(2)}: ${error?.message ?? 'passed'}`);
}

const fail = (message: string) => (): never => {
  throw new Error(message);
};

describe('collected tests', () => {
  it('run with the hooks of their suites, in the order of node:test', async () => {
    const calls: string[] = [];
    const note = (text: string) => (): void => void calls.push(text);
    const results = await run(() => {
      collected.beforeEach(note('each'));
      collected.after(note('after'));
      void collected.describe('s', () => {
        collected.before(note('before s'));
        collected.beforeEach(note('each s'));
        collected.afterEach(note('end s'));
        void collected.it('a', (context: { after(hook: () => void): void }) => {
          context.after(note('end a'));
          calls.push('a');
        });
      });
      void collected.test('b', { timeout: 1 }, async () => note('b')());
      void collected.test('c', { skip: true }, fail('skipped tests do not run'));
    });
    assert.deepEqual(results, ['s > a: passed', 'b: passed']);
    assert.deepEqual(calls, ['before s', 'each', 'each s', 'a', 'end s', 'end a', 'each', 'b', 'after']);
  });

  it('fail by an error, a rejection, a hook, a stray error, or when they are not over in time', async () => {
    const one =
      (body: () => unknown): (() => void) =>
      () =>
        void collected.test('t', body);
    assert.deepEqual(await run(one(fail('thrown'))), ['t: thrown']);
    assert.deepEqual(await run(one(async () => fail('rejected')())), ['t: rejected']);
    const forever = one(() => new Promise(() => undefined));
    assert.deepEqual(await run(forever, { limitMs: 0 }), ['t: not over within 0 ms']);
    const stray = one(() => {
      throwStray(new Error('in a timer'));
      return new Promise(() => undefined);
    });
    assert.deepEqual(await run(stray), ['t: in a timer']);
    const hooked = (): void => {
      collected.afterEach(fail('hook'));
      void collected.test('t', () => undefined);
    };
    assert.deepEqual(await run(hooked), ['t: hook']);
  });

  it('can be chosen, and stop at the first failure', async () => {
    const three = (): void => {
      void collected.test('a', () => undefined);
      void collected.test('b', fail('no'));
      void collected.test('c', () => undefined);
    };
    assert.deepEqual(await run(three, { only: 'c' }), ['c: passed']);
    assert.deepEqual(await run(three, { bail: true }), ['a: passed', 'b: no']);
  });
});
