/** Labels by which the shim finds its containers. The first four are cri-dockerd's, so that its tools can read ours. */
export const labelKeys = {
  type: 'io.kubernetes.docker.type',
  sandboxId: 'io.kubernetes.sandbox.id',
  logPath: 'io.kubernetes.container.logpath',
  annotation: 'annotation.',
  /**
   * Nanoseconds since the Unix epoch. Docker's lists have whole seconds, which is too coarse to order quick restarts.
   */
  createdAt: 'io.kubernetes.docker.created-at',
  runtimeHandler: 'io.kubernetes.docker.runtime-handler',
  /** The image as the pod names it; Docker only stores the id that the container was created from. */
  image: 'io.kubernetes.docker.image',
} as const;

export type ContainerType = 'podsandbox' | 'container';

type Text = Readonly<Record<string, string>>;

const ours: ReadonlySet<string> = new Set(Object.values(labelKeys).filter((key) => key !== labelKeys.annotation));

/** Docker has labels but no annotations: annotations are stored as labels with a prefix. */
export function writeLabels(labels: Text, annotations: Text, own: Text): Record<string, string> {
  return {
    ...labels,
    ...Object.fromEntries(Object.entries(annotations).map(([key, value]) => [labelKeys.annotation + key, value])),
    ...own,
  };
}

/** The labels and annotations of the CRI object, without those of the shim. */
export function readLabels(written: Text): {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
} {
  const entries = Object.entries(written).filter(([key]) => !ours.has(key));
  const isAnnotation = (key: string): boolean => key.startsWith(labelKeys.annotation);
  return {
    labels: Object.fromEntries(entries.filter(([key]) => !isAnnotation(key))),
    annotations: Object.fromEntries(
      entries
        .filter(([key]) => isAnnotation(key))
        .map(([key, value]) => [key.slice(labelKeys.annotation.length), value]),
    ),
  };
}

/** Docker's filter for containers of one type, and of the selector's labels. */
export function labelFilter(type: ContainerType, selector: Text, more: Text = {}): string[] {
  return Object.entries({ ...selector, ...more, [labelKeys.type]: type }).map(([key, value]) => `${key}=${value}`);
}
