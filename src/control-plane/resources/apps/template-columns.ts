import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import type { PodTemplateSpec } from '../../../api/core/pod-template.ts';
import { checkDnsLabel } from '../../../api/validation/names.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { ageColumn, formatSelector, joinImages, joinNames } from '../print-cells.ts';

interface WithTemplate extends ApiObject {
  readonly spec: { readonly template: PodTemplateSpec; readonly selector?: LabelSelector };
}

interface WithReplicas extends ApiObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly readyReplicas?: number };
}

/** The columns with the desired and actual number of pods and the age. */
export const replicaColumns: readonly TableColumn<WithReplicas>[] = [
  { name: 'Desired', type: 'integer', description: 'Pods that are wanted.', cell: ({ spec }) => spec.replicas ?? 0 },
  {
    name: 'Current',
    type: 'integer',
    description: 'Pods that there are.',
    cell: ({ status }) => status?.replicas ?? 0,
  },
  {
    name: 'Ready',
    type: 'integer',
    description: 'Pods that are ready.',
    cell: ({ status }) => status?.readyReplicas ?? 0,
  },
  ageColumn,
];

/** The columns that `-o wide` adds for every kind with a pod template. */
export const templateColumns: readonly TableColumn<WithTemplate>[] = [
  {
    name: 'Containers',
    type: 'string',
    description: 'Names of the containers of each pod.',
    priority: 1,
    cell: ({ spec }) => joinNames(spec.template),
  },
  {
    name: 'Images',
    type: 'string',
    description: 'Images of the containers of each pod.',
    priority: 1,
    cell: ({ spec }) => joinImages(spec.template),
  },
  {
    name: 'Selector',
    type: 'string',
    description: 'Which pods belong to it.',
    priority: 1,
    cell: ({ spec }) => formatSelector(spec.selector),
  },
];

/** Warns of controller names that cannot be part of their pods' host names. */
export function hostnameWarnings({ metadata }: ApiObject): string[] {
  const complaints = checkDnsLabel(metadata.name);
  return complaints.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${complaints.join(' ')}]`,
      ];
}
