import { limitRanges, persistentVolumeClaims, pods } from '../../../api/client/resource-types.ts';
import type { LimitRange } from '../../../api/core/limit-range.ts';
import { goAggregate } from '../../../api/go-aggregate.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { isAbout, objectOf, refusal } from '../attributes.ts';
import { claimLimitProblems, podLimitProblems } from './check-limits.ts';
import { withLimitDefaults } from './limit-defaults.ts';

/**
 * Enforces limits on the resources of pods and claims of a namespace, and sets their defaults. Upstream: LimitRanger.
 */
export function createLimitRanger(reader: ObjectReader): AdmissionPlugin {
  const rangesFor = ({ namespace, oldObject }: AdmissionAttributes): readonly LimitRange[] =>
    // Terminating objects are not checked.
    oldObject?.metadata.deletionTimestamp === undefined ? reader.list(limitRanges, namespace) : [];
  return {
    name: 'LimitRanger',
    handles: (attributes) => isPodWrite(attributes) || isClaimWrite(attributes),
    mutate(attributes) {
      if (!isPodWrite(attributes)) return objectOf(attributes, persistentVolumeClaims);
      return rangesFor(attributes).reduce(withLimitDefaults, objectOf(attributes, pods));
    },
    validate(attributes) {
      for (const range of rangesFor(attributes)) {
        const problems = isPodWrite(attributes)
          ? podLimitProblems(objectOf(attributes, pods), range)
          : claimLimitProblems(objectOf(attributes, persistentVolumeClaims), range);
        if (problems.length > 0) throw refusal(attributes, goAggregate(problems));
      }
    },
  };
}

/** Whether the request may change resources of containers: only creates and `resize` can. */
function isPodWrite(attributes: AdmissionAttributes): boolean {
  return (
    (attributes.operation === 'CREATE' && isAbout(attributes, pods)) ||
    (attributes.operation === 'UPDATE' && isAbout(attributes, pods, 'resize'))
  );
}

function isClaimWrite(attributes: AdmissionAttributes): boolean {
  return (
    (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE') &&
    isAbout(attributes, persistentVolumeClaims)
  );
}
