import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../batch/job.ts';
import type { FieldErrors } from '../field-error.ts';
import { countIndexes } from './index-intervals.ts';
import { byteLength, checkLabelKey } from '../names.ts';

const MAX_RULES = 20;
const MAX_PATTERNS = 20;
const MAX_EXIT_CODES = 255;
const MAX_INDEXES_BYTES = 64 * 1024;

const goList = (values: readonly string[]): string =>
  `valid values: [${values.map((value) => JSON.stringify(value)).join(' ')}]`;

function validateChoice(errors: FieldErrors, field: string, value: string, choices: readonly string[]): void {
  if (value === '') errors.required(field, goList(choices));
  else errors.oneOf(field, value, choices);
}

/** Validates the pod failure policy (upstream: batch/validation validatePodFailurePolicy). */
export function validateFailurePolicy(errors: FieldErrors, path: string, spec: JobSpec): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > MAX_RULES) errors.tooMany(`${path}.rules`, rules.length, MAX_RULES);
  const { containers, initContainers = [] } = spec.template.spec;
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  for (const [index, rule] of rules.entries())
    validateFailureRule(errors, `${path}.rules[${index}]`, rule, {
      names,
      perIndex: spec.backoffLimitPerIndex !== undefined,
    });
}

interface RuleFacts {
  readonly names: ReadonlySet<string>;
  readonly perIndex: boolean;
}

function validateFailureRule(
  errors: FieldErrors,
  path: string,
  rule: PodFailurePolicyRule,
  { names, perIndex }: RuleFacts,
): void {
  const { action, onExitCodes, onPodConditions = [] } = rule;
  if (action === 'FailIndex') {
    if (!perIndex) errors.invalid(`${path}.action`, action, 'requires the backoffLimitPerIndex to be set');
  } else validateChoice(errors, `${path}.action`, action, ['Count', 'FailIndex', 'FailJob', 'Ignore']);
  if (onExitCodes !== undefined) validateExitCodes(errors, `${path}.onExitCodes`, onExitCodes, names);
  if (onPodConditions.length > 0) validatePatterns(errors, `${path}.onPodConditions`, onPodConditions);
  if (onExitCodes !== undefined && onPodConditions.length > 0)
    errors.invalidHidden(path, 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (onExitCodes === undefined && onPodConditions.length === 0)
    errors.invalidHidden(path, 'specifying one of OnExitCodes and OnPodConditions is required');
}

function validatePatterns(
  errors: FieldErrors,
  path: string,
  patterns: readonly PodFailurePolicyOnPodConditionsPattern[],
): void {
  if (patterns.length > MAX_PATTERNS) errors.tooMany(path, patterns.length, MAX_PATTERNS);
  for (const [index, { type, status }] of patterns.entries()) {
    errors.invalidEach(`${path}[${index}].type`, type, checkLabelKey(type));
    validateChoice(errors, `${path}[${index}].status`, status, ['False', 'True', 'Unknown']);
  }
}

function validateExitCodes(
  errors: FieldErrors,
  path: string,
  { operator, containerName, values }: PodFailurePolicyOnExitCodesRequirement,
  names: ReadonlySet<string>,
): void {
  validateChoice(errors, `${path}.operator`, operator, ['In', 'NotIn']);
  if (containerName !== undefined && !names.has(containerName))
    errors.invalid(
      `${path}.containerName`,
      containerName,
      'must be one of the container or initContainer names in the pod template',
    );
  const field = `${path}.values`;
  if (values.length === 0) errors.invalid(field, values, 'at least one value is required');
  else if (values.length > MAX_EXIT_CODES) errors.tooMany(field, values.length, MAX_EXIT_CODES);
  const seen = new Set<number>();
  for (const [index, code] of values.entries()) {
    if (operator === 'In' && code === 0)
      errors.invalid(`${field}[${index}]`, code, 'must not be 0 for the In operator');
    if (seen.has(code)) errors.duplicate(`${field}[${index}]`, code);
    seen.add(code);
  }
  if (values.some((code, index) => index > 0 && (values[index - 1] ?? 0) > code))
    errors.invalid(field, values, 'must be ordered');
}

/** Validates the success policy of an Indexed job (upstream: batch/validation validateSuccessPolicy). */
export function validateSuccessPolicy(
  errors: FieldErrors,
  path: string,
  { successPolicy, completions = 0 }: JobSpec,
): void {
  const rules = successPolicy?.rules ?? [];
  if (rules.length === 0)
    errors.required(`${path}.rules`, 'at least one rules must be specified when the successPolicy is specified');
  if (rules.length > MAX_RULES) errors.tooMany(`${path}.rules`, rules.length, MAX_RULES);
  for (const [index, rule] of rules.entries())
    validateSuccessRule(errors, `${path}.rules[${index}]`, rule, completions);
}

function validateSuccessRule(
  errors: FieldErrors,
  path: string,
  { succeededIndexes, succeededCount }: SuccessPolicyRule,
  completions: number,
): void {
  if (succeededCount === undefined && succeededIndexes === undefined)
    errors.required(path, 'at least one of succeededCount or succeededIndexes must be specified');
  let total = 0;
  if (succeededIndexes !== undefined) {
    if (byteLength(succeededIndexes) > MAX_INDEXES_BYTES) errors.tooLong(`${path}.succeededIndexes`, MAX_INDEXES_BYTES);
    const counted = countIndexes(succeededIndexes, completions);
    if (typeof counted === 'number') total = counted;
    else errors.invalid(`${path}.succeededIndexes`, succeededIndexes, `error parsing succeededIndexes: ${counted}`);
  }
  if (succeededCount === undefined) return;
  const field = `${path}.succeededCount`;
  errors.nonNegative(field, succeededCount);
  if (succeededCount > completions)
    errors.invalid(
      field,
      succeededCount,
      `must be less than or equal to ${completions} (the number of specified completions)`,
    );
  if (succeededIndexes !== undefined && succeededCount > total)
    errors.invalid(
      field,
      succeededCount,
      `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`,
    );
}
