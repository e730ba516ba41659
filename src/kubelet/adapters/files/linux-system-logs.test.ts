import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { linuxSystemLogs } from './linux-system-logs.ts';

describe('system logs', () => {
  const base = mkdtempSync(join(tmpdir(), 'kts-logs-'));
  const root = join(base, 'log');
  before(() => {
    mkdirSync(join(root, 'app'), { recursive: true });
    mkdirSync(join(base, 'secrets'));
    writeFileSync(join(base, 'secrets', 'shadow'), 'secret');
    writeFileSync(join(root, 'syslog'), 'words\n');
    writeFileSync(join(root, 'app', 'app.log'), 'more words\n');
    symlinkSync('/etc/shadow', join(root, '0.log'));
    symlinkSync(join(base, 'secrets'), join(root, 'way'));
    symlinkSync('app', join(root, 'inside'));
    execFileSync('mkfifo', [join(root, 'fifo')]);
  });
  after(() => rmSync(base, { recursive: true, force: true }));
  const logs = linuxSystemLogs(root);

  const read = async (path: string): Promise<string> => {
    try {
      const entry = await logs.open(path);
      if (entry.kind === 'folder')
        return entry.entries.map(({ name, isFolder }) => (isFolder ? `${name}/` : name)).join(' ');
      const bytes = await entry.file.read(0, 100);
      await entry.file.close();
      return Buffer.from(bytes).toString('utf8');
    } catch (error) {
      return errorKind(error);
    }
  };

  it('are regular files and folders', async () => {
    assert.deepEqual(
      [
        await read('syslog'),
        await read('app/app.log'),
        await read('/syslog'),
        await read('app'),
        await read('app/'),
        await read(''),
      ],
      ['words\n', 'more words\n', 'words\n', 'app.log', 'app.log', '0.log app/ fifo inside syslog way'],
    );
    assert.deepEqual(
      [await read('gone'), await read('gone/x'), await read('syslog/x')].map(
        (each) => each === 'NotFound' || each === 'Invalid',
      ),
      [true, true, true],
    );
  });

  it('are never read through links, from special files, or outside their folder (TOB-K8S-026)', async () => {
    for (const path of ['0.log', 'way', 'way/shadow', 'fifo', '../secrets/shadow', '..', 'app/../../secrets/shadow'])
      assert.match(await read(path), /^(Invalid|NotFound|Internal)$/, path);
    assert.match(await read('inside'), /^(Invalid|Internal)$/);
  });

  it('of a folder with too many names are truncated', async () => {
    mkdirSync(join(root, 'crowd'));
    for (let name = 0; name < 10_050; name += 1) writeFileSync(join(root, 'crowd', String(name)), '');
    assert.equal((await read('crowd')).split(' ').length, 10_000);
  });
});
