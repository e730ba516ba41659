import type { JsonSchema } from '../../structural/json-schema.ts';
import { schemaAtPath } from '../../structural/schema-at-path.ts';
import type { FieldErrors } from '../field-error.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const isBlank = (text: string): boolean => text.trim() === '';
const hasNewline = (text: string): boolean => /[\n\r]/.test(text);

/** Checks the validation rules of a schema without compiling their CEL expressions. */
export function validateRuleTexts(errors: FieldErrors, schema: JsonSchema, path: string): void {
  for (const [index, each] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const at = `${path}.x-kubernetes-validations[${index}]`;
    const { rule = '', message = '', messageExpression = '', reason, fieldPath = '' } = each;
    if (isBlank(rule)) errors.required(`${at}.rule`, 'rule is not specified');
    else if (message !== '' && isBlank(message))
      errors.invalid(`${at}.message`, message, 'must be non-empty if specified');
    else if (hasNewline(message.trim())) errors.invalid(`${at}.message`, message, 'must not contain line breaks');
    else if (hasNewline(rule.trim()) && isBlank(message))
      errors.required(`${at}.message`, 'message must be specified if rule contains line breaks');
    if (messageExpression !== '' && isBlank(messageExpression))
      errors.required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified');
    if (reason !== undefined) errors.oneOf(`${at}.reason`, reason, reasons);
    if (fieldPath === '') continue;
    if (isBlank(fieldPath)) errors.invalid(`${at}.fieldPath`, fieldPath, 'must be non-empty if specified');
    if (hasNewline(fieldPath)) errors.invalid(`${at}.fieldPath`, fieldPath, 'must not contain line breaks');
    if (typeof schemaAtPath(schema, fieldPath) === 'string')
      errors.invalid(`${at}.fieldPath`, fieldPath, 'must be a valid path');
  }
}
