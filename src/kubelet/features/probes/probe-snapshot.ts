import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';

/** Verdicts as they are kept across a restart of the agent, by container. */
export interface ProbeSnapshot {
  version: 1;
  verdicts: readonly { id: string; type: ProbeType; verdict: ProbeVerdict }[];
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

/** Reads whatever was found on the disk; entries that make no sense are left out. */
export function parseProbeSnapshot(value: unknown): Map<string, ProbeVerdict> {
  const found = new Map<string, ProbeVerdict>();
  const list: unknown = typeof value === 'object' && value !== null && 'version' in value && value.version === 1 && 'verdicts' in value ? value.verdicts : [];
  for (const entry of Array.isArray(list) ? (list as unknown[]) : []) {
    if (typeof entry !== 'object' || entry === null) continue;
    const { id, type, verdict } = entry as Record<string, unknown>;
    if (typeof id === 'string' && types.includes(type) && verdicts.includes(verdict)) found.set(verdictKey(type as ProbeType, id), verdict as ProbeVerdict);
  }
  return found;
}
