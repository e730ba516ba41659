/** What the leases, statuses and events of an idle node write to the disk in an hour of virtual time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StageContext } from './context.ts';
import { measureDiskWrites, ONE_NODE } from './disk-writes.ts';

const MIB = 2 ** 20;

export async function measureDisk({ add, defer }: StageContext): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-disk-writes-'));
  defer(() => rmSync(folder, { recursive: true, force: true }));
  const { bytesPerHour, payloadBytesPerHour } = await measureDiskWrites(folder, ONE_NODE);
  add({
    name: 'disk',
    title: 'one node, 100 events a minute: written to the disk in an hour',
    unit: 'MiB',
    agent: [bytesPerHour / MIB],
    floor: [payloadBytesPerHour / MIB],
  });
}
