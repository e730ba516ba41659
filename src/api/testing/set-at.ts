import { parseFieldPath } from '../schema/field-path.ts';

/** Sets one field of a plain value by its path and creates missing parents; `undefined` removes it. */
export function setAt(root: unknown, path: string, value: unknown): void {
  const steps = parseFieldPath(path).map((step) => (typeof step === 'object' ? step.key : step));
  let node = root as Record<string | number, unknown>;
  for (const [index, step] of steps.entries()) {
    if (index === steps.length - 1) {
      if (value === undefined) delete node[step];
      else node[step] = value;
      return;
    }
    node[step] ??= typeof steps[index + 1] === 'number' ? [] : {};
    node = node[step] as Record<string | number, unknown>;
  }
}
