/** The CPUs of a list such as `0-3,8`, sorted; undefined if the text is not a list. Upstream: k8s.io/utils/cpuset. */
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
  return [...cpus].sort((left, right) => left - right);
}
