/** The position of a value in an object: field names, map keys and list indexes. */
export type FieldPath = readonly PathStep[];
export type PathStep = string | number | { readonly key: string };

/** Upstream's notation: `spec.containers[0].env`, `metadata.labels[app]`. */
export function formatFieldPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (typeof step === 'object') text += `[${step.key}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/**
 * Parses a path in this notation, so that the position of a validation error can be found in a file. Numeric keys in
 * brackets are treated as indexes.
 */
export function parseFieldPath(text: string): FieldPath {
  const steps: PathStep[] = [];
  for (const match of text.matchAll(/\[([^\]]*)(?:\]|$)|([^.[\]]+)/g)) {
    const [, bracket, name] = match;
    if (name !== undefined) steps.push(name);
    else if (bracket !== undefined) steps.push(/^[0-9]+$/.test(bracket) ? Number(bracket) : { key: bracket });
  }
  return steps;
}
