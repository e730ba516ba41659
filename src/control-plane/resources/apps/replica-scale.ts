import type { Scale } from '../../../api/autoscaling/scale.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import type { SubresourceView, TableColumn } from '../../model/resource-definition.ts';
import { scaleView } from '../../model/scale-view.ts';
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
    description: 'The number of replicas that are wanted.',
    cell: (object) => (object as Scale).spec.replicas ?? 0,
  },
  {
    name: 'Available',
    type: 'integer',
    description: 'The number of replicas that exist.',
    cell: (object) => (object as Scale).status?.replicas ?? 0,
  },
];

/** `scale` of the built-in kinds whose objects have replicas. */
export function replicaScale<T extends Scalable>(
  validate: SubresourceView<T>['validate'],
  selectorOf: (object: T) => LabelSelector | undefined = ({ spec }) => spec.selector,
): SubresourceView<T> {
  return scaleView({
    columns,
    figures: (object) => ({
      desired: object.spec.replicas ?? 0,
      actual: object.status?.replicas ?? 0,
      selector: selectorText(selectorOf(object)),
    }),
    withReplicas: (object, replicas) => ({ ...object, spec: { ...object.spec, replicas } }),
    validate,
  });
}
