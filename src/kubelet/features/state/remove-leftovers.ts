import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/** What `HostFiles.writeFileAtomic` calls the file that it writes before it replaces the other. */
const temporaryName = /^\..+\.[0-9a-f]{12}\.tmp$/;

/**
 * Removes the unfinished files of an agent that was killed during a write: each kill would leave one more. To be called
 * before anything is written there. A folder that is missing has none; a file that stays is logged.
 */
export async function removeLeftovers(
  folders: readonly string[],
  { files, log }: { readonly files: Pick<HostFiles, 'list' | 'remove'>; readonly log: Logger },
): Promise<void> {
  for (const folder of folders) {
    const names = await files.list(folder).catch(() => []);
    for (const name of names.filter((each) => temporaryName.test(each))) {
      const path = `${folder}/${name}`;
      await files
        .remove(path)
        .catch((error: unknown) =>
          log.warn('an unfinished file of an earlier run stays', { path, error: errorMessage(error) }),
        );
    }
  }
}
