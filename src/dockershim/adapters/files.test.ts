import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createCniHost, linuxShimHost } from './linux-host.ts';
import { logFiles } from './log-files.ts';
import { openRecordFiles } from './record-files.ts';

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-dockershim-'));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const LINE = '2026-11-23T00:00:01.000000001Z stdout F one\n';

describe('log files', () => {
  it('are created with their folder, and report where they end', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'c', '0.log');
      const { file, end } = await logFiles.open(path);
      assert.equal(end, undefined);
      await file.append([Buffer.from(LINE), Buffer.from(LINE)]);
      await file.close();
      assert.equal(statSync(path).mode & 0o777, 0o640);
      const again = await logFiles.open(path);
      assert.deepEqual(again.end, { time: '2026-11-23T00:00:01.000000001Z', lines: 2 });
      await again.file.close();
    }));

  it('lose a line that was cut by a crash', () =>
    inFolder(async (folder) => {
      const path = join(folder, '0.log');
      writeFileSync(path, `${LINE}2026-11-23T00:00:02Z stdo`);
      const { file, end } = await logFiles.open(path);
      assert.equal(end?.lines, 1);
      await file.append([Buffer.from('next\n')]);
      await file.close();
      assert.equal(readFileSync(path, 'utf8'), `${LINE}next\n`);
    }));

  it('that end with a line of many pieces count all of them, because they have the same time stamp', () =>
    inFolder(async (folder) => {
      const path = join(folder, '0.log');
      const piece = LINE.replace(' F one', ` P ${'x'.repeat(16 * 1024)}`);
      writeFileSync(path, LINE.replace('01.0', '00.0') + piece.repeat(64));
      const { file, end } = await logFiles.open(path);
      await file.close();
      assert.equal(end?.lines, 64);
    }));

  it('of any length are read only at their end', () =>
    inFolder(async (folder) => {
      const path = join(folder, '0.log');
      for (let index = 0; index < 10; index += 1) appendFileSync(path, LINE.repeat(2000));
      appendFileSync(path, LINE.replace('01.0', '02.0'));
      const { file, end } = await logFiles.open(path);
      await file.close();
      assert.deepEqual(end, { time: '2026-11-23T00:00:02.000000001Z', lines: 1 });
    }));
});

describe('sandbox records', () => {
  const id = 'a'.repeat(64);
  const record = {
    pod: { name: 'web', namespace: 'ns', uid: 'u', attempt: 0 },
    isHostNetwork: false,
    portMappings: [],
    dns: { servers: [], searches: [] },
  };

  it('survive a restart, and are gone after their removal', () =>
    inFolder(async (folder) => {
      await (await openRecordFiles(folder)).write(id, record);
      const records = await openRecordFiles(folder);
      assert.deepEqual(await records.read(id), record);
      assert.deepEqual(await records.list(), [id]);
      await records.remove(id);
      await records.remove(id);
      assert.deepEqual([await records.read(id), await records.list()], [undefined, []]);
    }));

  it('that are damaged or of another version are ignored', () =>
    inFolder(async (folder) => {
      const records = await openRecordFiles(folder);
      for (const text of ['', '{"version":1,"rec', '{"version":2,"record":{}}', '{"version":1,"record":{"pod":5}}']) {
        writeFileSync(join(folder, id), text);
        assert.equal(await records.read(id), undefined);
      }
    }));

  it('are removed if a killed shim had not finished writing them', () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, `${id}.tmp`), '{"ver');
      await openRecordFiles(folder);
      assert.deepEqual(readdirSync(folder), []);
    }));

  it('never leave their folder', () =>
    inFolder(async (folder) => {
      const records = await openRecordFiles(folder);
      await assert.rejects(records.write('../../x', record), { kind: 'Invalid' });
      assert.equal(await records.read('../../x'), undefined);
      await records.remove('..');
      assert.ok(statSync(folder).isDirectory());
    }));
});

describe('this machine', () => {
  it('kills only processes of the container, whatever process id it is given', async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    const id = 'a'.repeat(64);
    assert.equal(linuxShimHost.isProcessOf(pid, id), false);
    for (const wrong of [id, '', '/', 'a']) linuxShimHost.killProcess(pid, wrong);
    linuxShimHost.killProcess(2 ** 22 + 1, id);
    assert.equal(child.kill(0), true);
    child.kill('SIGTERM');
    assert.deepEqual((await once(child, 'exit'))[1], 'SIGTERM');
  });

  it('creates missing mount sources and leaves existing ones unchanged', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'file');
      writeFileSync(file, 'x');
      await linuxShimHost.ensureDirectory(file);
      await linuxShimHost.ensureDirectory(join(folder, 'a', 'b'));
      assert.ok(statSync(join(folder, 'a', 'b')).isDirectory());
      assert.equal(readFileSync(file, 'utf8'), 'x');
    }));

  it('reads profiles up to their limit', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'p.json');
      writeFileSync(file, '{}');
      assert.equal(await linuxShimHost.readProfile(file), '{}');
      await assert.rejects(linuxShimHost.readProfile(join(folder, 'none')), { kind: 'NotFound' });
      writeFileSync(file, 'x'.repeat(1024 * 1024 + 1));
      await assert.rejects(linuxShimHost.readProfile(file), { kind: 'Invalid' });
    }));

  it('runs the plugin from the first folder that contains it', () =>
    inFolder(async (folder) => {
      for (const name of ['one', 'two']) {
        mkdirSync(join(folder, name));
        writeFileSync(
          join(folder, name, name === 'one' ? 'other' : 'bridge'),
          `#!/bin/sh\necho "$CNI_COMMAND ${name}"\ncat\nexit 3\n`,
          { mode: 0o755 },
        );
      }
      const host = createCniHost({
        configFolder: join(folder, 'none'),
        pluginFolders: ['one', 'two'].map((name) => join(folder, name)),
      });
      assert.deepEqual(await host.readConfigs(), []);
      const output = await host.run({ program: 'bridge', environment: { CNI_COMMAND: 'ADD' }, input: '{"a":1}' });
      assert.deepEqual([output.exitCode, output.stdout], [3, 'ADD two\n{"a":1}']);
      await assert.rejects(host.run({ program: 'none', environment: {}, input: '' }), {
        kind: 'NotFound',
        message: /failed to find plugin "none"/,
      });
    }));
});
