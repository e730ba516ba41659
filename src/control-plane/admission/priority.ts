import { pods, priorityClasses } from '../../api/client/resource-types.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PriorityClass } from '../../api/scheduling/priority-class.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf, oldObjectOf, refusal } from './attributes.ts';

/**
 * Sets the priority of a pod as a number, from the name of its class. It refuses a second default class. Upstream:
 * Priority.
 */
export function createPriority(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'Priority',
    handles: (attributes) =>
      (isAbout(attributes, pods) || isAbout(attributes, priorityClasses)) &&
      (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE'),
    mutate(attributes) {
      if (!isAbout(attributes, pods)) return objectOf(attributes, priorityClasses);
      const pod = objectOf(attributes, pods);
      return attributes.operation === 'CREATE'
        ? withPriority(reader, attributes, pod)
        : keepingPriority(pod, oldObjectOf(attributes, pods));
    },
    validate(attributes) {
      if (!isAbout(attributes, priorityClasses)) return;
      const priorityClass = objectOf(attributes, priorityClasses);
      const other = defaultClass(reader, (each) => each.metadata.name !== priorityClass.metadata.name);
      if (priorityClass.globalDefault === true && other !== undefined) {
        throw refusal(
          attributes,
          `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
        );
      }
    },
  };
}

/** Returns the default class. If a race created several, it is the lowest one. */
function defaultClass(
  reader: ObjectReader,
  counts: (each: PriorityClass) => boolean = () => true,
): PriorityClass | undefined {
  const defaults = reader.list(priorityClasses, '').filter((each) => each.globalDefault === true && counts(each));
  return defaults.reduce<PriorityClass | undefined>(
    (least, each) => (least === undefined || each.value < least.value ? each : least),
    undefined,
  );
}

function withPriority(reader: ObjectReader, attributes: AdmissionAttributes, pod: Pod): Pod {
  const { priorityClassName = '', priority, preemptionPolicy } = pod.spec;
  const found =
    priorityClassName === ''
      ? defaultClass(reader)
      : reader.get(priorityClasses, { namespace: '', name: priorityClassName });
  if (found === undefined && priorityClassName !== '')
    throw refusal(attributes, `no PriorityClass with name ${priorityClassName} was found`);
  const computed = found?.value ?? 0;
  if (priority !== undefined && priority !== computed) {
    throw refusal(
      attributes,
      `the integer value of priority (${priority}) must not be provided in pod spec; priority admission controller computed ${computed} from the given PriorityClass name`,
    );
  }
  const policy = found === undefined ? 'PreemptLowerPriority' : (found.preemptionPolicy ?? 'PreemptLowerPriority');
  if (preemptionPolicy !== undefined && preemptionPolicy !== policy) {
    throw refusal(
      attributes,
      `the string value of PreemptionPolicy (${preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  }
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(found !== undefined && { priorityClassName: found.metadata.name }),
      priority: computed,
      preemptionPolicy: policy,
    },
  };
}

/** Copies the old values to an update without these fields, because it does not change them. */
function keepingPriority(pod: Pod, old: Pod): Pod {
  const { priority = old.spec.priority, preemptionPolicy = old.spec.preemptionPolicy } = pod.spec;
  if (priority === pod.spec.priority && preemptionPolicy === pod.spec.preemptionPolicy) return pod;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(priority !== undefined && { priority }),
      ...(preemptionPolicy !== undefined && { preemptionPolicy }),
    },
  };
}
