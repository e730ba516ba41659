import type { ProbeManagerOptions } from './probe-manager.ts';
import { ProbeManager } from './probe-manager.ts';

export interface CreateProbesParts extends Omit<ProbeManagerOptions, 'onSnapshotChange'> {
  /** The results that an earlier run saved. */
  readonly saved: Parameters<ProbeManager['restore']>[0];
  /** Saves the results from now on. Returns a function that must be called with each change. */
  readonly keep: (snapshot: () => readonly unknown[]) => (change: unknown) => void;
}

/** Creates the probes of this node. Their results survive a restart of the agent. */
export function createProbes({ saved, keep, ...options }: CreateProbesParts): ProbeManager {
  const probes: ProbeManager = new ProbeManager({ ...options, onSnapshotChange: (change) => save(change) });
  const save = keep(() => probes.snapshot());
  probes.restore(saved);
  return probes;
}
