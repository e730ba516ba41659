import { csiDrivers } from '../../../api/client/resource-types.ts';
import { defaultCsiDriver } from '../../../api/defaults/default-storage.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import { CSIDriverSchema } from '../../../api/storage/csi-driver.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateCsiDriver } from '../../../api/validation/volumes/validate-csi-driver.ts';
import { validateCsiDriverUpdate } from '../../../api/validation/volumes/validate-storage.ts';
import { defineResource } from '../define-resource.ts';

/** Drops a field whose gate is off by default (VolumeLimitScaling). */
function dropAlpha(driver: CSIDriver): CSIDriver {
  const { preventPodSchedulingIfMissing, ...spec } = driver.spec;
  return preventPodSchedulingIfMissing === undefined ? driver : { ...driver, spec };
}

const TOKENS_IN_CONTEXT =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';

/** Upstream: csidriver strategy.go WarningsOnCreate. */
const leaksTokens = ({ tokenRequests = [], serviceAccountTokenInSecrets }: CSIDriver['spec']): boolean =>
  tokenRequests.length > 0 && serviceAccountTokenInSecrets === undefined;

export const csiDriverResource = defineResource<CSIDriver>({
  type: csiDrivers,
  singular: 'csidriver',
  schema: CSIDriverSchema,
  storagePath: 'csidrivers',
  rules: {
    applyDefaults: defaultCsiDriver,
    prepareForCreate: dropAlpha,
    prepareForUpdate: dropAlpha,
    validate: validateCsiDriver,
    validateName: checkDnsSubdomain,
    validateUpdate: validateCsiDriverUpdate,
    requiresResourceVersion: true,
    warnings: ({ spec }) => (leaksTokens(spec) ? [TOKENS_IN_CONTEXT] : []),
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'AttachRequired',
      type: 'boolean',
      description: 'Whether volumes are attached before they are mounted.',
      cell: ({ spec }) => spec.attachRequired ?? true,
    },
    {
      name: 'PodInfoOnMount',
      type: 'boolean',
      description: 'Whether the driver gets facts of the pod.',
      cell: ({ spec }) => spec.podInfoOnMount ?? false,
    },
    {
      name: 'StorageCapacity',
      type: 'boolean',
      description: 'Whether the scheduler looks at capacity.',
      cell: ({ spec }) => spec.storageCapacity ?? false,
    },
    {
      name: 'TokenRequests',
      type: 'string',
      description: 'For which audiences the driver gets tokens.',
      cell: ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>',
    },
    {
      name: 'RequiresRepublish',
      type: 'boolean',
      description: 'Whether volumes are published again and again.',
      cell: ({ spec }) => spec.requiresRepublish ?? false,
    },
    {
      name: 'Modes',
      type: 'string',
      description: 'Which volumes the driver serves.',
      cell: ({ spec }) => (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
    },
  ],
  countsGeneration: true,
  startsWithoutGeneration: true,
});
