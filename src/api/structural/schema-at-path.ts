import type { JsonSchema } from './json-schema.ts';
import { additionalOf } from './validate-structural.ts';

/** Parses `.a.b` or `.a['b']`, a path without lists; undefined for other forms. */
export function parsePath(path: string): readonly string[] | undefined {
  const steps: string[] = [];
  let rest = path;
  while (rest !== '') {
    const [whole, plain, quoted] = /^(?:\.([A-Za-z_$-][\w$-]*)|\[['"]([^'"\]]+)['"]\])/.exec(rest) ?? [];
    const step = plain ?? quoted;
    if (whole === undefined || step === undefined) return undefined;
    steps.push(step);
    rest = rest.slice(whole.length);
  }
  return steps;
}

/** The schema of the field at a path; a string is the error (upstream: cel.ValidFieldPath). */
export function schemaAtPath(schema: JsonSchema, path: string): JsonSchema | string {
  const steps = parsePath(path);
  const [, odd] = /^([^.[]\w*)/.exec(path) ?? [];
  if (odd !== undefined) return `expected [ or . but got: ${odd}`;
  if (/\[\d*\]/.test(path)) return 'array notation is not allowed';
  if (steps === undefined || steps.length === 0) return 'must be a path of field names such as .spec.color';
  let current = schema;
  for (const step of steps) {
    const properties = current.properties ?? {};
    const next = Object.hasOwn(properties, step) ? properties[step] : additionalOf(current);
    if (next === undefined) return `does not refer to a valid field`;
    current = next;
  }
  return current;
}
