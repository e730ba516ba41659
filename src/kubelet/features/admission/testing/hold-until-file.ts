import { basename, dirname } from 'node:path/posix';
import type { Pod } from '../../../../api/core/pod.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { AdmissionStep } from '../admission-step.ts';

export interface HoldUntilFileOptions {
  /** An absolute path. */
  readonly path: string;
  readonly files: Pick<HostFiles, 'lstat' | 'watch'>;
  /** Whether the pod waits for the file; by default all pods do. */
  readonly appliesTo?: (pod: Pod) => boolean;
}

const LOOK_AGAIN_MS = 5000;

/**
 * An example of an admission step: pods start when a file exists, for example a file that a driver of the node creates.
 * The file's folder is watched, so a held pod starts within milliseconds after the file appears. A folder that does not
 * exist yet is checked again at intervals.
 */
export function holdUntilFile({ path, files, appliesTo = () => true }: HoldUntilFileOptions): AdmissionStep {
  return {
    name: `file ${path}`,
    admit: async ({ pod }, signal) => {
      if (!appliesTo(pod)) return { kind: 'admit' };
      // The watch starts before the check, so that it reports a file that appears in between.
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
