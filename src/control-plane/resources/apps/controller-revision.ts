import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import { ControllerRevisionSchema } from '../../../api/apps/controller-revision.ts';
import { controllerRevisions } from '../../../api/client/resource-types.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from '../../../api/validation/workloads/validate-controller-revision.ts';
import { defineResource } from '../define-resource.ts';

export const controllerRevisionResource = defineResource<ControllerRevision>({
  type: controllerRevisions,
  singular: 'controllerrevision',
  schema: ControllerRevisionSchema,
  storagePath: 'controllerrevisions',
  rules: {
    applyDefaults: (revision) => revision,
    validate: validateControllerRevision,
    validateName: checkDnsSubdomain,
    validateUpdate: validateControllerRevisionUpdate,
  },
  columns: [
    { name: 'Controller', type: 'string', description: 'Whose revision it is.', cell: controllerOf },
    {
      name: 'Revision',
      type: 'string',
      description: 'The number of the revision.',
      cell: ({ revision }) => (typeof revision === 'bigint' ? String(revision) : revision),
    },
  ],
});

/** Returns `daemonset.apps/name`. */
function controllerOf({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return '<none>';
  const [group, version] = owner.apiVersion.split('/');
  return `${`${owner.kind}${version === undefined ? '' : `.${group}`}`.toLowerCase()}/${owner.name}`;
}
