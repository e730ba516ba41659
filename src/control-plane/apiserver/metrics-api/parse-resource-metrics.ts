/** One reading of the running containers: CPU time since their start, current memory. Times are wall milliseconds. */
export interface UsagePoint {
  atMs: number;
  cpuSeconds: number;
  memoryBytes: number;
  startedAtMs: number | undefined;
}

export interface ContainerPoint extends UsagePoint {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface NodePoints {
  readonly node: UsagePoint | undefined;
  /** The values by `namespace/pod/container`. */
  readonly containers: ReadonlyMap<string, ContainerPoint>;
}

const line =
  /^(node|container)_(cpu_usage_seconds_total|memory_working_set_bytes|start_time_seconds)(?:\{([^}]*)\})? (\S+)(?: (\d+))?$/gm;
const label = /(?<![a-z_])([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/**
 * Parses a kubelet's /metrics/resource. Other families are ignored. Containers without CPU or memory are omitted,
 * because a kubelet may be starting.
 */
export function parseResourceMetrics(text: string, nowMs: number): NodePoints {
  const found = new Map<string, Partial<ContainerPoint>>();
  for (const [, subject, family, labels = '', value, at] of text.matchAll(line)) {
    const {
      namespace = '',
      pod = '',
      container = '',
    } = Object.fromEntries([...labels.matchAll(label)].map(([, name = '', quoted = '']) => [name, quoted])) as Partial<
      Record<string, string>
    >;
    const key = subject === 'node' ? '' : `${namespace}/${pod}/${container}`;
    const point = found.get(key) ?? { namespace, pod, container };
    found.set(key, point);
    const number = Number(value);
    if (!Number.isFinite(number) || number < 0) continue;
    if (family === 'start_time_seconds') point.startedAtMs = number * 1000;
    else if (family === 'memory_working_set_bytes') point.memoryBytes = number;
    else {
      point.cpuSeconds = number;
      point.atMs = at === undefined ? nowMs : Number(at);
    }
  }
  const complete = [...found].flatMap(([key, point]): [string, ContainerPoint][] =>
    point.cpuSeconds === undefined || point.memoryBytes === undefined || point.atMs === undefined
      ? []
      : [[key, { startedAtMs: undefined, ...point } as ContainerPoint]],
  );
  const containers = new Map(complete);
  const node = containers.get('');
  containers.delete('');
  return { node, containers };
}
