import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import { runToEnd, watchFaults } from './process-faults.ts';
import type { Program } from './process-faults.ts';
import { FakeClock } from './testing/fake-clock.ts';
import { recordingLog } from './testing/recording-log.ts';

class Fixture {
  readonly source = new EventEmitter();
  readonly log = recordingLog();
  readonly clock = new FakeClock();
  readonly faults = watchFaults(this.source, this.log);
  readonly exits: number[] = [];
  readonly asked = Promise.withResolvers<void>();
  readonly did: string[] = [];

  run(program: Partial<Program> = {}): Promise<number> {
    const step =
      (name: string): (() => Promise<void>) =>
      async () =>
        void this.did.push(name);
    return runToEnd(
      { start: step('start'), stop: step('stop'), ...program },
      {
        faults: this.faults,
        asked: () => this.asked.promise,
        exit: (code) => void this.exits.push(code),
        clock: this.clock,
        log: this.log,
      },
    );
  }
}

describe('a program', () => {
  it('runs until it is stopped', async () => {
    const fixture = new Fixture();
    const code = fixture.run();
    await fixture.clock.settle();
    assert.deepEqual(fixture.did, ['start']);
    fixture.asked.resolve();
    assert.deepEqual([await code, fixture.did], [0, ['start', 'stop']]);
  });

  it('continues after an unhandled rejection, and stops in order after an uncaught exception', async () => {
    const fixture = new Fixture();
    const code = fixture.run();
    fixture.source.emit('unhandledRejection', new Error('one'));
    await fixture.clock.settle();
    assert.deepEqual(fixture.did, ['start']);
    fixture.source.emit('uncaughtException', new Error('two'));
    fixture.source.emit('uncaughtException', 'three');
    assert.deepEqual(
      [await code, fixture.did, { ...fixture.faults.counts }, fixture.exits, fixture.clock.armedTimers],
      [255, ['start', 'stop'], { exceptions: 2, rejections: 1 }, [], 0],
    );
    assert.deepEqual(
      fixture.log.lines
        .filter(({ level }) => level === 'error')
        .map(({ fields }) => String(fields['error']).split('\n')[0]),
      ['Error: one', 'Error: two', 'three'],
    );
  });

  it('can be stopped before it has started', async () => {
    const fixture = new Fixture();
    const code = fixture.run({ start: () => new Promise(() => undefined) });
    fixture.source.emit('uncaughtException', new Error('early'));
    assert.deepEqual([await code, fixture.did], [255, ['stop']]);
  });

  it('is terminated if stopping fails or takes too long', async () => {
    const failing = new Fixture();
    const code = failing.run({ stop: () => Promise.reject(new Error('torn')) });
    failing.source.emit('uncaughtException', new Error('x'));
    assert.equal(await code, 255);
    const hanging = new Fixture();
    void hanging.run({ stop: () => new Promise(() => undefined) });
    hanging.source.emit('uncaughtException', new Error('x'));
    await hanging.clock.advance(20_000);
    assert.deepEqual(hanging.exits, [255]);
  });

  it('reports why it cannot start', async () => {
    await assert.rejects(new Fixture().run({ start: () => Promise.reject(new Error('no store')) }), /no store/);
  });
});
