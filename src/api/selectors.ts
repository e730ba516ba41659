import { lookupTable, ownValue } from '../base/lookup.ts';
import type { LabelSelector } from './core/meta.ts';
import type { Pod } from './core/pod.ts';
import { goQuote } from './go-quote.ts';
import { compileRequirements } from './label-requirement.ts';
import type { LabelMatcher, Labels, Requirement, SelectorOperator } from './label-requirement.ts';
import { checkLabelKey, checkLabelValue } from './validation/names.ts';

/** An absent selector matches nothing, an empty one everything (meta/v1 LabelSelector). */
export function matchesLabelSelector(selector: LabelSelector | undefined, labels: Labels): boolean {
  return selector !== undefined && matcherOf(selector, () => requirementsOf(selector)).matches(labels);
}

/** Whether the labels include all of these (as in the selectors of services). */
export function matchesLabels(wanted: Labels, labels: Labels): boolean {
  return matcherOf(wanted, () => requirementsOf({ matchLabels: wanted })).matches(labels);
}

/** Cached selectors. They are parts of objects, which are immutable. */
const matchers = new WeakMap<LabelSelector | Labels, LabelMatcher>();

function matcherOf(selector: LabelSelector | Labels, requirements: () => readonly Requirement[]): LabelMatcher {
  let matcher = matchers.get(selector);
  if (matcher === undefined) matchers.set(selector, (matcher = compileRequirements(requirements())));
  return matcher;
}

export function requirementsOf(selector: LabelSelector): Requirement[] {
  const equal = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): Requirement => ({ key, operator: 'In', values: [value] }),
  );
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values }): Requirement => ({ key, operator, values: values ?? [] }),
  );
  return [...equal, ...expressions];
}

/**
 * Parses `a=b,c!=d,e in (x,y),!f,g,h>1`; the result is sorted by key and value. A string result is the error, in the
 * API server's words.
 */
export function parseLabelSelector(text: string): Requirement[] | string {
  if (text === '') return [];
  const parser = new LabelSelectorParser(text);
  try {
    return parser.parse().sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0));
  } catch (error) {
    if (error instanceof SelectorError) return error.message;
    throw error;
  }
}

/** Requirements as the text of a selector that parses to the same requirements. */
export function formatLabelSelector(requirements: readonly Requirement[]): string {
  return requirements.map(formatRequirement).join(',');
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${values.join('')}` : `${key} in (${values.join(',')})`;
    case 'NotIn':
      return values.length === 1 ? `${key}!=${values.join('')}` : `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'Gt':
    case 'Lt':
      return `${key}${operator === 'Gt' ? '>' : '<'}${values.join('')}`;
  }
}

class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

interface Token {
  readonly kind: 'identifier' | 'symbol' | 'end';
  readonly text: string;
}
const symbols = new Set([')', ',', '!', '==', '=', '>', '<', '!=', '(']);
const operators: Readonly<Record<string, SelectorOperator>> = lookupTable({
  in: 'In',
  notin: 'NotIn',
  '=': 'In',
  '==': 'In',
  '!=': 'NotIn',
  '>': 'Gt',
  '<': 'Lt',
});

/**
 * Splits into tokens. Symbols are as long as possible; any other text up to a symbol or a blank is an identifier,
 * including `in` and `notin`.
 */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (const [found] of text.matchAll(/[=!(),><]+|[^=!(),><\s]+/g)) {
    if (!/^[=!(),><]/.test(found)) {
      tokens.push({ kind: 'identifier', text: found });
      continue;
    }
    for (let at = 0; at < found.length; ) {
      const symbol = symbols.has(found.slice(at, at + 2)) ? found.slice(at, at + 2) : found.slice(at, at + 1);
      tokens.push({ kind: 'symbol', text: symbol });
      at += symbol.length;
    }
  }
  return [...tokens, { kind: 'end', text: '' }];
}

