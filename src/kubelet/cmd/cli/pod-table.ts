import type { Pod } from '../../../api/core/pod.ts';
import { age } from '../../../api/explanation/age.ts';
import { readyCount, startOfAgeMs, statusWord } from '../../../api/pod-summary.ts';

/** Formats rows as left-aligned columns, as kubectl does. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('   ')}\n`,
    )
    .join('');
}

export function podTable(pods: readonly Pod[], nowMs: number): string {
  const rows = pods.map((pod) => {
    const restarts = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].reduce(
      (sum, container) => sum + container.restartCount,
      0,
    );
    const startMs = startOfAgeMs(pod);
    return [
      pod.metadata.namespace ?? '',
      pod.metadata.name ?? '',
      readyCount(pod),
      statusWord(pod),
      String(restarts),
      Number.isNaN(startMs) ? '' : age(nowMs - startMs),
      pod.status?.podIP ?? '',
    ];
  });
  return table([['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP'], ...rows]);
}
