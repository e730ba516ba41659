import { readFile, writeFile } from 'node:fs/promises';
import { KubeletError } from '../../../base/errors.ts';
import type { KernelTunables } from '../../ports/node-settings.ts';
import { fromErrno } from '../linux-errors.ts';

/** Reads and writes settings below /proc/sys. */
export function linuxKernelTunables(folder = '/proc/sys'): KernelTunables {
  return {
    async read(name) {
      try {
        const value = Number((await readFile(`${folder}/${name}`, 'utf8')).trim());
        if (Number.isSafeInteger(value)) return value;
      } catch (error) {
        throw fromErrno(error, 'read', `${folder}/${name}`);
      }
      throw new KubeletError('Internal', `read ${folder}/${name}: not a number`, { op: 'read' });
    },
    async write(name, value) {
      try {
        // Only an existing file is written, because in another folder a missing setting would be created.
        await writeFile(`${folder}/${name}`, String(value), { flag: 'r+' });
      } catch (error) {
        throw fromErrno(error, `write ${value} to`, `${folder}/${name}`);
      }
    },
  };
}
