import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf, errorMessage, KubeletError } from '../../base/errors.ts';
import { writeFileAtomic } from '../../base/write-file-atomic.ts';
import { decodeRecord, encodeRecord } from '../shim/sandbox-record.ts';
import type { SandboxRecords } from '../shim/shim-ports.ts';

/** Only ids of Docker may become part of a path. */
const dockerId = /^[0-9a-f]{12,64}$/;

/** One file for each sandbox in `folder`. Files are replaced atomically. */
export async function openRecordFiles(folder: string): Promise<SandboxRecords> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Temporary files of a shim that was killed while it wrote.
  for (const name of await readdir(folder)) if (name.endsWith('.tmp')) await rm(path.join(folder, name));
  const fileOf = (id: string): string => {
    if (!dockerId.test(id)) throw new KubeletError('Invalid', `${JSON.stringify(id)} is not the id of a sandbox`);
    return path.join(folder, id);
  };
  return {
    write: async (id, record, { isLasting } = { isLasting: true }) => {
      const file = fileOf(id);
      try {
        await writeFileAtomic(file, encodeRecord(record), 0o600, { survivesPowerCut: isLasting });
      } catch (error) {
        throw new KubeletError('Internal', `the record of a sandbox cannot be written: ${errorMessage(error)}`, {
          cause: error,
        });
      }
    },
    read: async (id) => {
      if (!dockerId.test(id)) return undefined;
      try {
        return decodeRecord(await readFile(fileOf(id), 'utf8'));
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') return undefined;
        throw new KubeletError('Internal', `the record of a sandbox cannot be read: ${errorMessage(error)}`, {
          cause: error,
        });
      }
    },
    list: async () => (await readdir(folder)).filter((name) => dockerId.test(name)),
    remove: async (id) => {
      if (dockerId.test(id)) await rm(fileOf(id), { force: true });
    },
  };
}