/** The grammar of apimachinery labels/selector.go. */
class LabelSelectorParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    while (this.#ahead.kind !== 'end') {
      if (!this.#startsRequirement)
        throw new SelectorError(`found '${this.#ahead.text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.kind === 'end') break;
      if (next.text !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or 'end of string'`);
      if (!this.#startsRequirement)
        throw new SelectorError(`found '${this.#ahead.text}', expected: identifier after ','`);
    }
    return requirements;
  }

  get #ahead(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' };
  }

  get #startsRequirement(): boolean {
    return this.#ahead.kind === 'identifier' || this.#ahead.text === '!';
  }

  #take(): Token {
    const token = this.#ahead;
    this.#at++;
    return token;
  }

  #isEndOr(symbol: string): boolean {
    return this.#ahead.kind === 'end' || (this.#ahead.kind === 'symbol' && this.#ahead.text === symbol);
  }

  #requirement(): Requirement {
    const negated = this.#ahead.kind === 'symbol';
    if (negated) this.#take();
    const { kind, text: key } = this.#take();
    if (kind !== 'identifier') throw unparsed(`found '${key}', expected: identifier`);
    const problems = checkLabelKey(key);
    if (problems.length > 0) throw unparsed(`<nil>: Invalid value: ${goQuote(key)}: ${problems.join('; ')}`);
    if (negated) return { key, operator: 'DoesNotExist', values: [] };
    if (this.#isEndOr(',')) return { key, operator: 'Exists', values: [] };
    const { text: symbol } = this.#take();
    const operator = operators[symbol];
    if (operator === undefined) throw unparsed(`found '${symbol}', expected: in, notin, =, ==, !=, gt, lt`);
    const values = [...new Set(symbol === 'in' || symbol === 'notin' ? this.#values() : [this.#exactValue()])].sort();
    checkValues(key, operator, values);
    return { key, operator, values };
  }

  #exactValue(): string {
    if (this.#isEndOr(',')) return '';
    const { kind, text } = this.#take();
    if (kind !== 'identifier') throw unparsed(`found '${text}', expected: identifier`);
    return text;
  }

  /** Values between commas may be empty: `(a,)` contains the empty value, too, and `()` only that. */
  #values(): string[] {
    const open = this.#take();
    if (open.text !== '(') throw unparsed(`found '${open.text}' expected: '('`);
    const first = this.#ahead;
    if (first.kind !== 'identifier' && first.text !== ',' && first.text !== ')')
      throw unparsed(`found '${first.text}', expected: ',', ')' or identifier`);
    const values: string[] = [];
    for (;;) {
      if (this.#ahead.kind === 'identifier') values.push(this.#take().text);
      else if (this.#ahead.text === ',' || this.#ahead.text === ')') values.push('');
      else throw unparsed(`found '${this.#ahead.text}', expected: ',', or identifier`);
      const next = this.#take();
      if (next.text === ')' && next.kind === 'symbol') return values;
      if (next.text !== ',') throw unparsed(`found '${next.text}', expected: ',' or ')'`);
    }
  }
}

const unparsed = (problem: string): SelectorError => new SelectorError(`unable to parse requirement: ${problem}`);

function checkValues(key: string, operator: SelectorOperator, values: readonly string[]): void {
  const problems = new Set<string>();
  const whole = operator === 'Gt' || operator === 'Lt';
  for (const [index, value] of values.entries()) {
    if (whole && !isInt64(value))
      problems.add(
        `values[${index}]: Invalid value: ${goQuote(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    const wrong = checkLabelValue(value);
    if (wrong.length > 0)
      problems.add(`values[${index}][${key}]: Invalid value: ${goQuote(value)}: ${wrong.join('; ')}`);
  }
  if (problems.size > 0) throw unparsed(problems.size === 1 ? [...problems].join('') : `[${[...problems].join(', ')}]`);
}

const isInt64 = (text: string): boolean =>
  /^[-+]?\d+$/.test(text) && BigInt.asIntN(64, BigInt(text.replace('+', ''))) === BigInt(text.replace('+', ''));

export interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/**
 * Parses `metadata.name=a,status.phase!=Running`. In values, a backslash escapes `\`, `,` and `=`. A string result is
 * the error, in the API server's words (apimachinery fields/selector.go).
 */
export function parseFieldSelector(text: string): FieldRequirement[] | string {
  const requirements: FieldRequirement[] = [];
  // A term ends at a comma that is not escaped.
  for (const term of (text.match(/(?:\\[\s\S]|[^,\\]|\\$)+/g) ?? []).sort()) {
    const split = /^(?<field>.*?)(?<operator>!=|==|=)(?<value>[^]*)$/s.exec(term)?.groups;
    if (split === undefined) return `invalid selector: '${text}'; can't understand '${term}'`;
    const { field = '', operator, value: escaped = '' } = split;
    const value = unescapeValue(escaped);
    if ('problem' in value) return value.problem;
    requirements.push({ field, equal: operator !== '!=', value: value.text });
  }
  return requirements;
}

function unescapeValue(escaped: string): { readonly text: string } | { readonly problem: string } {
  let text = '';
  const characters = [...escaped];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (character === ',' || character === '=')
      return { problem: `invalid field selector: unescaped character in value: ${character.charCodeAt(0)}` };
    if (character !== '\\') {
      text += character;
      continue;
    }
    const next = characters[++at] ?? '';
    if (next === '' || !'\\,='.includes(next))
      return { problem: `invalid field selector: invalid escape sequence: \\${next}` };
    text += next;
  }
  return { text };
}

/** The value that a selector requires of the field, if it requires one (apimachinery fields RequiresExactMatch). */
export function exactMatch(requirements: readonly FieldRequirement[], field: string): string | undefined {
  return requirements.find((each) => each.equal && each.field === field)?.value;
}

/** A selector for the objects whose field has this value; special characters are escaped. */
export const fieldEquals = (field: string, value: string): string =>
  formatFieldSelector([{ field, equal: true, value }]);

export function formatFieldSelector(requirements: readonly FieldRequirement[]): string {
  return requirements
    .map(
      ({ field, equal, value }) =>
        `${field}${equal ? '=' : '!='}${value.replaceAll(/[\\,=]/g, (character) => `\\${character}`)}`,
    )
    .join(',');
}

/** The fields of a pod that field selectors may name (core/v1 conversion.go). */
export function podFields(pod: Pod): Readonly<Record<string, string>> {
  return {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'spec.nodeName': pod.spec.nodeName ?? '',
    'spec.restartPolicy': pod.spec.restartPolicy ?? '',
    'spec.schedulerName': pod.spec.schedulerName ?? '',
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? '',
    'spec.hostNetwork': String(pod.spec.hostNetwork ?? false),
    'status.phase': pod.status?.phase ?? '',
    'status.podIP': pod.status?.podIP ?? '',
    'status.nominatedNodeName': pod.status?.nominatedNodeName ?? '',
  };
}

/** Whether all requirements match; a field that does not exist equals no value. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fields: Readonly<Record<string, string>>,
): boolean {
  return requirements.every(({ field, equal, value }) => (ownValue(fields, field) === value) === equal);
}

/** The same, prepared for matching many objects: the cost per object depends only on its fields. */
export function compileFields(
  requirements: readonly FieldRequirement[],
): (fields: Readonly<Record<string, string>>) => boolean {
  const byField = new Map<string, { readonly equal: Set<string>; readonly unequal: Set<string> }>();
  for (const { field, equal, value } of requirements) {
    let values = byField.get(field);
    if (values === undefined) byField.set(field, (values = { equal: new Set(), unequal: new Set() }));
    (equal ? values.equal : values.unequal).add(value);
  }
  const all = [...byField];
  return (fields) =>
    all.every(([field, { equal, unequal }]) => {
      const value = ownValue(fields, field);
      if (value === undefined) return equal.size === 0;
      return (equal.size === 0 || (equal.size === 1 && equal.has(value))) && !unequal.has(value);
    });
}
