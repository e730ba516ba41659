import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import { DaemonSetSchema } from '../../../api/apps/daemon-set.ts';
import { daemonSets } from '../../../api/client/resource-types.ts';
import { defaultDaemonSet } from '../../../api/defaults/default-apps.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import {
  validateDaemonSet,
  validateDaemonSetStatus,
  validateDaemonSetUpdate,
} from '../../../api/validation/workloads/validate-daemon-set.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn, formatLabels } from '../print-cells.ts';
import { templateColumns } from './template-columns.ts';

/**
 * The annotation that counts changes of the template. It replaces an earlier field in apps/v1 (upstream:
 * DeprecatedTemplateGeneration).
 */
const TEMPLATE_GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation';

function templateGeneration({ metadata }: DaemonSet): number {
  const text = metadata.annotations?.[TEMPLATE_GENERATION_ANNOTATION] ?? '';
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
}

function withTemplateGeneration(set: DaemonSet, generation: number): DaemonSet {
  return {
    ...set,
    metadata: {
      ...set.metadata,
      annotations: { ...set.metadata.annotations, [TEMPLATE_GENERATION_ANNOTATION]: String(generation) },
    },
  };
}

function prepareForUpdate(set: DaemonSet, old: DaemonSet): DaemonSet {
  const before = templateGeneration(old);
  return withTemplateGeneration(set, semanticEqual(set.spec.template, old.spec.template) ? before : before + 1);
}

const emptyStatus = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };

export const daemonSetResource = defineResource<DaemonSet>({
  type: daemonSets,
  singular: 'daemonset',
  shortNames: ['ds'],
  categories: ['all'],
  schema: DaemonSetSchema,
  storagePath: 'daemonsets',
  rules: {
    applyDefaults: defaultDaemonSet,
    prepareForCreate: (set) =>
      withTemplateGeneration({ ...set, status: emptyStatus }, Math.max(templateGeneration(set), 1)),
    validate: validateDaemonSet,
    validateName: checkDnsSubdomain,
    prepareForUpdate,
    validateUpdate: validateDaemonSetUpdate,
    validateStatusUpdate: validateDaemonSetStatus,
    warnings: (set, old) =>
      old !== undefined && templateGeneration(set) === templateGeneration(old)
        ? []
        : podTemplateWarnings('spec.template', set.spec.template),
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    {
      name: 'Desired',
      type: 'integer',
      description: 'Nodes that should run a pod of it.',
      cell: ({ status }) => status?.desiredNumberScheduled ?? 0,
    },
    {
      name: 'Current',
      type: 'integer',
      description: 'Nodes that should and do.',
      cell: ({ status }) => status?.currentNumberScheduled ?? 0,
    },
    {
      name: 'Ready',
      type: 'integer',
      description: 'Nodes whose pod is ready.',
      cell: ({ status }) => status?.numberReady ?? 0,
    },
    {
      name: 'Up-to-date',
      type: 'integer',
      description: 'Nodes whose pod is made of the newest template.',
      cell: ({ status }) => status?.updatedNumberScheduled ?? 0,
    },
    {
      name: 'Available',
      type: 'integer',
      description: 'Nodes whose pod is ready for at least minReadySeconds.',
      cell: ({ status }) => status?.numberAvailable ?? 0,
    },
    {
      name: 'Node Selector',
      type: 'string',
      description: 'Labels that a node must have.',
      cell: ({ spec }) => formatLabels(spec.template.spec.nodeSelector),
    },
    ageColumn,
    ...templateColumns,
  ],
});
