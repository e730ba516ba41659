import type { CustomResourceSubresourceScale } from '../../api/apiextensions/custom-resource-definition.ts';
import type { Scale } from '../../api/autoscaling/scale.ts';
import { ScaleSchema } from '../../api/autoscaling/scale.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { setOwn } from '../../api/schema/decode.ts';
import { compileJsonPath } from '../../api/structural/json-path.ts';
import { isJsonObject } from '../../api/structural/prune.ts';
import { parsePath } from '../../api/structural/schema-at-path.ts';
import { internalError, invalid } from '../../api/status/api-status-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { SubresourceView } from '../model/resource-definition.ts';

const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;

/** `scale` of a custom kind: reads and writes the fields its definition names (upstream: registry/customresource ScaleREST). */
export function customScale(
  { specReplicasPath, statusReplicasPath, labelSelectorPath }: CustomResourceSubresourceScale,
  validate: SubresourceView<ApiObject>['validate'],
): SubresourceView<ApiObject> {
  const desired = compileJsonPath(specReplicasPath);
  const actual = compileJsonPath(statusReplicasPath);
  const selector = compileJsonPath(labelSelectorPath ?? '');
  const steps = parsePath(specReplicasPath) ?? [];
  return {
    name: 'scale',
    kind,
    schema: ScaleSchema,
    verbs: ['get', 'patch', 'update'],
    read: (object) => {
      const replicas = desired(object);
      if (typeof replicas !== 'number')
        throw internalError(`the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`);
      return scaleOf(object, {
        desired: replicas,
        actual: numberOr0(actual(object)),
        selector: labelSelectorPath === undefined ? undefined : selector(object),
      });
    },
    write: (current, body) => {
      // Decoded by the schema above.
      const { replicas } = (body as Scale).spec;
      const errors = new FieldErrors();
      errors.nonNegative('spec.replicas', replicas);
      if (errors.list.length > 0) throw invalid(kind, current.metadata.name, errors.list);
      // An object with one of its fields changed.
      return withField(current, steps, replicas ?? 0) as ApiObject;
    },
    validate,
  };
}

const numberOr0 = (value: unknown): number => (typeof value === 'number' ? value : 0);

function scaleOf(
  { metadata }: ApiObject,
  { desired, actual, selector }: { readonly desired: number; readonly actual: number; readonly selector: unknown },
): Scale {
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
    spec: { replicas: desired },
    status: { replicas: actual, ...(typeof selector === 'string' && selector !== '' && { selector }) },
  };
}

function withField(value: unknown, [step, ...rest]: readonly string[], replicas: number): unknown {
  if (step === undefined) return replicas;
  const out: Record<string, unknown> = isJsonObject(value) ? { ...value } : {};
  setOwn(out, step, withField(Object.hasOwn(out, step) ? out[step] : undefined, rest, replicas));
  return out;
}
