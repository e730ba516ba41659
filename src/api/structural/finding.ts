import type { FieldErrors } from '../validation/field-error.ts';

/** One problem, said when all of them are known. */
export type Finding = (errors: FieldErrors) => void;

/** A path as errors name it; the whole object has none. */
export const fieldOf = (path: string): string => (path === '' ? '<nil>' : path.replace(/^\./, ''));

/** The value is shown, and the path again in the text (upstream: kubeOpenAPIResultToFieldErrors). */
export const invalid =
  (path: string, value: unknown, detail: string): Finding =>
  (errors) =>
    errors.invalid(fieldOf(path), value, `${path} in body ${detail}`);
