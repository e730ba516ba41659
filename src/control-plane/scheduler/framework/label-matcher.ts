import type { LabelSelector } from '../../../api/core/meta.ts';
import { matchesRequirement } from '../../../api/selectors.ts';
import type { Labels, Requirement } from '../../../api/selectors.ts';

/** A label selector made ready for being asked many times. */
export interface LabelMatcher {
  /** Selects everything. */
  readonly empty: boolean;
  matches(labels: Labels): boolean;
}

export const matchesNothing: LabelMatcher = { empty: false, matches: () => false };
const everything: LabelMatcher = { empty: true, matches: () => true };

/** An absent selector selects nothing, an empty one everything (meta/v1 LabelSelectorAsSelector). */
export function compileLabelSelector(selector: LabelSelector | undefined): LabelMatcher {
  return selector === undefined ? matchesNothing : compileRequirements(requirementsOf(selector));
}

export function requirementsOf(selector: LabelSelector): Requirement[] {
  const equal = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): Requirement => ({ key, operator: 'In', values: [value] }),
  );
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values }): Requirement => ({ key, operator, values: values ?? [] }),
  );
  return [...equal, ...expressions];
}

/** All of them have to hold; none at all selects everything. */
export function compileRequirements(requirements: readonly Requirement[]): LabelMatcher {
  if (requirements.length === 0) return everything;
  const tests = requirements.map(compileRequirement);
  const [first, second] = tests;
  if (tests.length === 1 && first !== undefined) return { empty: false, matches: first };
  if (tests.length === 2 && first !== undefined && second !== undefined)
    return { empty: false, matches: (labels) => first(labels) && second(labels) };
  return { empty: false, matches: (labels) => tests.every((test) => test(labels)) };
}

/** Equality is nearly all that is ever asked. */
function compileRequirement(requirement: Requirement): (labels: Labels) => boolean {
  const { key, operator, values } = requirement;
  const [only] = values;
  if (operator === 'In' && values.length === 1 && only !== undefined && !(key in Object.prototype))
    return (labels) => labels[key] === only;
  return (labels) => matchesRequirement(requirement, labels);
}

export const noLabels: Labels = {};
