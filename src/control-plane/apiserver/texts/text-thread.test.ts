import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { textTasks } from './text-tasks.ts';
import { TextThread } from './text-thread.ts';

/** Counts the turns of the event loop during some work. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

const longYaml = `a:\n${'- x\n'.repeat(10_000)}`;
const longJson = JSON.stringify({
  text: 'x'.repeat(100_000),
  list: Array.from({ length: 1000 }, (_, index) => ({ index })),
});

describe('long texts', () => {
  it('have the same result with and without the thread, and other work gets its turns', async () => {
    const thread = new TextThread(new FakeClock());
    try {
      assert.deepEqual(await thread.readYaml(longYaml), await textTasks.readYaml(longYaml));
      assert.deepEqual(await thread.scanJson(`${longJson.slice(0, -1)},"text":1}`), {
        problems: ['duplicate field "text"'],
        lines: ['line 1: key "text" already set in map'],
        error: undefined,
      });
      for (const task of ['writeYaml', 'writeYamlItem', 'indent'] as const)
        assert.equal(await thread[task](longJson), await textTasks[task](longJson));
      assert.ok((await turnsDuring(thread.readYaml(longYaml))) > 5);
    } finally {
      await thread.stop();
    }
  });

  it('are processed one after another, and an error does not affect other texts', async () => {
    const thread = new TextThread(new FakeClock());
    try {
      const broken = thread.indent(`${longJson},`);
      const whole = thread.indent(longJson);
      await assert.rejects(broken, { code: 500 });
      assert.equal(await whole, await textTasks.indent(longJson));
    } finally {
      await thread.stop();
    }
  });

  it('use a new thread if the last one was idle for too long or was stopped', async () => {
    const clock = new FakeClock();
    const thread = new TextThread(clock);
    await thread.indent(longJson);
    await clock.advance(60_000);
    const lost = assert.rejects(thread.indent(longJson), { code: 500 });
    await thread.stop();
    await lost;
    assert.equal(await thread.indent(longJson), await textTasks.indent(longJson));
    await thread.stop();
  });
});
