import type { Scale } from '../../../api/autoscaling/scale.ts';
import { ScaleSchema } from '../../../api/autoscaling/scale.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import { invalid } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { SubresourceView, TableColumn } from '../../model/resource-definition.ts';
import { selectorText } from '../print-cells.ts';

interface Scalable extends ApiObject {
  readonly spec: { readonly replicas?: number; readonly selector?: object };
  readonly status?: { readonly replicas?: number };
}

/** As upstream shows a Scale. */
const columns: readonly TableColumn<ApiObject>[] = [
  {
    name: 'Name',
    type: 'string',
    description: 'The name of the object that is scaled.',
    cell: ({ metadata }) => metadata.name,
  },
  {
    name: 'Desired',
    type: 'integer',
    description: 'How many there shall be.',
    cell: (object) => (object as Scale).spec.replicas ?? 0,
  },
  {
    name: 'Available',
    type: 'integer',
    description: 'How many there are.',
    cell: (object) => (object as Scale).status?.replicas ?? 0,
  },
];

const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;

/** `scale` of what has replicas: reads and writes their number alone, in one form for all kinds. */
export function scaleView<T extends Scalable>(
  validate: SubresourceView<T>['validate'],
  selectorOf: (object: T) => LabelSelector | undefined = ({ spec }) => spec.selector,
): SubresourceView<T> {
  return {
    name: 'scale',
    kind,
    schema: ScaleSchema,
    columns,
    verbs: ['get', 'patch', 'update'],
    read: (object) => scaleOf(object, selectorOf(object)),
    write: (current, body) => {
      // Decoded by the schema above.
      const { spec } = body as Scale;
      const errors = new FieldErrors();
      errors.nonNegative('spec.replicas', spec.replicas);
      if (errors.list.length > 0) throw invalid(kind, current.metadata.name, errors.list);
      return { ...current, spec: { ...current.spec, replicas: spec.replicas ?? 0 } };
    },
    validate,
  };
}

function scaleOf({ metadata, spec, status }: Scalable, selects = spec.selector): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const selector = selectorText(selects);
  return {
    kind: kind.kind,
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      namespace,
      uid,
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: { replicas: spec.replicas ?? 0 },
    status: { replicas: status?.replicas ?? 0, ...(selector !== '' && { selector }) },
  };
}
