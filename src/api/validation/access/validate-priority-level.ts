import type {
  ExemptPriorityLevelConfiguration,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from '../../flowcontrol/priority-level-configuration.ts';
import { standardPriorityLevels } from '../../flowcontrol/standard-objects.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateFlowConditions } from './validate-flow-schema.ts';

const MAX_QUEUES = 10_000_000;
const MAX_HASH_BITS = 60;
const ZERO_SHARES_ANNOTATION = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';
const mandatory = new Map(
  standardPriorityLevels.filter(({ role }) => role === 'mandatory').map(({ name, spec }) => [name, spec]),
);

/**
 * Validates a defaulted level, except its metadata (upstream: flowcontrol/validation
 * ValidatePriorityLevelConfiguration).
 */
export function validatePriorityLevel(level: PriorityLevelConfiguration): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec } = level;
  if (metadata.annotations?.[ZERO_SHARES_ANNOTATION] !== undefined)
    errors.forbidden('metadata.annotations', `annotation '${ZERO_SHARES_ANNOTATION}' is forbidden`);
  validateSpec(errors, metadata.name, spec);
  validateMandatory(errors, metadata.name, spec);
  errors.list.push(...validateFlowConditions(level));
  return errors.list;
}

function validateSpec(errors: FieldErrors, name: string, spec: PriorityLevelConfigurationSpec): void {
  const { type, exempt, limited } = spec;
  if ((name === 'exempt') !== (type === 'Exempt'))
    errors.invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'");
  if (type === 'Exempt') {
    if (limited !== undefined) errors.forbidden('spec.limited', 'must be nil if the type is not Limited');
    if (exempt !== undefined) validateExempt(errors, exempt);
  } else if (type === 'Limited') {
    if (exempt !== undefined) errors.forbidden('spec.exempt', 'must be nil if the type is Limited');
    if (limited === undefined) errors.required('spec.limited', 'must not be empty when type is Limited');
    else validateLimited(errors, limited);
  } else errors.notSupported('spec.type', type, ['Exempt', 'Limited']);
}

/** An administrator may change the shares of the level `exempt`. */
function validateMandatory(errors: FieldErrors, name: string, spec: PriorityLevelConfigurationSpec): void {
  const fixed = mandatory.get(name);
  if (fixed === undefined) return;
  if (name === 'exempt') {
    const { exempt: _own, ...rest } = spec;
    const { exempt: _fixed, ...wanted } = fixed;
    if (!semanticEqual(rest, wanted))
      errors.invalid('spec', spec, "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value");
  } else if (!semanticEqual(spec, fixed)) errors.invalid('spec', spec, `spec of '${name}' must equal the fixed value`);
}

function validateShares(errors: FieldErrors, path: string, shares: number | undefined): void {
  if (shares !== undefined && shares < 0)
    errors.invalid(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer');
}

function validateLendable(errors: FieldErrors, path: string, percent: number | undefined): void {
  if (percent !== undefined && (percent < 0 || percent > 100))
    errors.invalid(`${path}.lendablePercent`, percent, 'must be between 0 and 100, inclusive');
}

function validateExempt(errors: FieldErrors, exempt: ExemptPriorityLevelConfiguration): void {
  validateShares(errors, 'spec.exempt', exempt.nominalConcurrencyShares);
  validateLendable(errors, 'spec.exempt', exempt.lendablePercent);
}

function validateLimited(errors: FieldErrors, limited: LimitedPriorityLevelConfiguration): void {
  const path = 'spec.limited';
  validateShares(errors, path, limited.nominalConcurrencyShares);
  validateResponse(errors, `${path}.limitResponse`, limited.limitResponse);
  validateLendable(errors, path, limited.lendablePercent);
  const { borrowingLimitPercent: borrowing } = limited;
  if (borrowing !== undefined && borrowing < 0)
    errors.invalid(`${path}.borrowingLimitPercent`, borrowing, 'if specified, must be a non-negative integer');
}

function validateResponse(errors: FieldErrors, path: string, { type, queuing }: LimitResponse): void {
  const field = `${path}.queuing`;
  if (type === 'Reject') {
    if (queuing !== undefined) errors.forbidden(field, 'must be nil if limited.limitResponse.type is not Limited');
  } else if (type !== 'Queue') errors.notSupported(`${path}.type`, type, ['Queue', 'Reject']);
  else if (queuing === undefined) errors.required(field, 'must not be empty if limited.limitResponse.type is Limited');
  else validateQueuing(errors, field, queuing);
}

function validateQueuing(
  errors: FieldErrors,
  path: string,
  { queues, handSize, queueLengthLimit }: QueuingConfiguration,
): void {
  if (queueLengthLimit <= 0) errors.invalid(`${path}.queueLengthLimit`, queueLengthLimit, 'must be positive');
  if (queues <= 0) errors.invalid(`${path}.queues`, queues, 'must be positive');
  else if (queues > MAX_QUEUES) errors.invalid(`${path}.queues`, queues, `must not be greater than ${MAX_QUEUES}`);
  const hand = `${path}.handSize`;
  if (handSize <= 0) errors.invalid(hand, handSize, 'must be positive');
  else if (handSize > queues) errors.invalid(hand, handSize, `should not be greater than queues (${queues})`);
  else if (Math.ceil(Math.log2(queues) * handSize) > MAX_HASH_BITS)
    errors.invalid(
      hand,
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${MAX_HASH_BITS}`,
    );
}
