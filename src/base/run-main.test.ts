import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { Program } from './process-faults.ts';
import { exitAfter, runMain } from './run-main.ts';
import type { MainProcess } from './run-main.ts';

/** Records the effects on a real process. */
class FakeProcess extends EventEmitter implements MainProcess {
  readonly argv: readonly string[];
  readonly pid = 7;
  readonly out: string[] = [];
  readonly errors: string[] = [];
  readonly exits: number[] = [];
  readonly stdout = { write: (text: string) => this.out.push(text) };
  readonly stderr = { write: (text: string) => this.errors.push(text) };

  constructor(...args: string[]) {
    super();
    this.argv = ['node', 'main.ts', ...args];
  }

  exit(code: number): void {
    this.exits.push(code);
  }
}

function run(process: FakeProcess, program: Partial<Program> = {}): Promise<void> {
  return runMain(process, {
    name: 'kubelet-thing',
    logName: 'thing',
    usage: 'usage: kubelet-thing\n',
    parse: ([arg]) => {
      if (arg === '--help') return { kind: 'help' };
      return arg === undefined ? { kind: 'run', options: {} } : { kind: 'error', errors: ['one', 'two'] };
    },
    create: () => ({ start: async () => undefined, stop: async () => undefined, ...program }),
  });
}

describe('a main program', () => {
  it('prints its usage, or the error in its command line', async () => {
    const [helped, misused] = [new FakeProcess('--help'), new FakeProcess('--wrong')];
    await Promise.all([run(helped), run(misused)]);
    assert.deepEqual([helped.out, helped.errors, helped.exits], [['usage: kubelet-thing\n'], [], [0]]);
    assert.deepEqual(
      [misused.out, misused.errors, misused.exits],
      [[], ['one\ntwo\nkubelet-thing --help lists the flags\n'], [2]],
    );
  });

  it('runs until the first signal and ends at once at the second', async () => {
    const process = new FakeProcess();
    const stopping = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const ended = run(process, { start: async () => started.resolve(), stop: () => stopping.promise });
    await started.promise;
    assert.equal(readFileSync('/proc/self/comm', 'utf8'), 'kubelet-thing\n');
    while (process.listenerCount('SIGTERM') === 0) await Promise.resolve();
    process.emit('SIGTERM');
    await Promise.resolve();
    assert.deepEqual(process.exits, []);
    process.emit('SIGINT');
    assert.deepEqual(process.exits, [1]);
    stopping.resolve();
    await ended;
    assert.match(process.errors.join(''), /^I.* 7 thing] "?stopping"?/m);
    assert.deepEqual(process.exits, [1, 0]);
  });

  it('reports why it cannot start, and stops after an uncaught exception', async () => {
    const unable = new FakeProcess();
    await run(unable, { start: () => Promise.reject(new Error('no kubeconfig')) });
    assert.deepEqual([unable.errors, unable.exits], [['no kubeconfig\n'], [1]]);
    const faulty = new FakeProcess();
    const ended = run(faulty);
    faulty.emit('uncaughtException', new Error('a fault'));
    await ended;
    assert.match(faulty.errors.join(''), /uncaught exception; stopping.*a fault/s);
    assert.deepEqual(faulty.exits, [255]);
  });

  it('without an exit code runs until no work is left', async () => {
    const process = new FakeProcess();
    await exitAfter(process, async () => undefined);
    assert.deepEqual(process.exits, []);
  });
});
