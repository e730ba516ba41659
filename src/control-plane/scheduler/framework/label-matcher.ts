import type { LabelSelector } from '../../../api/core/meta.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import type { LabelMatcher, Labels } from '../../../api/label-requirement.ts';
import { requirementsOf } from '../../../api/selectors.ts';

export const matchesNothing: LabelMatcher = { empty: false, matches: () => false };

/** An absent selector selects nothing, an empty one everything (meta/v1 LabelSelectorAsSelector). */
export function compileLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  return selector === undefined ? matchesNothing : compileRequirements(requirementsOf(selector));
}

export const noLabels: Labels = {};
