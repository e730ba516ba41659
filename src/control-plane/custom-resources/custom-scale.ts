import { isRecord } from '../../base/json-record.ts';
import type { CustomResourceSubresourceScale } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { setOwn } from '../../api/schema/decode.ts';
import { compileJsonPath } from '../../api/structural/json-path.ts';
import { parsePath } from '../../api/structural/schema-at-path.ts';
import { internalError } from '../../api/status/api-status-error.ts';
import type { SubresourceView } from '../model/resource-definition.ts';
import { scaleView } from '../model/scale-view.ts';

/** `scale` of a custom kind: reads and writes the fields its definition names (upstream: registry/customresource ScaleREST). */
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
  });
}

function withField(value: unknown, [step, ...rest]: readonly string[], replicas: number): unknown {
  if (step === undefined) return replicas;
  const out: Record<string, unknown> = isRecord(value) ? { ...value } : {};
  setOwn(out, step, withField(Object.hasOwn(out, step) ? out[step] : undefined, rest, replicas));
  return out;
}
