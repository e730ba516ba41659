/** The output while the pods start. Pure: pods and explanations in, lines of text out. */

/** The parts of a v1 Pod that are shown. */
export interface PodView {
  readonly metadata: { name: string; namespace?: string };
  readonly status?: {
    phase?: string;
    podIP?: string;
    conditions?: readonly { type: string; status: string; reason?: string }[];
    initContainerStatuses?: readonly ContainerView[];
    containerStatuses?: readonly ContainerView[];
  };
}

export interface ContainerView {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: {
    waiting?: { reason?: string; message?: string };
    running?: object;
    terminated?: { reason?: string; exitCode?: number };
  };
}

/** The parts of an explanation (kubelet/model/explanation.ts) that are shown. */
export interface CauseView {
  readonly name: string;
  readonly settled?: boolean;
  readonly blockers?: readonly { step?: string; cause?: string; lastError?: string }[];
}

export interface ProgressRow {
  readonly name: string;
  readonly settled: boolean;
  /** As `kubectl get pods` would print them. */
  readonly ready: string;
  readonly state: string;
  readonly ip: string;
  readonly restarts: number;
  /** The agent's reason why it is not ready; empty when it is. */
  readonly why: string;
}

/** Longer causes are for `kubelet explain`: a table that wraps cannot be redrawn. */
const MAX_CAUSE_LENGTH = 90;
const NOT_SEEN = 'not seen yet';

/**
 * One row per expected pod, in order. A static pod's name is the manifest's with `-node` appended. Other pods are left
 * out.
 */
export function computeRows(
  expected: readonly string[],
  pods: readonly PodView[],
  causes: readonly CauseView[] = [],
): ProgressRow[] {
  return expected.map((name) => {
    const pod =
      pods.find((candidate) => candidate.metadata.name === name) ??
      pods.find((candidate) => candidate.metadata.name.startsWith(`${name}-`));
    if (pod === undefined) return { name, settled: false, ready: '-', state: NOT_SEEN, ip: '', restarts: 0, why: '' };
    const containers = pod.status?.containerStatuses ?? [];
    const all = [...(pod.status?.initContainerStatuses ?? []), ...containers];
    const isReady =
      pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
    const phase = pod.status?.phase ?? 'Pending';
    const settled = isReady || phase === 'Succeeded';
    const blocker = settled ? undefined : causes.find((cause) => cause.name === pod.metadata.name)?.blockers?.[0];
    return {
      name,
      settled,
      ready: `${containers.filter((container) => container.ready === true).length}/${containers.length}`,
      state: isReady ? 'Ready' : (waitingReason(all) ?? phase),
      ip: pod.status?.podIP ?? '',
      restarts: all.reduce((total, container) => total + (container.restartCount ?? 0), 0),
      why: shortened((blocker?.lastError ?? blocker?.cause ?? '').split('\n')[0] ?? ''),
    };
  });
}

/** The reason of a waiting or failed container. It replaces the pod's phase, which is only Pending. */
function waitingReason(containers: readonly ContainerView[]): string | undefined {
  for (const { state } of containers) {
    if (state?.waiting?.reason !== undefined && state.waiting.reason !== 'PodInitializing') return state.waiting.reason;
    if (state?.terminated !== undefined && state.terminated.exitCode !== 0) return state.terminated.reason ?? 'Error';
  }
  return undefined;
}

export function allSettled(rows: readonly ProgressRow[]): boolean {
  return rows.every((row) => row.settled);
}

/** Columns padded to the widest entry. */
export function renderTable(rows: readonly ProgressRow[]): string[] {
  const cells = [
    ['POD', 'READY', 'STATE', 'RESTARTS', 'IP', 'WHY'],
    ...rows.map((row) => [row.name, row.ready, row.state, String(row.restarts), row.ip, row.why]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  return cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** For output that cannot be redrawn: one line for each row that changed. */
export function renderChanges(before: readonly ProgressRow[], after: readonly ProgressRow[]): string[] {
  return after.flatMap((row) => {
    if (row.state === NOT_SEEN) return [];
    const old = before.find((candidate) => candidate.name === row.name);
    if (
      old !== undefined &&
      old.state === row.state &&
      old.ready === row.ready &&
      old.restarts === row.restarts &&
      old.why === row.why
    )
      return [];
    return [
      `${row.name}: ${row.state}, ${row.ready} ready${row.restarts > 0 ? `, ${row.restarts} restarts` : ''}${row.ip === '' ? '' : `, ${row.ip}`}${row.why === '' ? '' : ` (${row.why})`}`,
    ];
  });
}

/** The names of the Pods in a folder's parsed documents. */
export function podNames(documents: readonly unknown[]): string[] {
  return documents.flatMap((document) => {
    if (typeof document !== 'object' || document === null) return [];
    const { kind, metadata, items } = document as { kind?: unknown; metadata?: { name?: unknown }; items?: unknown };
    if (Array.isArray(items)) return podNames(items);
    return kind === 'Pod' && typeof metadata?.name === 'string' ? [metadata.name] : [];
  });
}

function shortened(cause: string): string {
  return cause.length <= MAX_CAUSE_LENGTH ? cause : `${cause.slice(0, MAX_CAUSE_LENGTH - 1)}…`;
}
