import { basename, dirname } from 'node:path/posix';
import type { Pod } from '../../../../api/core/pod.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { AdmissionStep } from '../admission-step.ts';

export interface HoldUntilFileOptions {
  /** Absolute. */
  readonly path: string;
  readonly files: Pick<HostFiles, 'lstat' | 'watch'>;
  /** Which pods wait; all of them by default. */
  readonly appliesTo?: (pod: Pod) => boolean;
}

const LOOK_AGAIN_MS = 5000;

/**
 * An example of an admission step: pods start when a file exists, such as one that shows that the node's driver is
 * loaded. The file's folder is watched, so a held pod starts within milliseconds of the file; a folder that does not
 * exist yet is checked for again.
 */
export function holdUntilFile({ path, files, appliesTo = () => true }: HoldUntilFileOptions): AdmissionStep {
  return {
    name: `file ${path}`,
    admit: async ({ pod }, signal) => {
      if (!appliesTo(pod)) return { kind: 'admit' };
      // The watch comes before the check, so that a file that appears between them is not missed.
      const watch = watchFor(path, files);
      signal.addEventListener('abort', watch.stop, { once: true });
      if ((await files.lstat(path)) !== undefined) {
        watch.stop();
        return { kind: 'admit' };
      }
      return { kind: 'hold', why: `waits until ${path} is there`, until: watch.changed, retryAfterMs: LOOK_AGAIN_MS };
    },
  };
}

function watchFor(path: string, files: HoldUntilFileOptions['files']): { changed: Promise<void>; stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = files.watch(dirname(path), {
    onChange: (name) => void (name === undefined || name === basename(path) ? resolve() : undefined),
    onLost: () => undefined,
  });
  void promise.then(stop);
  return { changed: promise, stop };
}
