import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MountTable } from './linux-mountinfo.ts';

const line = (id: number, path: string, fsType = 'tmpfs'): string =>
  `${id} 1 0:${id} / ${path} rw - ${fsType} ${fsType} rw\n`;

/** A mount table that is read at one moment, between the start and the end of a read. */
class Kernel {
  text = line(1, '/', 'ext4');
  readings = 0;
  #end: (() => void) | undefined;

  readonly read = async (): Promise<string> => {
    const { text } = this;
    this.readings++;
    await new Promise<void>((resolve) => (this.#end = resolve));
    return text;
  };

  /** Ends the current read when it is running. */
  async endReading(): Promise<void> {
    while (this.#end === undefined) await Promise.resolve();
    const end = this.#end;
    this.#end = undefined;
    end();
  }
}

test('a caller during a read gets the table as of after its call, and shares that read with others', async () => {
  const kernel = new Kernel();
  const table = new MountTable(kernel.read);
  const first = table.read();
  while (kernel.readings === 0) await Promise.resolve();
  kernel.text += line(2, '/a');
  const later = [table.read(), table.read(), table.read()];
  await kernel.endReading();
  await kernel.endReading();
  const paths = (await Promise.all([first, ...later])).map((mounts) => mounts.map(({ path }) => path).join(' '));
  assert.deepEqual([paths, kernel.readings], [['/', '/ /a', '/ /a', '/ /a'], 2]);
});

test('unchanged lines keep the same objects', async () => {
  const kernel = new Kernel();
  const table = new MountTable(kernel.read);
  const read = async (): Promise<readonly { path: string }[]> => {
    const reading = table.read();
    await kernel.endReading();
    return reading;
  };
  kernel.text += line(2, '/a') + line(3, '/b');
  const before = await read();
  assert.equal(await read(), before);
  kernel.text = line(1, '/', 'ext4') + line(3, '/b') + line(4, '/a', 'nfs');
  const after = await read();
  assert.deepEqual(
    after.map(({ path }) => path),
    ['/', '/b', '/a'],
  );
  assert.deepEqual([after[0] === before[0], after[1] === before[2]], [true, true]);
});

test('a failed read rejects for its callers, and the next call reads again', async () => {
  const answers = [new Error('no'), line(1, '/')];
  const table = new MountTable(async () => {
    const answer = answers.shift();
    if (typeof answer !== 'string') throw answer;
    return answer;
  });
  await assert.rejects(table.read(), /^Error: no$/);
  assert.equal((await table.read()).length, 1);
});
