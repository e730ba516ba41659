import type { Scale } from '../../api/autoscaling/scale.ts';
import { ScaleSchema } from '../../api/autoscaling/scale.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { invalid } from '../../api/status/api-status-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { SubresourceView } from './resource-definition.ts';

export interface ScaleFigures {
  readonly desired: number;
  readonly actual: number;
  /** The selector of the pods, as text; it is not shown if it is empty. */
  readonly selector: string;
}

export interface ScaleViewParts<T extends ApiObject> extends Pick<SubresourceView<T>, 'validate' | 'columns'> {
  readonly figures: (object: T) => ScaleFigures;
  /** Returns the object with this desired number of replicas. */
  readonly withReplicas: (object: T, replicas: number) => T;
  /** Whether `validate` checks the number too, with the object's own field name. */
  readonly judgesReplicas?: boolean;
}

const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;

/**
 * Creates the subresource `scale`, which reads and writes only the number of replicas, in the same form for all kinds.
 */
export function scaleView<T extends ApiObject>(parts: ScaleViewParts<T>): SubresourceView<T> {
  const { figures, withReplicas, validate, columns, judgesReplicas } = parts;
  return {
    name: 'scale',
    kind,
    schema: ScaleSchema,
    ...(columns !== undefined && { columns }),
    verbs: ['get', 'patch', 'update'],
    read: (object) => scaleOf(object, figures(object)),
    write: (current, body) => {
      // Decoded by the schema above.
      const { replicas } = (body as Scale).spec;
      const errors = new FieldErrors();
      if (judgesReplicas !== true) errors.nonNegative('spec.replicas', replicas);
      if (errors.list.length > 0) throw invalid(kind, current.metadata.name, errors.list);
      return withReplicas(current, replicas ?? 0);
    },
    validate,
  };
}

function scaleOf({ metadata }: ApiObject, { desired, actual, selector }: ScaleFigures): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
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
    // In Go, the desired number is omitted if it is 0, and the actual number is not.
    spec: { ...(desired !== 0 && { replicas: desired }) },
    status: { replicas: actual, ...(selector !== '' && { selector }) },
  };
}
