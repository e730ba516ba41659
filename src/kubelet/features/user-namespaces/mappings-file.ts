/**
 * The file `pods/<uid>/userns` in the format of upstream's kubelet, so that either agent can replace the other on a
 * node.
 */
import { KubeletError } from '../../../base/errors.ts';
import type { IdRange } from './id-pool.ts';

export const MAPPINGS_FILE_NAME = 'userns';

export function encodeMappings({ hostId, length }: IdRange): string {
  const mappings = [{ hostId, containerId: 0, length }];
  return JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
}

/**
 * Parses the file. Throws `Invalid` with upstream's message for an invalid one (userns_manager.go
 * parseUserNsFileAndRecord).
 */
export function parseMappings(text: string): IdRange {
  const { uidMappings: uids, gidMappings: gids } = fieldsOf(text);
  if (uids.length !== 1) refuse('invalid user namespace configuration: no more than one mapping allowed.');
  if (gids.length !== uids.length)
    refuse('invalid user namespace configuration: GID and UID mappings should be identical.');
  const [uid] = uids;
  const [gid] = gids;
  if (
    uid === undefined ||
    gid === undefined ||
    uid.hostId !== gid.hostId ||
    uid.containerId !== gid.containerId ||
    uid.length !== gid.length
  )
    return refuse('invalid user namespace configuration: GID and UID mapping should be identical');
  if (uid.containerId !== 0) refuse('invalid user namespace configuration: UID 0 must be mapped');
  return { hostId: uid.hostId, length: uid.length };
}

interface Mapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

function fieldsOf(text: string): { uidMappings: Mapping[]; gidMappings: Mapping[] } {
  try {
    const { uidMappings, gidMappings } = JSON.parse(text) as { uidMappings?: unknown; gidMappings?: unknown };
    return { uidMappings: mappingsOf(uidMappings), gidMappings: mappingsOf(gidMappings) };
  } catch (error) {
    throw new KubeletError(
      'Invalid',
      `invalid user namespace mappings file: ${error instanceof Error ? error.message : String(error)}`,
      { op: 'read user namespace' },
    );
  }
}

function mappingsOf(value: unknown): Mapping[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('mappings are not a list');
  return value.map((item: Readonly<Record<string, unknown>> | null) => {
    const id = (name: string): number => {
      const number = item?.[name] ?? 0;
      if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number >= 2 ** 32)
        throw new Error(`${name} is not an id`);
      return number;
    };
    return { hostId: id('hostId'), containerId: id('containerId'), length: id('length') };
  });
}

function refuse(why: string): never {
  throw new KubeletError('Invalid', why, { op: 'read user namespace' });
}
