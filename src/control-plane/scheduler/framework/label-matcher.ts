import type { LabelSelector } from '../../../api/core/meta.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import type { LabelMatcher, Labels, Requirement } from '../../../api/label-requirement.ts';
import { requirementsOf } from '../../../api/selectors.ts';

export const matchesNothing: LabelMatcher = { empty: false, matches: () => false };

/** An absent selector selects nothing, an empty one everything (meta/v1 LabelSelectorAsSelector). */
export function compileLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  return selector === undefined ? matchesNothing : compileRequirements(requirementsOf(selector));
}

/** A matcher with an identity: equal keys mean the same requirements in the same order. */
export interface KeyedMatcher {
  readonly key: string;
  readonly matcher: LabelMatcher;
}

export function compileKeyed(requirements: readonly Requirement[]): KeyedMatcher {
  return { key: JSON.stringify(requirements), matcher: compileRequirements(requirements) };
}

/** An absent selector selects nothing. */
export function compileKeyedSelector(selector: LabelSelector | undefined): KeyedMatcher {
  return selector === undefined ? { key: '', matcher: matchesNothing } : compileKeyed(requirementsOf(selector));
}

export const noLabels: Labels = {};
