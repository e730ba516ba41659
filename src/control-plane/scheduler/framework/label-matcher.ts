import type { LabelSelector } from '../../../api/core/meta.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import type { LabelMatcher, Labels, Requirement } from '../../../api/label-requirement.ts';
import { requirementsOf } from '../../../api/selectors.ts';

export const matchesNothing: LabelMatcher = { empty: false, matches: () => false };

/**
 * Compiles a selector. An absent selector matches nothing, an empty one everything (meta/v1 LabelSelectorAsSelector).
 */
export function compileLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  return selector === undefined ? matchesNothing : compileRequirements(requirementsOf(selector));
}

/** A matcher with a key. Equal keys mean the same requirements in the same order. */
export interface KeyedMatcher {
  readonly key: string;
  readonly matcher: LabelMatcher;
}

export function compileKeyed(requirements: readonly Requirement[]): KeyedMatcher {
  return { key: JSON.stringify(requirements), matcher: compileRequirements(requirements) };
}

/** Compiles a selector with its key. An absent selector matches nothing. */
export function compileKeyedSelector(selector: LabelSelector | undefined): KeyedMatcher {
  return selector === undefined ? { key: '', matcher: matchesNothing } : compileKeyed(requirementsOf(selector));
}

export const noLabels: Labels = {};
