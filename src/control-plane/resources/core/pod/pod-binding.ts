import type { Binding } from '../../../../api/core/binding.ts';
import { BindingSchema } from '../../../../api/core/binding.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { badRequest, conflict, invalid } from '../../../../api/status/api-status-error.ts';
import type { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import type { Status } from '../../../../api/status/status.ts';
import { FieldErrors } from '../../../../api/validation/field-error.ts';
import type { SubresourceAction } from '../../../model/resource-definition.ts';
import { withPodCondition } from './pod-rules.ts';

export const success: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/** POST of a Binding, the only way to set the node of an existing pod. Upstream: BindingREST. */
export const podBinding: SubresourceAction<Pod> = {
  name: 'binding',
  kind: { group: '', version: 'v1', kind: 'Binding' },
  schema: BindingSchema,
  perform: async (access, body) => {
    // Decoded by the schema above.
    const binding = body as Binding;
    if (binding.metadata.name !== access.name) throw badRequest('name in URL does not match name in Binding object');
    validateBinding(binding);
    await access.update((pod) => bindPod(pod, binding, access.nowMs));
    return success;
  },
};

function validateBinding({ metadata, target }: Binding): void {
  const errors = new FieldErrors();
  if (target.kind && target.kind !== 'Node') errors.notSupported('target.kind', target.kind, ['Node', '<empty>']);
  if (!target.name) errors.required('target.name');
  if (errors.list.length > 0) throw invalid({ group: '', kind: 'Binding' }, metadata.name, errors.list);
}

/** The bound pod; throws Conflict if it has a node, is being deleted, or has scheduling gates. */
function bindPod(pod: Pod, { metadata, target }: Binding, nowMs: number): Pod {
  const { name } = pod.metadata;
  checkPrecondition(pod, 'UID', metadata.uid, pod.metadata.uid);
  checkPrecondition(pod, 'ResourceVersion', metadata.resourceVersion ?? '', pod.metadata.resourceVersion ?? '');
  if (pod.metadata.deletionTimestamp !== undefined)
    throw refusal(name, `pod ${name} is being deleted, cannot be assigned to a host`);
  if (pod.spec.nodeName)
    throw refusal(name, `pod ${name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
  if ((pod.spec.schedulingGates ?? []).length > 0)
    throw refusal(name, `pod ${name} has non-empty .spec.schedulingGates`);
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  const { annotations = {}, labels = {} } = metadata;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(Object.keys(annotations).length > 0 && { annotations: { ...pod.metadata.annotations, ...annotations } }),
      ...(Object.keys(labels).length > 0 && { labels: { ...pod.metadata.labels, ...labels } }),
    },
    spec: { ...pod.spec, nodeName: target.name ?? '' },
    status: withPodCondition(status, { type: 'PodScheduled', status: 'True' }, nowMs),
  };
}

function checkPrecondition(pod: Pod, what: 'UID' | 'ResourceVersion', wanted: string, actual: string): void {
  if (wanted === '' || wanted === actual) return;
  throw conflict(
    { group: '', plural: 'pods' },
    pod.metadata.name,
    `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`,
  );
}

const refusal = (name: string, why: string): ApiStatusError =>
  conflict({ group: '', plural: 'pods/binding' }, name, why);
