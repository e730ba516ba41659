import { isKind } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { StagedVolume } from '../../../ports/volume-plugin.ts';

const NOTE_MODE = 0o600;
const NOTE_LIMIT_BYTES = 64 * 1024;

/** Records what is staged, for the next agent. The folder must exist. */
export const writeStaged = (files: HostFiles, path: string, staged: StagedVolume): Promise<void> =>
  files.writeFileAtomic(path, JSON.stringify(staged), NOTE_MODE);

/** Reads the note. Returns undefined if there is none, or if it is damaged. */
export async function readStaged(files: HostFiles, path: string): Promise<StagedVolume | undefined> {
  try {
    const value: unknown = JSON.parse(await files.readText(path, NOTE_LIMIT_BYTES));
    return isStaged(value) ? value : undefined;
  } catch (error) {
    if (isKind(error, 'NotFound') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isStaged(value: unknown): value is StagedVolume {
  const { key, path, context } = (value ?? {}) as Partial<Record<keyof StagedVolume, unknown>>;
  return typeof key === 'string' && typeof path === 'string' && typeof context === 'object' && context !== null;
}
