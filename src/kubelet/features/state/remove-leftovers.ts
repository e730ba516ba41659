import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { unfinishedName } from '../../../base/write-file-atomic.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/**
 * Removes the unfinished files of an agent that was killed during a write, because each kill leaves one more. Call it
 * before anything is written to the folder. A missing folder is not an error. A file that cannot be removed is logged.
 */
export async function removeLeftovers(
  folders: readonly string[],
  { files, log }: { readonly files: Pick<HostFiles, 'list' | 'remove'>; readonly log: Logger },
): Promise<void> {
  for (const folder of folders) {
    const names = await files.list(folder).catch(() => []);
    for (const name of names.filter((each) => unfinishedName.test(each))) {
      const path = `${folder}/${name}`;
      await files
        .remove(path)
        .catch((error: unknown) =>
          log.warn('an unfinished file of an earlier run stays', { path, error: errorMessage(error) }),
        );
    }
  }
}
