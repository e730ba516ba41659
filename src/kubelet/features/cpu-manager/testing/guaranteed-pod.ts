import type { Pod } from '../../../../api/core/pod.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';

export interface ContainerCpus {
  readonly cpu: string;
  readonly kind?: 'init' | 'sidecar';
}

/** Builds a pod whose containers request and limit these CPUs. The names are `c0`, `c1` ... */
export function guaranteedPod(
  uid: string,
  containers: readonly ContainerCpus[],
  more: Record<string, unknown> = {},
): Pod {
  const made = containers.map(({ cpu, kind }, index) => ({
    kind,
    value: {
      name: `c${index}`,
      image: 'x',
      ...(kind === 'sidecar' ? { restartPolicy: 'Always' } : {}),
      resources: { requests: { cpu, memory: '1Mi' }, limits: { cpu, memory: '1Mi' } },
    },
  }));
  const of = (isInit: boolean) => made.filter(({ kind }) => (kind !== undefined) === isInit).map(({ value }) => value);
  return buildPod({
    'metadata.uid': uid,
    'metadata.name': uid,
    'spec.initContainers': of(true).length === 0 ? undefined : of(true),
    'spec.containers': of(false),
    ...more,
  });
}
