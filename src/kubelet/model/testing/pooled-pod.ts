import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';

export interface PooledContainer {
  readonly kind?: 'init' | 'sidecar' | undefined;
  /** The requests of the container, which equal its limits; without them, it shares the pod's resources. */
  readonly own?: { readonly cpu: string; readonly memory: string } | undefined;
}

/** Builds a Guaranteed pod with pod-level resources. Its containers are named `c0`, `c1` ... */
export function pooledPod(
  uid: string,
  amounts: Readonly<Record<string, string>>,
  containers: readonly PooledContainer[],
): Pod {
  const made = containers.map(({ kind, own }, index) => ({
    isInit: kind !== undefined,
    value: {
      name: `c${index}`,
      image: 'x',
      ...(kind === 'sidecar' ? { restartPolicy: 'Always' } : {}),
      ...(own === undefined ? {} : { resources: { requests: own, limits: own } }),
    },
  }));
  const of = (isInit: boolean) => made.filter((one) => one.isInit === isInit).map(({ value }) => value);
  return buildPod({
    'metadata.uid': uid,
    'metadata.name': uid,
    'spec.resources': { requests: amounts, limits: amounts },
    'spec.initContainers': of(true).length === 0 ? undefined : of(true),
    'spec.containers': of(false),
  });
}
