import type { PodTemplate } from '../core/pod-template.ts';
import type { ReplicationController } from '../core/replication-controller.ts';
import { defaultPodTemplate } from './default-apps.ts';

const isEmpty = (labels: object | undefined): boolean => Object.keys(labels ?? {}).length === 0;

/** A copy with the defaults that the API server sets (upstream: SetDefaults_ReplicationController). */
export function defaultReplicationController(controller: ReplicationController): ReplicationController {
  const { metadata, spec } = controller;
  const labels = spec.template?.metadata.labels;
  return {
    ...controller,
    metadata: labels !== undefined && isEmpty(metadata.labels) ? { ...metadata, labels } : metadata,
    spec: {
      ...spec,
      replicas: spec.replicas ?? 1,
      ...(labels !== undefined && isEmpty(spec.selector) && { selector: labels }),
      ...(spec.template !== undefined && { template: defaultPodTemplate(spec.template) }),
    },
  };
}

/** A copy with the defaults that the API server sets. */
export function defaultStoredPodTemplate(object: PodTemplate): PodTemplate {
  return { ...object, template: defaultPodTemplate(object.template) };
}
