import { nodes } from '../../../api/client/resource-types.ts';
import type { Node, NodeSpec } from '../../../api/core/node.ts';
import { NodeSchema } from '../../../api/core/node.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateNode, validateNodeUpdate } from '../../../api/validation/validate-node.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { proxyVerbs } from './pod.ts';

const ROLE_PREFIX = 'node-role.kubernetes.io/';

const ROLE_LABEL = 'kubernetes.io/role';

/**
 * Allocatable defaults to the capacity; `podCIDR` and `podCIDRs` are kept equal (upstream: SetDefaults_NodeStatus and
 * conversion).
 */
function defaultNode(node: Node): Node {
  const spec = pairRanges(node.spec ?? {});
  const { capacity, allocatable } = node.status ?? {};
  const fillsIn = capacity !== undefined && allocatable === undefined;
  if (spec === node.spec && !fillsIn) return node;
  return { ...node, spec, ...(fillsIn && { status: { ...node.status, allocatable: capacity } }) };
}

function pairRanges(spec: NodeSpec): NodeSpec {
  const [first] = spec.podCIDRs ?? [];
  if (!spec.podCIDR) return first === undefined ? spec : { ...spec, podCIDR: first };
  // A client that only knows the single field has changed it.
  return spec.podCIDR === first ? spec : { ...spec, podCIDRs: [spec.podCIDR] };
}

/** Drops the dynamic kubelet configuration, which was removed. */
function dropConfigSource(node: Node, old?: Node): Node {
  const { configSource, ...spec } = node.spec ?? {};
  return configSource === undefined || old?.spec?.configSource !== undefined ? node : { ...node, spec };
}

function warningsOf({ spec }: Node): readonly string[] {
  return [
    ...(spec?.configSource === undefined ? [] : ['spec.configSource: the feature is removed']),
    ...(spec?.externalID ? ['spec.externalID: this field is deprecated, and is unused by Kubernetes'] : []),
  ];
}

function statusCell({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const word = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${word},SchedulingDisabled` : word;
}

function rolesCell({ metadata: { labels = {} } }: Node): string {
  const roles = Object.entries(labels).flatMap(([key, value]) => {
    const role = key.startsWith(ROLE_PREFIX) ? key.slice(ROLE_PREFIX.length) : key === ROLE_LABEL ? value : '';
    return role === '' ? [] : [role];
  });
  return [...new Set(roles)].sort().join(',') || '<none>';
}

const addressOf = ({ status }: Node, wanted: string): string =>
  status?.addresses?.find(({ type }) => type === wanted)?.address ?? '<none>';

function kernelCell({ status }: Node): string {
  const { kernelVersion, architecture } = status?.nodeInfo ?? {};
  return `${kernelVersion || '<unknown>'}${architecture ? ` (${architecture})` : ''}`;
}

export const nodeResource = defineResource<Node>({
  type: nodes,
  singular: 'node',
  shortNames: ['no'],
  schema: NodeSchema,
  storagePath: 'minions',
  rules: {
    applyDefaults: defaultNode,
    prepareForCreate: (node) => dropConfigSource(node),
    validate: validateNode,
    validateName: checkDnsSubdomain,
    prepareForUpdate: dropConfigSource,
    validateUpdate: validateNodeUpdate,
    validateStatusUpdate: validateNodeUpdate,
    warnings: warningsOf,
  },
  selectableFields: ({ spec }) => ({ 'spec.unschedulable': String(spec?.unschedulable ?? false) }),
  columns: [
    {
      name: 'Status',
      type: 'string',
      description: 'Whether it is ready, and whether pods may come.',
      cell: statusCell,
    },
    { name: 'Roles', type: 'string', description: 'Its roles, by its labels.', cell: rolesCell },
    ageColumn,
    {
      name: 'Version',
      type: 'string',
      description: 'The version of its kubelet.',
      cell: ({ status }) => status?.nodeInfo?.kubeletVersion ?? '',
    },
    {
      name: 'Internal-IP',
      type: 'string',
      priority: 1,
      description: 'Its address in the cluster.',
      cell: (node) => addressOf(node, 'InternalIP'),
    },
    {
      name: 'External-IP',
      type: 'string',
      priority: 1,
      description: 'Its address outside.',
      cell: (node) => addressOf(node, 'ExternalIP'),
    },
    {
      name: 'OS-Image',
      type: 'string',
      priority: 1,
      description: 'Its operating system.',
      cell: ({ status }) => status?.nodeInfo?.osImage || '<unknown>',
    },
    {
      name: 'Kernel-Version',
      type: 'string',
      priority: 1,
      description: 'The version of its kernel.',
      cell: kernelCell,
    },
    {
      name: 'Container-Runtime',
      type: 'string',
      priority: 1,
      description: 'Its container runtime.',
      cell: ({ status }) => status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
    },
  ],
  hasStatus: true,
  createsWithStatus: true,
  connects: [{ name: 'proxy', verbs: proxyVerbs, kind: 'NodeProxyOptions' }],
});
