import { applyRuntimeClass, OVERHEAD_WITHOUT_CLASS } from '../../api/apply-runtime-class.ts';
import { pods, runtimeClasses } from '../../api/client/resource-types.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf, refusal } from './attributes.ts';

/** Sets the overhead and the scheduling constraints of a pod's runtime class. Upstream: RuntimeClass. */
export function createRuntimeClassAdmission(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    handles: (attributes) => attributes.operation === 'CREATE' && isAbout(attributes, pods),
    mutate(attributes) {
      const pod = objectOf(attributes, pods);
      const { runtimeClassName } = pod.spec;
      if (runtimeClassName === undefined) {
        if (pod.spec.overhead !== undefined) throw refusal(attributes, OVERHEAD_WITHOUT_CLASS);
        return pod;
      }
      const found = reader.get(runtimeClasses, { namespace: '', name: runtimeClassName });
      if (found === undefined)
        throw refusal(attributes, `pod rejected: RuntimeClass ${JSON.stringify(runtimeClassName)} not found`);
      const applied = applyRuntimeClass(pod, found);
      if (applied.kind === 'refused') throw refusal(attributes, applied.message);
      return applied.pod;
    },
  };
}
