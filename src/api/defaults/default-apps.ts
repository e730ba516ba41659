import { copyJson } from '../../base/copy-json.ts';
import type { DaemonSet } from '../apps/daemon-set.ts';
import type { Deployment } from '../apps/deployment.ts';
import type { ReplicaSet } from '../apps/replica-set.ts';
import type { PodTemplateSpec } from '../core/pod-template.ts';
import { defaultPodSpecInPlace } from './default-pod.ts';

/**
 * A copy with the defaults for a template. They are fewer than a pod's: for example, requests that follow from limits
 * are set in the pods.
 */
export function defaultPodTemplate(template: PodTemplateSpec): PodTemplateSpec {
  const spec = copyJson(template.spec);
  defaultPodSpecInPlace(spec);
  return { ...template, spec };
}

/** A copy with the defaults that the API server sets (upstream: apps/v1/defaults.go). */
export function defaultDeployment(deployment: Deployment): Deployment {
  const { spec } = deployment;
  const { type: given, rollingUpdate } = spec.strategy ?? {};
  const type = given || 'RollingUpdate';
  return {
    ...deployment,
    spec: {
      ...spec,
      replicas: spec.replicas ?? 1,
      template: defaultPodTemplate(spec.template),
      strategy:
        type === 'RollingUpdate'
          ? {
              type,
              rollingUpdate: {
                ...rollingUpdate,
                maxUnavailable: rollingUpdate?.maxUnavailable ?? '25%',
                maxSurge: rollingUpdate?.maxSurge ?? '25%',
              },
            }
          : { ...spec.strategy, type },
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
      progressDeadlineSeconds: spec.progressDeadlineSeconds ?? 600,
    },
  };
}

/** A copy with the defaults that the API server sets. */
export function defaultReplicaSet(set: ReplicaSet): ReplicaSet {
  return {
    ...set,
    spec: { ...set.spec, replicas: set.spec.replicas ?? 1, template: defaultPodTemplate(set.spec.template) },
  };
}

/** A copy with the defaults that the API server sets. */
export function defaultDaemonSet(set: DaemonSet): DaemonSet {
  const { spec } = set;
  const { type: given, rollingUpdate } = spec.updateStrategy ?? {};
  const type = given || 'RollingUpdate';
  return {
    ...set,
    spec: {
      ...spec,
      template: defaultPodTemplate(spec.template),
      updateStrategy:
        type === 'RollingUpdate'
          ? {
              type,
              rollingUpdate: {
                ...rollingUpdate,
                maxUnavailable: rollingUpdate?.maxUnavailable ?? 1,
                maxSurge: rollingUpdate?.maxSurge ?? 0,
              },
            }
          : { ...spec.updateStrategy, type },
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
    },
  };
}
