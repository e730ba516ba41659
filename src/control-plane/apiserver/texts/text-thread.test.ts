import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { textTasks } from './text-tasks.ts';
import { TextThread } from './text-thread.ts';

/** How often the event loop comes by while something is done. */
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
  it('long texts come out of the thread as they do without one, and others have their turn meanwhile', async () => {
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

  it('long texts are done one after the other, and one that cannot be done takes no other with it', async () => {
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

  it('long texts find a new thread when the last has ended for want of work, or because the server stopped', async () => {
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
