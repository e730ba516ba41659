import type { DeviceClaim } from '../../resource/resource-claim.ts';
import type { FieldErrors } from '../field-error.ts';
import { validateItems, validateLabelName, validateUnique } from './device-parts.ts';

const MAX_REFERENCES = 32;
const UNKNOWN_NAME =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/**
 * The names by which constraints, configuration and results refer to the requests of a claim: REQUEST or REQUEST/SUB.
 */
export class RequestNames {
  readonly #alternatives: ReadonlyMap<string, ReadonlySet<string>>;

  constructor({ requests = [] }: DeviceClaim) {
    this.#alternatives = new Map(
      requests.map(({ name, firstAvailable = [] }) => [name, new Set(firstAvailable.map((each) => each.name))]),
    );
  }

  validateReference(errors: FieldErrors, field: string, reference: string): void {
    const parts = reference.split('/');
    if (parts.length > 2) return errors.invalid(field, reference, UNKNOWN_NAME);
    for (const part of parts) validateLabelName(errors, field, part);
    const [request = '', alternative] = parts;
    const known = this.#alternatives.get(request);
    if (known === undefined || (alternative !== undefined && !known.has(alternative)))
      errors.invalid(field, reference, UNKNOWN_NAME);
  }

  validateReferences(errors: FieldErrors, field: string, references: readonly string[]): void {
    validateItems(errors, field, references, MAX_REFERENCES, (reference, path) =>
      this.validateReference(errors, path, reference),
    );
    if (references.length <= MAX_REFERENCES) validateUnique(errors, field, references, (reference) => reference);
  }
}
