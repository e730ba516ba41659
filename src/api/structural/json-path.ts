import { isRecord } from '../../base/json-record.ts';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'slice'; readonly start: number; readonly end: number | undefined }
  | { readonly kind: 'all' }
  | { readonly kind: 'filter'; readonly path: readonly Step[]; readonly operator: string; readonly literal: unknown };

/** Finds the first value at a path; undefined if there is none. */
export type JsonPath = (value: unknown) => unknown;

const nothing: JsonPath = () => undefined;

/**
 * Compiles the path of a printer column: fields, also quoted or with escaped dots, indexes, slices, `[*]` and filters
 * such as `[?(@.type=="Ready")]` (upstream: client-go util/jsonpath). A path in another form finds nothing.
 */
export function compileJsonPath(text: string): JsonPath {
  const steps = parseSteps(text);
  if (steps === undefined) return nothing;
  return (value) => first(value, steps, 0);
}

const patterns = {
  field: /^\.?((?:[^.[\]\\]|\\.)+)/,
  quoted: /^\[(?:'([^'\]]*)'|"([^"\]]*)")\]/,
  index: /^\[(-?\d{1,9})\]/,
  slice: /^\[(-?\d{1,9})?:(-?\d{1,9})?\]/,
  all: /^(?:\[\*\]|\.\*)/,
  filter: /^\[\?\(\s*@((?:\.[\w-]+)+)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)\s*)?\)\]/,
};
const LONGEST_PATH = 1000;

function parseSteps(text: string): readonly Step[] | undefined {
  if (text.length > LONGEST_PATH) return undefined;
  const steps: Step[] = [];
  let rest = text === '.' ? '' : text;
  while (rest !== '') {
    const found = parseStep(rest);
    if (found === undefined) return undefined;
    steps.push(found.step);
    rest = rest.slice(found.length);
  }
  return steps;
}

function parseStep(rest: string): { readonly step: Step; readonly length: number } | undefined {
  const all = patterns.all.exec(rest);
  if (all !== null) return { step: { kind: 'all' }, length: all[0].length };
  const index = patterns.index.exec(rest);
  if (index !== null) return { step: { kind: 'index', index: Number(index[1]) }, length: index[0].length };
  const slice = patterns.slice.exec(rest);
  if (slice !== null) {
    const [whole, start = '0', end] = slice;
    const step: Step = { kind: 'slice', start: Number(start), end: end === undefined ? undefined : Number(end) };
    return { step, length: whole.length };
  }
  const quoted = patterns.quoted.exec(rest);
  if (quoted !== null) return { step: { kind: 'field', name: quoted[1] ?? quoted[2] ?? '' }, length: quoted[0].length };
  const filter = patterns.filter.exec(rest);
  if (filter !== null) {
    const [whole, path = '', operator = '', literal = 'null'] = filter;
    const inner = parseSteps(path);
    if (inner === undefined) return undefined;
    return { step: { kind: 'filter', path: inner, operator, literal: parseLiteral(literal) }, length: whole.length };
  }
  const field = patterns.field.exec(rest);
  if (field === null) return undefined;
  return { step: { kind: 'field', name: (field[1] ?? '').replace(/\\(.)/g, '$1') }, length: field[0].length };
}

const parseLiteral = (text: string): unknown =>
  text.startsWith("'") ? text.slice(1, -1) : (JSON.parse(text) as unknown);

function first(value: unknown, steps: readonly Step[], at: number): unknown {
  const step = steps[at];
  if (step === undefined) return value;
  for (const next of follow(value, step)) {
    const found = first(next, steps, at + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function follow(value: unknown, step: Step): readonly unknown[] {
  if (step.kind === 'field') return isRecord(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
  if (step.kind === 'all') return Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
  if (!Array.isArray(value)) return [];
  if (step.kind === 'index') return value.slice(step.index, step.index === -1 ? undefined : step.index + 1);
  if (step.kind === 'slice') return sliceOf(value, step);
  return value.filter((item) => holds(first(item, step.path, 0), step));
}

/** A slice beyond the list finds nothing, as in upstream. */
function sliceOf(
  list: readonly unknown[],
  { start, end = list.length }: Extract<Step, { kind: 'slice' }>,
): readonly unknown[] {
  const [from, to] = [start < 0 ? start + list.length : start, end < 0 ? end + list.length : end];
  return from < 0 || to > list.length ? [] : list.slice(from, Math.max(from, to));
}

function holds(found: unknown, { operator, literal }: Extract<Step, { kind: 'filter' }>): boolean {
  if (found === undefined) return false;
  if (operator === '') return true;
  if (operator === '==') return found === literal;
  if (operator === '!=') return found !== literal;
  if (typeof found !== typeof literal || (typeof found !== 'number' && typeof found !== 'string')) return false;
  // Both have the same type, as checked before.
  const [left, right] = [found, literal as typeof found];
  return operator === '<'
    ? left < right
    : operator === '>'
      ? left > right
      : operator === '<='
        ? left <= right
        : left >= right;
}
