/** Numbers of CPUs, as the kernel counts them. The set is immutable. */
export type CpuSet = ReadonlySet<number>;

export const noCpus: CpuSet = new Set();

/**
 * Parses a list such as `0-3,8`. The result is sorted; undefined if the text is not a list (upstream:
 * k8s.io/utils/cpuset).
 */
export function parseCpuSet(text: string): number[] | undefined {
  if (text === '') return [];
  const cpus = new Set<number>();
  for (const range of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range.trim());
    if (match === null) return undefined;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (last < first || last > 65535) return undefined;
    for (let cpu = first; cpu <= last; cpu += 1) cpus.add(cpu);
  }
  return sortedCpus(cpus);
}

export function sortedCpus(cpus: Iterable<number>): number[] {
  return [...cpus].sort((left, right) => left - right);
}

/** Formats CPUs as the kernel and upstream do: `0-3,8`. */
export function formatCpuSet(cpus: Iterable<number>): string {
  const ranges: [number, number][] = [];
  for (const cpu of sortedCpus(cpus)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === cpu - 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

export function sameCpus(left: CpuSet, right: CpuSet): boolean {
  return left.size === right.size && left.isSubsetOf(right);
}
