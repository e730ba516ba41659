import type { LabelSelector } from './core/meta.ts';
import type { Pod } from './core/pod.ts';

export type Labels = Readonly<Record<string, string>>;
export type SelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
export interface Requirement {
  readonly key: string;
  readonly operator: SelectorOperator;
  readonly values: readonly string[];
}

/** An absent selector selects nothing, an empty one everything (meta/v1 LabelSelector). */
export function matchesLabelSelector(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) if (!matchesRequirement({ key, operator: 'In', values: [value] }, labels)) return false;
  return (selector.matchExpressions ?? []).every((expression) =>
    matchesRequirement({ key: expression.key, operator: expression.operator, values: expression.values ?? [] }, labels),
  );
}

/** NotIn and DoesNotExist also hold for a missing key; Gt and Lt compare whole numbers (node selectors only). */
export function matchesRequirement(requirement: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && requirement.values.includes(value);
    case 'NotIn':
      return value === undefined || !requirement.values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt':
      return comparesWhole(requirement, value);
  }
}

function comparesWhole(requirement: Requirement, value: string | undefined): boolean {
  const [bound] = requirement.values;
  if (value === undefined || bound === undefined || requirement.values.length !== 1) return false;
  if (!/^[-+]?[0-9]+$/.test(value) || !/^[-+]?[0-9]+$/.test(bound)) return false;
  return requirement.operator === 'Gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
}

const setBased = /^([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const equality = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$/;

/** Parses `a=b,c!=d,e in (x,y),!f,g`. A string result says what is wrong. */
export function parseLabelSelector(text: string): Requirement[] | string {
  const requirements: Requirement[] = [];
  for (const clause of splitClauses(text)) {
    const requirement = parseClause(clause.trim());
    if (requirement === undefined) return `unable to parse requirement ${JSON.stringify(clause.trim())} of selector ${JSON.stringify(text)}`;
    requirements.push(requirement);
  }
  return requirements;
}

function splitClauses(text: string): string[] {
  return text.trim() === '' ? [] : text.split(/,(?![^(]*\))/);
}

function parseClause(clause: string): Requirement | undefined {
  const set = setBased.exec(clause);
  if (set !== null) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return { key: set[1] ?? '', operator: set[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const pair = equality.exec(clause);
  if (pair !== null) return { key: pair[1] ?? '', operator: pair[2] === '!=' ? 'NotIn' : 'In', values: [pair[3] ?? ''] };
  const bare = /^(!?)\s*([^\s!=,()]+)$/.exec(clause);
  if (bare === null) return undefined;
  return { key: bare[2] ?? '', operator: bare[1] === '!' ? 'DoesNotExist' : 'Exists', values: [] };
}

export interface FieldRequirement {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Parses `metadata.name=a,status.phase!=Running`. A string result says what is wrong. */
export function parseFieldSelector(text: string): FieldRequirement[] | string {
  if (text.trim() === '') return [];
  const requirements: FieldRequirement[] = [];
  for (const clause of text.split(',')) {
    const match = /^\s*([\w.-]+)\s*(==|=|!=)\s*(.*?)\s*$/.exec(clause);
    if (match === null) return `invalid selector: ${JSON.stringify(text)}; can't understand ${JSON.stringify(clause)}`;
    requirements.push({ field: match[1] ?? '', equal: match[2] !== '!=', value: match[3] ?? '' });
  }
  return requirements;
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

/** Whether all requirements hold; a field that does not exist never equals anything. */
export function matchesFields(requirements: readonly FieldRequirement[], fields: Readonly<Record<string, string>>): boolean {
  return requirements.every(({ field, equal, value }) => (fields[field] === value) === equal);
}
