import { pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { PodSchema } from '../../../api/core/pod.ts';
import { defaultPod } from '../../../api/defaults/default-pod.ts';
import { podFields } from '../../../api/selectors.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../../../api/validation/names.ts';
import { podWarnings, warningText } from '../../../api/validation/pod/pod-warnings.ts';
import { validatePodStatusUpdate } from '../../../api/validation/pod/validate-pod-status.ts';
import {
  validateEphemeralContainersUpdate,
  validatePodUpdate,
  validateResizeUpdate,
} from '../../../api/validation/pod/validate-pod-update.ts';
import { validatePod } from '../../../api/validation/pod/validate-pod.ts';
import type { SubresourceConnect } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';
import { podBinding } from './pod/pod-binding.ts';
import { podColumns } from './pod/pod-columns.ts';
import { podEviction } from './pod/pod-eviction.ts';
import {
  podGraceSeconds,
  preparePodForCreate,
  preparePodStatusUpdate,
  withoutNegativeGrace,
  writeEphemeralContainers,
  writeResize,
} from './pod/pod-rules.ts';

const streams = ['get', 'create'];
export const proxyVerbs: readonly string[] = ['get', 'create', 'update', 'patch', 'delete'];

const connects: readonly SubresourceConnect[] = [
  { name: 'log', verbs: ['get'], kind: 'Pod' },
  { name: 'exec', verbs: streams, kind: 'PodExecOptions' },
  { name: 'attach', verbs: streams, kind: 'PodAttachOptions' },
  { name: 'portforward', verbs: streams, kind: 'PodPortForwardOptions' },
  { name: 'proxy', verbs: proxyVerbs, kind: 'PodProxyOptions' },
];

/** Returns warnings, only for creates: users rarely update pods, but controllers do so often. */
function warningsOf(pod: Pod, old: Pod | undefined): readonly string[] {
  if (old !== undefined) return [];
  const complaints = checkDnsLabel(pod.metadata.name);
  const hostname = `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${complaints.join(' ')}]`;
  return [...(complaints.length > 0 ? [hostname] : []), ...podWarnings(pod).map(warningText)];
}

export const podResource = defineResource<Pod>({
  type: pods,
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  schema: PodSchema,
  storagePath: 'pods',
  rules: {
    applyDefaults: (pod) => withoutNegativeGrace(defaultPod(pod)),
    prepareForCreate: preparePodForCreate,
    validate: validatePod,
    validateName: checkDnsSubdomain,
    validateUpdate: validatePodUpdate,
    prepareForStatusUpdate: preparePodStatusUpdate,
    validateStatusUpdate: validatePodStatusUpdate,
    warnings: warningsOf,
    gracePeriodSeconds: podGraceSeconds,
    returnsDeleted: true,
  },
  selectableFields: podFields,
  columns: podColumns,
  hasStatus: true,
  countsGeneration: true,
  views: [
    {
      name: 'ephemeralcontainers',
      verbs: ['get', 'patch', 'update'],
      // Bodies of the pod's own kind are decoded by its schema.
      write: (current, body) => defaultPod(writeEphemeralContainers(current, body as Pod)),
      validate: validateEphemeralContainersUpdate,
    },
    {
      name: 'resize',
      verbs: ['get', 'patch', 'update'],
      write: (current, body) => defaultPod(writeResize(current, defaultPod(body as Pod))),
      validate: validateResizeUpdate,
    },
  ],
  actions: [podBinding, podEviction],
  connects,
});
