import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/** A state file that the agent reads when it starts. */
export interface StateSource {
  readonly path: string;
  readonly files: HostFiles;
  readonly log: Logger;
}

/** Reads the text of a state file; undefined if there is none or it cannot be read. */
export async function readStateText({ path, files, log }: StateSource): Promise<string | undefined> {
  try {
    return await files.readText(path);
  } catch (error) {
    if (!isKind(error, 'NotFound'))
      log.error('state file cannot be read, continuing without it', { path, error: errorMessage(error) });
    return undefined;
  }
}

/** Renames a corrupt state file, so that the next write does not replace its remaining content. */
export async function setCorruptAside({ path, files, log }: StateSource): Promise<void> {
  const movedTo = `${path}.corrupt`;
  log.error('state file is corrupt; it was set aside and its content is rebuilt from the runtime', { path, movedTo });
  await files
    .rename(path, movedTo)
    .catch((error: unknown) =>
      log.error('corrupt state file could not be set aside', { path, error: errorMessage(error) }),
    );
}
