import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import { hostnameWarnings } from './template-columns.ts';

export function templateWarnings(object: Deployment | ReplicaSet, old: Deployment | ReplicaSet | undefined): string[] {
  if (old === undefined)
    return [...hostnameWarnings(object), ...podTemplateWarnings('spec.template', object.spec.template)];
  return object.metadata.generation === old.metadata.generation
    ? []
    : podTemplateWarnings('spec.template', object.spec.template);
}
