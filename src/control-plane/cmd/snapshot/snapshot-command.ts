import { createReadStream, existsSync, mkdirSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { readKubeconfig } from '../../../client/kubeconfig.ts';
import { SNAPSHOT_PATH } from '../../apiserver/endpoints/snapshot.ts';
import { restoreInto } from '../../storage/snapshot/restore-into.ts';
import type { SnapshotPage } from '../../storage/snapshot/read-page.ts';
import { SNAPSHOT_FORMAT, SnapshotReader, SnapshotWriter } from '../../storage/snapshot/snapshot-file.ts';
import type { SnapshotHead, SnapshotItem } from '../../storage/snapshot/snapshot-file.ts';
import { restoreSqlite } from '../../storage/sqlite/restore-snapshot.ts';
import { openStores, STATE_FILE } from '../compose/open-storage.ts';
import { parseCommandLine } from '../flags/parse-command-line.ts';

const USAGE = `usage: kubelet-control-plane snapshot save|status|restore FILE [--data-dir DIR] [--kubeconfig FILE]
       kubelet-control-plane snapshot restore FILE --storage-backend=etcd3 [other flags of the control plane]

save     writes the objects of a running control plane to FILE, on SQLite or etcd; without events. FILE holds Secrets.
         --kubeconfig names an administrator's, default DIR/admin.conf
status   checks FILE and prints what is in it
restore  makes DIR/state.db from FILE. DIR must have no state.db; its pki should be that of the cluster. Watches of
         before get 410 and begin again; no resource version is used twice. With --storage-backend=etcd3 the etcd of the
         cluster is brought back to FILE, while no control plane runs: what is not in FILE is deleted there
`;

export interface SnapshotSetting {
  readonly write: (text: string) => void;
  readonly defaultDataDir: string;
  readonly nowMs: number;
  readonly version: string;
}

interface SnapshotRequest {
  readonly verb: string;
  readonly file: string;
  readonly dataDir: string;
  readonly kubeconfig: string;
}

/** `kubelet-control-plane snapshot ...`. Resolves with the exit code. */
export async function snapshotCommand(args: readonly string[], setting: SnapshotSetting): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    setting.write(USAGE);
    return 0;
  }
  if (isForEtcd(args)) return restoreEtcd(args, setting);
  let request: SnapshotRequest;
  try {
    request = parseRequest(args, setting.defaultDataDir);
  } catch (error) {
    setting.write(`${errorMessage(error)}\n${USAGE}`);
    return 1;
  }
  switch (request.verb) {
    case 'save':
      return save(request, setting);
    case 'status':
      return status(request, setting);
    default:
      return restore(request, setting);
  }
}

/** Whether the arguments are for etcd. The flags of the store are those of the control plane. */
const isForEtcd = ([verb, , ...flags]: readonly string[]): boolean =>
  verb === 'restore' && flags.some((flag) => /^--?(?:storage|etcd)-/.test(flag));

async function restoreEtcd([, file = '', ...flags]: readonly string[], { write }: SnapshotSetting): Promise<number> {
  const parsed = parseCommandLine(flags);
  if (parsed.kind !== 'run')
    throw new KubeletError('Invalid', parsed.kind === 'error' ? parsed.errors.join('\n') : 'snapshot: no such flag');
  const { options } = parsed.line;
  if (options.storage.backend !== 'etcd3' || options.storage.overrides.length > 0)
    throw new KubeletError('Invalid', 'snapshot: --etcd-... flags need --storage-backend=etcd3, and a single etcd');
  const { head } = await readSnapshot(file, () => undefined);
  const stores = await openStores(options, systemClock, silentLogger);
  try {
    const counts = await restoreInto({ storage: stores.main, prefix: '/registry/' }, head, snapshotItems(file));
    write(
      `etcd: ${counts.written} objects written, ${counts.kept} as they were, ${counts.deleted} deleted; all of revision ${head.revision}\n`,
    );
    return 0;
  } finally {
    await stores.close();
  }
}

