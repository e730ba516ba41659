import { Buffer } from 'node:buffer';
import type { FileKeySelector } from '../../../../api/core/container.ts';
import { goQuote } from '../../../../api/go-quote.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { errorMessage, isKind } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { PodVolumes } from '../../../model/pod-volumes.ts';
import type { HostFiles } from '../../../ports/host-files.ts';

/** The maximum size of a file of variables, which is read into memory as a whole. Upstream has no limit. */
const LARGEST_BYTES = 1024 * 1024;

export type EnvFile =
  | { kind: 'no volume' }
  | { kind: 'unreadable'; why: string }
  | { kind: 'text'; hostPath: string; text: string };

/** The files that a container takes variables from. */
export class EnvFiles {
  readonly #files: ReadonlyMap<string, EnvFile>;

  constructor(files: ReadonlyMap<string, EnvFile> = new Map()) {
    this.#files = files;
  }

  get(volumeName: string, path: string): EnvFile {
    return this.#files.get(keyOf(volumeName, path)) ?? { kind: 'no volume' };
  }
}

const keyOf = (volumeName: string, path: string): string => `${volumeName}/${path}`;

/**
 * Reads the files at each start, because an earlier container may have written them. The volume belongs to the pod, so
 * nothing in it is trusted.
 */
export async function loadEnvFiles(
  container: AnyContainer,
  volumes: PodVolumes,
  { files, log }: { files: HostFiles; log: Logger },
): Promise<EnvFiles> {
  const wanted = (container.env ?? [])
    .map(({ valueFrom }) => valueFrom?.fileKeyRef)
    .filter((reference) => reference !== undefined);
  const unique = new Map(wanted.map((reference) => [keyOf(reference.volumeName, reference.path), reference]));
  const read = async ({ volumeName, path }: FileKeySelector): Promise<EnvFile> => {
    const root = volumes.get(volumeName)?.hostPath ?? '';
    if (root === '') return { kind: 'no volume' };
    const hostPath = `${root}/${path
      .split('/')
      .filter((part) => part !== '')
      .join('/')}`;
    try {
      return {
        kind: 'text',
        hostPath,
        text: Buffer.from(await files.readBeneath(root, path, LARGEST_BYTES)).toString('utf8'),
      };
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      log.error('Failed to parse env file', { container: container.name, file: hostPath, error: errorMessage(error) });
      return {
        kind: 'unreadable',
        why: isKind(error, 'NotFound')
          ? `there is no file ${goQuote(path)} in volume ${volumeName}`
          : `${goQuote(path)} in volume ${volumeName} is not a file, or has more than ${LARGEST_BYTES} bytes`,
      };
    }
  };
  return new EnvFiles(
    new Map(await Promise.all([...unique].map(async ([key, reference]) => [key, await read(reference)] as const))),
  );
}
