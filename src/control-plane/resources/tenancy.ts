import { limitRanges, namespaces, resourceQuotas, serviceAccounts } from '../../api/client/resource-types.ts';
import type { LimitRange } from '../../api/core/limit-range.ts';
import { LimitRangeSchema } from '../../api/core/limit-range.ts';
import type { Namespace } from '../../api/core/namespace.ts';
import { NamespaceSchema } from '../../api/core/namespace.ts';
import type { ResourceQuota } from '../../api/core/resource-quota.ts';
import { ResourceQuotaSchema } from '../../api/core/resource-quota.ts';
import type { ServiceAccount } from '../../api/core/service-account.ts';
import { ServiceAccountSchema } from '../../api/core/service-account.ts';
import { defaultLimitRange, defaultNamespace, defaultResourceQuota } from '../../api/defaults/default-tenancy.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../../api/validation/names.ts';
import { validateLimitRange } from '../../api/validation/validate-limit-range.ts';
import {
  validateNamespace,
  validateNamespaceFinalize,
  validateNamespaceStatus,
} from '../../api/validation/validate-namespace.ts';
import {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from '../../api/validation/validate-resource-quota.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { ageColumn } from './cells.ts';
import { defineResource } from './define-resource.ts';
import { serviceAccountToken } from './service-account-token.ts';

const lifecycleFinalizer = 'kubernetes';

/** Every namespace is held by the controller that empties it. */
function withLifecycle(namespace: Namespace): Namespace {
  const { finalizers = [] } = namespace.spec;
  return finalizers.includes(lifecycleFinalizer)
    ? namespace
    : { ...namespace, spec: { ...namespace.spec, finalizers: [...finalizers, lifecycleFinalizer] } };
}

/** Only `finalize` changes who holds a namespace. */
function keepFinalizers(namespace: Namespace, { spec }: Namespace): Namespace {
  const { finalizers: _, ...rest } = namespace.spec;
  return { ...namespace, spec: { ...rest, ...(spec.finalizers !== undefined && { finalizers: spec.finalizers }) } };
}

const namespaceDefinition: ResourceDefinition<Namespace> = {
  type: namespaces,
  singular: 'namespace',
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: NamespaceSchema,
  storagePath: 'namespaces',
  rules: {
    applyDefaults: defaultNamespace,
    prepareForCreate: withLifecycle,
    validate: validateNamespace,
    validateName: checkDnsLabel,
    prepareForUpdate: keepFinalizers,
    validateUpdate: validateNamespace,
    validateStatusUpdate: validateNamespaceStatus,
    holdDeletion: (namespace) => {
      const held = (namespace.spec.finalizers ?? []).length + (namespace.metadata.finalizers ?? []).length > 0;
      return held ? { ...namespace, status: { ...namespace.status, phase: 'Terminating' } } : undefined;
    },
    returnsDeleted: true,
  },
  selectableFields: ({ status }) => ({ 'status.phase': status?.phase ?? '' }),
  hasStatus: true,
  columns: [
    {
      name: 'Status',
      type: 'string',
      description: 'Active, or Terminating while it is being emptied.',
      cell: ({ status }) => status?.phase ?? '',
    },
  ],
  views: [
    {
      name: 'finalize',
      verbs: ['update'],
      // Bodies of the namespace's own kind are decoded by its schema.
      write: (current, body) => ({ ...current, metadata: body.metadata, spec: (body as Namespace).spec }),
      validate: validateNamespaceFinalize,
    },
  ],
};

const enforceMountable = 'kubernetes.io/enforce-mountable-secrets';

/** Of the secrets only their names count. */
function withPlainSecrets(account: ServiceAccount): ServiceAccount {
  return account.secrets === undefined
    ? account
    : { ...account, secrets: account.secrets.map(({ name }) => ({ ...(name !== undefined && { name }) })) };
}

const serviceAccountDefinition: ResourceDefinition<ServiceAccount> = {
  type: serviceAccounts,
  singular: 'serviceaccount',
  shortNames: ['sa'],
  schema: ServiceAccountSchema,
  storagePath: 'serviceaccounts',
  rules: {
    applyDefaults: (account) => account,
    prepareForCreate: withPlainSecrets,
    validate: () => [],
    validateName: checkDnsSubdomain,
    prepareForUpdate: withPlainSecrets,
    validateUpdate: () => [],
    warnings: ({ metadata }, old) =>
      metadata.annotations?.[enforceMountable] !== undefined &&
      old?.metadata.annotations?.[enforceMountable] === undefined
        ? [
            `metadata.annotations[${enforceMountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
          ]
        : [],
    returnsDeleted: true,
  },
  columns: [],
  actions: [serviceAccountToken],
};

const limitRangeDefinition: ResourceDefinition<LimitRange> = {
  type: limitRanges,
  singular: 'limitrange',
  shortNames: ['limits'],
  schema: LimitRangeSchema,
  storagePath: 'limitranges',
  rules: {
    applyDefaults: defaultLimitRange,
    // One without a name is called by an id nobody else has.
    prepareForCreate: (range) =>
      range.metadata.name === '' ? { ...range, metadata: { ...range.metadata, name: range.metadata.uid } } : range,
    validate: validateLimitRange,
    validateName: checkDnsSubdomain,
    validateUpdate: validateLimitRange,
    allowCreateOnUpdate: true,
  },
};

/** `cpu: 1/2, pods: 3/10`: used of what is allowed, limits apart from the rest. */
function usageText({ status }: ResourceQuota, ofLimits: boolean): string {
  const names = Object.keys(status?.hard ?? {}).sort();
  return names
    .filter((name) => name.startsWith('limits.') === ofLimits)
    .map((name) => `${name}: ${status?.used?.[name] ?? '0'}/${status?.hard?.[name] ?? '0'}`)
    .join(', ');
}

/** Requests that limits do not allow. */
function quotaWarnings({ spec: { hard = {} } }: ResourceQuota, old: ResourceQuota | undefined): string[] {
  if (old !== undefined) return [];
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((name) => {
    const plain = name === 'cpu' || name === 'memory' ? name : undefined;
    const requestName = hard[`requests.${name}`] === undefined ? plain : `requests.${name}`;
    const request = requestName === undefined ? undefined : hard[requestName];
    const limit = hard[`limits.${name}`];
    if (request === undefined || limit === undefined || compareQuantities(request, limit) <= 0) return [];
    return [`ResourceQuota ${requestName} (${request}) should be less than limits.${name} (${limit})`];
  });
}

const resourceQuotaDefinition: ResourceDefinition<ResourceQuota> = {
  type: resourceQuotas,
  singular: 'resourcequota',
  shortNames: ['quota'],
  schema: ResourceQuotaSchema,
  storagePath: 'resourcequotas',
  rules: {
    applyDefaults: defaultResourceQuota,
    prepareForCreate: (quota) => ({ ...quota, status: {} }),
    validate: validateResourceQuota,
    validateName: checkDnsSubdomain,
    validateUpdate: validateResourceQuotaUpdate,
    validateStatusUpdate: validateResourceQuotaStatus,
    warnings: quotaWarnings,
    returnsDeleted: true,
  },
  hasStatus: true,
  columns: [
    {
      name: 'Request',
      type: 'string',
      description: 'Used of what is allowed.',
      cell: (quota) => usageText(quota, false),
    },
    {
      name: 'Limit',
      type: 'string',
      description: 'Used of the limits that are allowed.',
      cell: (quota) => usageText(quota, true),
    },
    ageColumn,
  ],
};

/** Namespaces and what bounds those who live in them. */
export const tenancyResources: readonly ResourceDefinition[] = [
  defineResource(namespaceDefinition),
  defineResource(serviceAccountDefinition),
  defineResource(limitRangeDefinition),
  defineResource(resourceQuotaDefinition),
];
