// A file system whose server does not answer, as a FUSE mount without a daemon: every access hangs in the kernel.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { errorKind, errorMessage } from '../../../src/base/errors.ts';
import { GuardedFiles } from '../../../src/kubelet/adapters/files/linux-files-guarded.ts';
import { LinuxFiles } from '../../../src/kubelet/adapters/files/linux-files.ts';
import { LinuxMounts } from '../../../src/kubelet/adapters/files/linux-mounts.ts';
import { waitUntil } from '../../../src/up/processes.ts';

/** More than Node has threads for file operations. */
const MOUNTS = 6;
let folder: string;
const servers: number[] = [];
const mounts = new LinuxMounts({ timeoutMs: 1500 });
const files = new LinuxFiles({ workSilenceMs: 400 });

const skip = existsSync('/dev/fuse') ? false : 'this kernel has no FUSE';

before(() => {
  if (skip !== false) return;
  folder = mkdtempSync(join(tmpdir(), 'kts-dead-'));
  for (let index = 0; index < MOUNTS; index++) {
    const at = join(folder, `dead-${index}`);
    mkdirSync(at);
    const server = openSync('/dev/fuse', 'r+');
    const { status, stderr } = spawnSync(
      'mount',
      ['-i', '-t', 'fuse', '-o', 'fd=3,rootmode=40000,user_id=0,group_id=0', 'dead', at],
      { stdio: ['ignore', 'ignore', 'pipe', server], encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    servers.push(server);
  }
});

/** Waiting processes then get an error. */
function endServers(): void {
  for (const server of servers.splice(0)) closeSync(server);
}

after(async () => {
  if (skip !== false) return;
  endServers();
  for (const { path } of (await mounts.listBelow(folder)).reverse()) await mounts.unmount(path);
  rmSync(folder, { recursive: true, force: true });
});

const kindOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', errorKind);
const target = (name: string): string => join(folder, 'pod', 'volume-subpaths', name, 'main', '0');

describe('mounts that do not answer', { skip }, () => {
  test('hold up their own volumes and nothing else', async () => {
    const dead = Array.from({ length: MOUNTS }, (_, index) => join(folder, `dead-${index}`));
    const own = join(folder, 'own');
    mkdirSync(join(own, 'dir'), { recursive: true });
    writeFileSync(join(own, 'dir', 'f'), '');
    const stuck = Promise.all([
      ...dead.map((root, index) =>
        kindOf(mounts.bindBeneath({ root, subPath: 'some/part', target: target(`v${index}`) })),
      ),
      ...dead.map((path) => kindOf(files.giveToGroup(path, { gid: 99, readOnly: false }))),
    ]);
    assert.deepEqual(await mounts.bindBeneath({ root: own, subPath: 'dir', target: target('own') }), {
      kind: 'mounted',
      reused: false,
    });
    assert.deepEqual(await files.giveToGroup(own, { gid: 99, readOnly: false }), { entries: 3, refused: 0 });
    assert.deepEqual(new Set(await stuck), new Set(['Timeout']));
    // A path is not accessed again while the first access hangs in the kernel, and the wait for it is limited.
    assert.ok(
      ['Timeout', 'Unavailable'].includes(
        await kindOf(mounts.bindBeneath({ root: dead[0] as string, subPath: 'some/part', target: target('v0') })),
      ),
    );
    assert.equal(await kindOf(new GuardedFiles({ timeoutMs: 400 }).lstat(join(dead[0] as string, 'x'))), 'Timeout');
    assert.equal(await kindOf(files.removeTree(folder)), 'Unavailable');
  });

  test('are asked again when those that hung are gone', async () => {
    endServers();
    let said = '';
    const again = (): Promise<string> =>
      mounts
        .bindBeneath({ root: join(folder, 'dead-0'), subPath: 'some/part', target: target('v0') })
        .then(() => 'mounted', errorMessage);
    assert.ok(await waitUntil(async () => /is not connected/.test((said = await again())), 20_000, 20), said);
  });
});
