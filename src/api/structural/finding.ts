import type { FieldErrors } from '../validation/field-error.ts';

/** One problem. All problems are collected before they are reported. */
export type Finding = (errors: FieldErrors) => void;

/** The path in errors; empty for the whole object. */
export const fieldOf = (path: string): string => (path === '' ? '<nil>' : path.replace(/^\./, ''));

/** Shows the value, and repeats the path in the text (upstream: kubeOpenAPIResultToFieldErrors). */
export const invalid =
  (path: string, value: unknown, detail: string): Finding =>
  (errors) =>
    errors.invalid(fieldOf(path), value, `${path} in body ${detail}`);
