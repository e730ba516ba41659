import type { EvictionSignal } from './signals.ts';
import { signalFacts } from './signals.ts';

/**
 * The location of images and writable layers. `shared`: on the file system of the root directory. `dedicated`: both on
 * a separate one. `split`: images on a separate one, layers on that of the root directory.
 */
export type DiskLayout = 'shared' | 'dedicated' | 'split';

/** The parts of a pod's disk usage that are on the file system of a signal. */
export interface DiskParts {
  readonly layers: boolean;
  readonly logs: boolean;
  readonly volumes: boolean;
}

const all: DiskParts = { layers: true, logs: true, volumes: true };
const none: DiskParts = { layers: false, logs: false, volumes: false };

/** Returns the parts that count for a signal (upstream: helpers.go buildSignalToRankFunc). */
export function diskPartsOf(signal: EvictionSignal, layout: DiskLayout): DiskParts {
  const { source } = signalFacts[signal];
  if (layout === 'shared') return all;
  if (layout === 'split') return source === 'imagefs' ? none : all;
  return source === 'nodefs' ? { layers: false, logs: true, volumes: true } : { ...none, layers: true };
}

/** What the node can remove without evicting a pod: ended containers, unused images. */
export interface NodeReclaim {
  readonly containers: boolean;
  readonly images: boolean;
}

/**
 * Returns what the node can remove for a signal (upstream: helpers.go buildSignalToNodeReclaimFuncs). Memory and
 * processes are freed only by evicting pods.
 */
export function nodeReclaimOf(signal: EvictionSignal, layout: DiskLayout): NodeReclaim {
  const { source } = signalFacts[signal];
  if (source === 'memory' || source === 'pids') return { containers: false, images: false };
  if (layout === 'shared') return { containers: true, images: true };
  if (layout === 'split') return { containers: source !== 'imagefs', images: source === 'imagefs' };
  return source === 'nodefs' ? { containers: false, images: false } : { containers: true, images: true };
}
