import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';

/** The newest result of one probe of a container. `unknown` is the initial one. */
export interface SavedVerdict {
  readonly id: string;
  readonly type: ProbeType;
  readonly verdict: ProbeVerdict;
}

/** An entry of the saved state. If there are several entries for the same probe, the last one is used. */
export type ProbeEntry =
  | SavedVerdict
  | { /** Of containers that started later, every verdict is here (wall ms). */ completeSinceMs: number };

export interface RememberedProbes {
  readonly verdicts: Map<string, ProbeVerdict>;
  completeSinceMs: number;
}

export function verdictKey(type: ProbeType, id: string): string {
  return `${type} ${id}`;
}

export function splitVerdictKey(key: string): { type: ProbeType; id: string } {
  const [type, id] = key.split(' ') as [ProbeType, string];
  return { type, id };
}

const types: readonly unknown[] = ['liveness', 'readiness', 'startup'] satisfies ProbeType[];
const verdicts: readonly unknown[] = ['success', 'failure'] satisfies ProbeVerdict[];

/** Parses the entries of the file. Invalid ones are skipped. */
export function parseProbeEntries(entries: readonly unknown[]): RememberedProbes {
  const found: RememberedProbes = { verdicts: new Map(), completeSinceMs: Number.POSITIVE_INFINITY };
  for (const entry of entries) {
    if (typeof entry !== 'object' || entry === null) continue;
    const { id, type, verdict, completeSinceMs } = entry as Record<string, unknown>;
    if (typeof completeSinceMs === 'number') found.completeSinceMs = completeSinceMs;
    if (typeof id === 'string' && types.includes(type) && verdicts.includes(verdict))
      found.verdicts.set(verdictKey(type as ProbeType, id), verdict as ProbeVerdict);
  }
  return found;
}
