import type { ContainerStateTerminated, ContainerStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodExplanation } from '../../model/explanation.ts';

/** Rows as left-aligned columns, kubectl's way. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('   ')}\n`,
    )
    .join('');
}

/** What kubectl prints in its STATUS column: the most telling reason, not the bare phase (upstream: printers/internalversion printPod). */
export function statusWord(pod: Pod): string {
  const { phase = 'Pending', reason } = pod.status ?? {};
  if (pod.metadata.deletionTimestamp !== undefined && phase !== 'Succeeded' && phase !== 'Failed') return 'Terminating';
  return initWord(pod) ?? containersWord(pod) ?? reason ?? phase;
}

/** The first init container that holds the rest up; undefined when none does. */
function initWord(pod: Pod): string | undefined {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const isInitialized =
    pod.status?.conditions?.some((condition) => condition.type === 'Initialized' && condition.status === 'True') ===
    true;
  for (const [index, status] of statuses.entries()) {
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0 || (isSidecar(pod, status.name) && status.started === true)) continue;
    if (isInitialized) return undefined;
    if (terminated !== undefined) return `Init:${endWord(terminated)}`;
    if (waiting?.reason !== undefined && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${index}/${pod.spec.initContainers?.length ?? 0}`;
  }
  return undefined;
}

/** The reason of the first container that has one; a pod with some containers completed and others ready counts as running. */
function containersWord(pod: Pod): string | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  const [word] = statuses.flatMap(
    ({ state }) => state?.waiting?.reason ?? (state?.terminated === undefined ? [] : endWord(state.terminated)),
  );
  if (word !== 'Completed' || !statuses.some((status) => status.ready && status.state?.running !== undefined))
    return word;
  const isReady =
    pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
  return isReady ? 'Running' : 'NotReady';
}

function endWord({ reason, signal, exitCode }: ContainerStateTerminated): string {
  if (reason !== undefined && reason !== '') return reason;
  return signal === undefined || signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function isSidecar(pod: Pod, name: string): boolean {
  return (pod.spec.initContainers ?? []).some(
    (container) => container.name === name && container.restartPolicy === 'Always',
  );
}

export function readyCount(pod: Pod): string {
  const sidecars = new Set(
    (pod.spec.initContainers ?? [])
      .filter((container) => container.restartPolicy === 'Always')
      .map((container) => container.name),
  );
  const counted: ContainerStatus[] = [
    ...(pod.status?.initContainerStatuses ?? []).filter((container) => sidecars.has(container.name)),
    ...(pod.status?.containerStatuses ?? []),
  ];
  return `${counted.filter((container) => container.ready).length}/${pod.spec.containers.length + sidecars.size}`;
}

/** From which count of a unit on it stands alone; below that the next smaller unit is named too (upstream: apimachinery duration.HumanDuration). */
const AGES: readonly { seconds: number; unit: string; from: number; aloneFrom: number }[] = [
  { seconds: 365 * 86_400, unit: 'y', from: 2, aloneFrom: 8 },
  { seconds: 86_400, unit: 'd', from: 2, aloneFrom: 8 },
  { seconds: 3600, unit: 'h', from: 3, aloneFrom: 8 },
  { seconds: 60, unit: 'm', from: 2, aloneFrom: 10 },
  { seconds: 1, unit: 's', from: 0, aloneFrom: 0 },
];

/** `119s`, `3m12s`, `4h7m`, `2d3h`, as kubectl writes ages. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const index = AGES.findIndex((each) => seconds >= each.from * each.seconds);
  const { seconds: size, unit, aloneFrom } = AGES[index] as (typeof AGES)[number];
  const whole = Math.floor(seconds / size);
  const next = AGES[index + 1];
  const rest = next === undefined || whole >= aloneFrom ? 0 : Math.floor((seconds % size) / next.seconds);
  return `${whole}${unit}${rest === 0 ? '' : `${rest}${next?.unit}`}`;
}

export function podTable(pods: readonly Pod[], nowMs: number): string {
  const rows = pods.map((pod) => {
    const restarts = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].reduce(
      (sum, container) => sum + container.restartCount,
      0,
    );
    const started = pod.status?.startTime;
    return [
      pod.metadata.namespace ?? '',
      pod.metadata.name ?? '',
      readyCount(pod),
      statusWord(pod),
      String(restarts),
      started === undefined ? '' : age(nowMs - Date.parse(started)),
      pod.status?.podIP ?? '',
    ];
  });
  return table([['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP'], ...rows]);
}

/** The explanation of one pod for people: verdict, what holds it up, and the record below. */
export function explanationText(explanation: PodExplanation, nowMs: number, withTimeline: boolean): string {
  const lines = [
    `${explanation.namespace}/${explanation.name}: ${explanation.phase}, ${explanation.settled ? 'settled' : 'not settled'}`,
  ];
  for (const blocker of explanation.blockers) {
    lines.push(
      `  blocked on   ${blocker.step}`,
      `    because    ${blocker.cause}`,
      `    since      ${age(nowMs - blocker.sinceMs)} ago`,
    );
    if (blocker.lastError !== undefined) lines.push(`    last error ${oneLine(blocker.lastError)}`);
    if (blocker.nextTryAtMs !== undefined) lines.push(`    next try   ${nextTry(blocker.nextTryAtMs - nowMs)}`);
  }
  for (const cure of explanation.cures) lines.push(`  to do        ${cure}`);
  if (withTimeline && explanation.timeline.length > 0) {
    lines.push('  timeline');
    for (const entry of explanation.timeline) {
      const times = entry.count > 1 ? ` (x${entry.count})` : '';
      lines.push(
        `    ${age(nowMs - entry.atMs).padStart(6)} ago  ${entry.type === 'Warning' ? '!' : ' '} ${entry.reason}: ${oneLine(entry.message)}${times}`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

/** What programs say often ends in a line break or has several; here a line is one thing. */
function oneLine(text: string): string {
  return text.trim().replace(/\s*[\r\n]+\s*/g, ' | ');
}

function nextTry(inMs: number): string {
  return inMs <= 0 ? 'now' : `in ${age(inMs + 999)}`;
}
