import type { EvictionSignal } from './signals.ts';
import { signalFacts } from './signals.ts';

/**
 * Where images and writable layers are. `shared`: on the file system of the root directory. `dedicated`: both on one of
 * their own. `split`: images on one of their own, layers on that of the root directory.
 */
export type DiskLayout = 'shared' | 'dedicated' | 'split';

/** What of a pod lies on the file system of a signal. */
export interface DiskParts {
  readonly layers: boolean;
  readonly logs: boolean;
  readonly volumes: boolean;
}

const all: DiskParts = { layers: true, logs: true, volumes: true };
const none: DiskParts = { layers: false, logs: false, volumes: false };

/** Upstream: helpers.go buildSignalToRankFunc. */
export function diskPartsOf(signal: EvictionSignal, layout: DiskLayout): DiskParts {
  const { source } = signalFacts[signal];
  if (layout === 'shared') return all;
  if (layout === 'split') return source === 'imagefs' ? none : all;
  return source === 'nodefs' ? { layers: false, logs: true, volumes: true } : { ...none, layers: true };
}

/** What the node can free without a pod: ended containers, unused images. */
export interface NodeReclaim {
  readonly containers: boolean;
  readonly images: boolean;
}

/** Upstream: helpers.go buildSignalToNodeReclaimFuncs. Memory and processes are freed only by pods. */
export function nodeReclaimOf(signal: EvictionSignal, layout: DiskLayout): NodeReclaim {
  const { source } = signalFacts[signal];
  if (source === 'memory' || source === 'pids') return { containers: false, images: false };
  if (layout === 'shared') return { containers: true, images: true };
  if (layout === 'split') return { containers: source !== 'imagefs', images: source === 'imagefs' };
  return source === 'nodefs' ? { containers: false, images: false } : { containers: true, images: true };
}
