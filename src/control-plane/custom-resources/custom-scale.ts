import { isRecord } from '../../base/json-record.ts';
import type { CustomResourceSubresourceScale } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { setOwn } from '../../api/schema/decode.ts';
import { compileJsonPath } from '../../api/structural/json-path.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import { parsePath } from '../../api/structural/schema-at-path.ts';
import { internalError } from '../../api/status/api-status-error.ts';
import type { SubresourceView } from '../model/resource-definition.ts';
import { scaleView } from '../model/scale-view.ts';

const INT32_MAX = 2_147_483_647;

/**
 * Creates `scale` of a custom kind, which reads and writes the fields that its definition names (upstream:
 * registry/customresource ScaleREST).
 */
export function customScale(
  { specReplicasPath, statusReplicasPath, labelSelectorPath }: CustomResourceSubresourceScale,
  validate: SubresourceView<ApiObject>['validate'],
): SubresourceView<ApiObject> {
  const desiredOf = compileJsonPath(specReplicasPath);
  const actualOf = compileJsonPath(statusReplicasPath);
  const selectorOf = labelSelectorPath === undefined ? () => '' : compileJsonPath(labelSelectorPath);
  const steps = parsePath(specReplicasPath) ?? [];
  return scaleView({
    figures: (object) => {
      const [desired, actual, selector] = [desiredOf(object), actualOf(object), selectorOf(object)];
      if (typeof desired !== 'number')
        throw internalError(`the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`);
      return {
        desired,
        actual: typeof actual === 'number' ? actual : 0,
        selector: typeof selector === 'string' ? selector : '',
      };
    },
    // An object with one of its fields changed.
    withReplicas: (object, replicas) => withField(object, steps, replicas) as ApiObject,
    validate,
    judgesReplicas: true,
  });
}

/**
 * Checks that the numbers of `scale` fit into an int32 (upstream: registry/customresource ValidateScaleSpec,
 * ValidateScaleStatus).
 */
export function validateScale(
  object: ApiObject,
  { specReplicasPath, statusReplicasPath }: CustomResourceSubresourceScale,
): readonly FieldError[] {
  const errors = new FieldErrors();
  for (const path of [specReplicasPath, statusReplicasPath]) {
    const count = compileJsonPath(path)(object);
    if (typeof count !== 'number' && typeof count !== 'bigint') continue;
    if (count < 0) errors.invalid(path, count, 'should be a non-negative integer');
    else if (count > INT32_MAX) errors.invalid(path, count, `should be less than or equal to ${INT32_MAX}`);
  }
  return errors.list;
}

function withField(value: unknown, [step, ...rest]: readonly string[], replicas: number): unknown {
  if (step === undefined) return replicas;
  const out: Record<string, unknown> = isRecord(value) ? { ...value } : {};
  setOwn(out, step, withField(Object.hasOwn(out, step) ? out[step] : undefined, rest, replicas));
  return out;
}
