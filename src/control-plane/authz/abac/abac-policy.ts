import { KubeletError } from '../../../base/errors.ts';

/**
 * A line of a policy file (abac.authorization.kubernetes.io/v1beta1 Policy). '' matches only an empty value, `*`
 * everything.
 */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

const texts = ['user', 'group', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'] as const;

/**
 * Parses a file with one JSON object per line. Empty lines and comments with # are skipped. Throws `Invalid` with file
 * and line.
 */
export function parseAbacPolicies(file: string, content: string): readonly AbacPolicy[] {
  return content.split('\n').flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    const fail = (why: string): never => {
      throw new KubeletError('Invalid', `error reading policy file ${file}, line ${index + 1}: ${trimmed}: ${why}`, {
        op: 'read authorization policy',
      });
    };
    return [parseLine(trimmed, fail)];
  });
}

function parseLine(line: string, fail: (why: string) => never): AbacPolicy {
  const value = parseJson(line, fail);
  if (value['apiVersion'] === undefined && value['kind'] === undefined) return parseUnversioned(value, fail);
  if (value['apiVersion'] !== 'abac.authorization.kubernetes.io/v1beta1' || value['kind'] !== 'Policy') {
    return fail(
      `no kind ${JSON.stringify(value['kind'] ?? '')} is registered for version ${JSON.stringify(value['apiVersion'] ?? '')}; expected Policy of abac.authorization.kubernetes.io/v1beta1`,
    );
  }
  const { spec } = value;
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) return fail('spec must be an object');
  return readSpec(spec as Record<string, unknown>, fail);
}

function parseJson(line: string, fail: (why: string) => never): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('not an object');
  return value as Record<string, unknown>;
}

function readSpec(spec: Record<string, unknown>, fail: (why: string) => never): AbacPolicy {
  const unknown = Object.keys(spec).find((key) => key !== 'readonly' && !(texts as readonly string[]).includes(key));
  if (unknown !== undefined) fail(`unknown field ${JSON.stringify(unknown)}`);
  const text = (key: (typeof texts)[number]): string => {
    const value = spec[key] ?? '';
    return typeof value === 'string' ? value : fail(`${key} must be a string`);
  };
  const readonly = spec['readonly'] ?? false;
  if (typeof readonly !== 'boolean') return fail('readonly must be true or false');
  const [user, group] = [text('user'), text('group')];
  return {
    user,
    group,
    readonly,
    apiGroup: text('apiGroup'),
    resource: text('resource'),
    namespace: text('namespace'),
    nonResourcePath: text('nonResourcePath'),
  };
}

/** Lines without a version (v0): absent fields match everything (upstream: pkg/apis/abac/v0 conversion). */
function parseUnversioned(value: Record<string, unknown>, fail: (why: string) => never): AbacPolicy {
  const old = readSpec(value, fail);
  const everybody = (old.user === '' && old.group === '') || old.user === '*' || old.group === '*';
  return {
    ...old,
    ...(everybody && { user: '', group: 'system:authenticated' }),
    apiGroup: '*',
    resource: old.resource === '' ? '*' : old.resource,
    namespace: old.namespace === '' ? '*' : old.namespace,
    nonResourcePath: old.resource === '' && old.namespace === '' ? '*' : '',
  };
}
