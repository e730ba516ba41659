import assert from 'node:assert/strict';
import { openSync, closeSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { linuxLogFiles } from './linux-log-files.ts';
import { LinuxFiles } from './linux-files.ts';
import { watchHostPath } from './linux-files-watch.ts';

it('a reader that opens each new log gets every line of a fast writer across rotations', async () => {
  const root = await mkdtemp(`${tmpdir()}/log-follow-`);
  const path = `${root}/pod/0.log`;
  await mkdir(`${root}/pod`);
  await writeFile(path, '');
  const files = new LinuxFiles();
  const chain = [await linuxLogFiles.open(path, root)];
  let looking = Promise.resolve();
  const stop = watchHostPath(`${root}/pod`, {
    onChange: () => {
      looking = looking.then(async () => {
        const info = await files.lstat(path);
        if (info !== undefined && info.inode !== chain.at(-1)?.inode) chain.push(await linuxLogFiles.open(path, root));
      });
    },
    onLost: () => undefined,
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  let expected = '';
  for (let round = 0; round < 4; round++) {
    const writer = openSync(path, 'a');
    for (let line = 0; line < 500; line++) {
      writeSync(writer, `${round}.${line}\n`);
      expected += `${round}.${line}\n`;
    }
    await files.rename(path, `${path}.${round}`);
    writeSync(writer, `${round}.late\n`);
    expected += `${round}.late\n`;
    closeSync(writer);
    await writeFile(path, '');
    for (let wait = 0; wait < 100 && chain.length < round + 2; wait++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await files.gzip(`${path}.${round}`, `${path}.${round}.gz`);
    await files.remove(`${path}.${round}`);
  }
  stop();
  await looking;
  const text = (
    await Promise.all(chain.map(async (file) => Buffer.from(await file.read(0, 1_000_000)).toString()))
  ).join('');
  await Promise.all(chain.map((file) => file.close()));
  await rm(root, { recursive: true });
  assert.equal(text, expected);
});