function parseRequest(args: readonly string[], defaultDataDir: string): SnapshotRequest {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'data-dir': { type: 'string' }, kubeconfig: { type: 'string' } },
  });
  const [verb = '', file = '', ...more] = positionals;
  if (!['save', 'status', 'restore'].includes(verb) || file === '' || more.length > 0)
    throw new KubeletError('Invalid', 'snapshot: give one of save, status and restore, and one file');
  const dataDir = values['data-dir'] ?? defaultDataDir;
  return { verb, file, dataDir, kubeconfig: values.kubeconfig ?? path.join(dataDir, 'admin.conf') };
}

/**
 * Writes a snapshot. It has a temporary name until it is complete and synced, so that the file is always a complete
 * snapshot.
 */
async function save({ file, kubeconfig }: SnapshotRequest, setting: SnapshotSetting): Promise<number> {
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-control-plane' });
  const partial = `${file}.partial`;
  const output = await open(partial, 'w', 0o600);
  try {
    const writer = new SnapshotWriter();
    let page = await nextPage(transport, undefined);
    let items = 0;
    const { revision } = page;
    await output.write(writer.head(headOf(revision, setting)));
    for (;;) {
      items += page.items.length;
      await output.write(page.items.map((item) => writer.item(item)).join(''));
      if (page.next === undefined) break;
      page = await nextPage(transport, page);
    }
    await output.write(writer.end());
    await output.sync();
    await output.close();
    await rename(partial, file);
    setting.write(`${file}: ${items} objects of revision ${revision}\n`);
    return 0;
  } catch (error) {
    await output.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  } finally {
    transport.close();
  }
}

const headOf = (revision: number, { nowMs, version }: SnapshotSetting): SnapshotHead => ({
  format: SNAPSHOT_FORMAT,
  revision,
  createdAt: new Date(nowMs).toISOString(),
  version,
});

async function nextPage(transport: HttpTransport, before: SnapshotPage | undefined): Promise<SnapshotPage> {
  const query =
    before?.next === undefined ? '' : `?revision=${before.revision}&after=${encodeURIComponent(before.next)}`;
  return (await transport.send({ method: 'GET', path: `${SNAPSHOT_PATH}${query}` })) as SnapshotPage;
}

async function status({ file }: SnapshotRequest, { write }: SnapshotSetting): Promise<number> {
  const { head, items } = await readSnapshot(file, () => undefined);
  write(`${file}: ${items} objects of revision ${head.revision}, written ${head.createdAt} by ${head.version}\n`);
  return 0;
}

/** Restores a snapshot. The file is read twice, so that nothing is restored from an incomplete file. */
async function restore({ file, dataDir }: SnapshotRequest, { write }: SnapshotSetting): Promise<number> {
  await readSnapshot(file, () => undefined);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const store = restoreSqlite(path.join(dataDir, STATE_FILE));
  try {
    const { head, items } = await readSnapshot(file, (item) => store.put(item));
    store.finish(head.revision);
    write(`${path.join(dataDir, STATE_FILE)}: ${items} objects of revision ${head.revision}\n`);
  } catch (error) {
    store.abandon();
    throw error;
  }
  if (!existsSync(path.join(dataDir, 'pki')))
    write(
      `${dataDir} has no pki: put that of the cluster there before the start, or nodes and tokens will be refused\n`,
    );
  return 0;
}

async function readSnapshot(
  file: string,
  onItem: (item: SnapshotItem) => void,
): Promise<{ readonly head: SnapshotHead; readonly items: number }> {
  const reader = new SnapshotReader();
  for await (const item of itemsOf(file, reader)) onItem(item);
  return reader.finish();
}

/** Of a file that was found whole. */
const snapshotItems = (file: string): AsyncIterable<SnapshotItem> => itemsOf(file, new SnapshotReader());

async function* itemsOf(file: string, reader: SnapshotReader): AsyncGenerator<SnapshotItem> {
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const item = reader.read(line);
    if (item !== undefined) yield item;
  }
}
