import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { said, VOLUME_DATA_FILE } from './csi-names.ts';

/**
 * The data file in a volume's folder, which is read after a restart. It has upstream's fields, all of them strings, so
 * that either agent can read the other's file. `capacityBytes` is only this agent's: the last known size of the volume.
 */
export interface VolumeData {
  readonly specVolID?: string;
  readonly volumeHandle: string;
  readonly driverName: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: string;
  readonly capacityBytes?: string;
}

const LIMIT_BYTES = 64 * 1024;
const FILE_MODE = 0o644;

export async function writeVolumeData(files: HostFiles, folder: string, data: VolumeData): Promise<void> {
  try {
    await files.writeFileAtomic(`${folder}/${VOLUME_DATA_FILE}`, `${JSON.stringify(data)}\n`, FILE_MODE);
  } catch (error) {
    throw new KubeletError(
      'Unavailable',
      said(`failed to save volume data file ${folder}/${VOLUME_DATA_FILE}: ${errorMessage(error)}`),
      { cause: error },
    );
  }
}

/** Reads the data file; undefined if there is none, or if it names no volume. */
export async function readVolumeData(files: HostFiles, folder: string): Promise<VolumeData | undefined> {
  try {
    const read: unknown = JSON.parse(await files.readText(`${folder}/${VOLUME_DATA_FILE}`, LIMIT_BYTES));
    return isVolumeData(read) ? read : undefined;
  } catch (error) {
    if (isKind(error, 'NotFound') || isKind(error, 'Invalid') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isVolumeData(value: unknown): value is VolumeData {
  if (typeof value !== 'object' || value === null) return false;
  const fields = Object.entries(value);
  return (
    fields.every(([, field]) => typeof field === 'string') &&
    ['volumeHandle', 'driverName'].every((name) => fields.some(([key, field]) => key === name && field !== ''))
  );
}
