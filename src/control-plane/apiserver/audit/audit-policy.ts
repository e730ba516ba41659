import { isRecord } from '../../../base/json-record.ts';
import type { UserInfo } from '../../model/user-info.ts';
import type { RequestInfo } from '../path/request-info.ts';

export type AuditLevel = 'None' | 'Metadata' | 'Request' | 'RequestResponse';
export type AuditStage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly {
    readonly group: string;
    readonly resources: readonly string[];
    readonly resourceNames: readonly string[];
  }[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly string[];
  readonly omitManagedFields: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: readonly string[];
  readonly omitManagedFields: boolean;
}

const levels = new Set<string>(['None', 'Metadata', 'Request', 'RequestResponse']);
const stages = new Set<string>(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']);

/** Parses the policy. Returns the policy, or the errors of its file. */
export function parseAuditPolicy(
  value: unknown,
): { readonly policy: AuditPolicy } | { readonly errors: readonly string[] } {
  const errors: string[] = [];
  if (!isRecord(value)) return { errors: ['an audit policy must be an object'] };
  if (value.apiVersion !== 'audit.k8s.io/v1' || value.kind !== 'Policy')
    errors.push(
      `unknown group version field ${JSON.stringify(value.apiVersion ?? '')} or kind ${JSON.stringify(value.kind ?? '')}: audit.k8s.io/v1 Policy is read`,
    );
  const omitStages = strings(value.omitStages, 'omitStages', errors);
  checkStages(omitStages, 'omitStages', errors);
  const given = Array.isArray(value.rules) ? (value.rules as readonly unknown[]) : [];
  if (given.length === 0) errors.push('rules: Required value: a policy needs at least one rule');
  const rules = given.map((rule, index) =>
    parseRule(rule, { at: `rules[${index}]`, omitStages, omitManagedFields: value.omitManagedFields === true, errors }),
  );
  return errors.length > 0 ? { errors } : { policy: { rules } };
}

interface Around {
  readonly at: string;
  readonly omitStages: readonly string[];
  readonly omitManagedFields: boolean;
  readonly errors: string[];
}

function parseRule(value: unknown, { at, omitStages, omitManagedFields, errors }: Around): AuditRule {
  const rule = isRecord(value) ? value : {};
  if (typeof rule.level !== 'string' || !levels.has(rule.level))
    errors.push(
      `${at}.level: Unsupported value: ${JSON.stringify(rule.level ?? '')}: supported values: ${[...levels].map((each) => `"${each}"`).join(', ')}`,
    );
  const own = strings(rule.omitStages, `${at}.omitStages`, errors);
  checkStages(own, `${at}.omitStages`, errors);
  const nonResourceURLs = strings(rule.nonResourceURLs, `${at}.nonResourceURLs`, errors);
  const namespaces = strings(rule.namespaces, `${at}.namespaces`, errors);
  const listed = Array.isArray(rule.resources) ? (rule.resources as readonly unknown[]) : [];
  if (nonResourceURLs.length > 0 && (listed.length > 0 || namespaces.length > 0))
    errors.push(
      `${at}.nonResourceURLs: Invalid value: rules cannot apply to both regular resources and non-resource URLs`,
    );
  for (const url of nonResourceURLs)
    if (url !== '*' && (!url.startsWith('/') || url.slice(0, -1).includes('*')))
      errors.push(`${at}.nonResourceURLs: Invalid value: ${JSON.stringify(url)}`);
  const resources = listed.map((each, index) => {
    const found = isRecord(each) ? each : {};
    const place = `${at}.resources[${index}]`;
    return {
      group: typeof found.group === 'string' ? found.group : '',
      resources: strings(found.resources, `${place}.resources`, errors),
      resourceNames: strings(found.resourceNames, `${place}.resourceNames`, errors),
    };
  });
  return {
    level: rule.level as AuditLevel,
    users: strings(rule.users, `${at}.users`, errors),
    userGroups: strings(rule.userGroups, `${at}.userGroups`, errors),
    verbs: strings(rule.verbs, `${at}.verbs`, errors),
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: [...new Set([...omitStages, ...own])],
    omitManagedFields: typeof rule.omitManagedFields === 'boolean' ? rule.omitManagedFields : omitManagedFields,
  };
}

function strings(value: unknown, at: string, errors: string[]): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  errors.push(`${at}: Invalid value: must be a list of strings`);
  return [];
}

function checkStages(given: readonly string[], at: string, errors: string[]): void {
  for (const each of given)
    if (!stages.has(each)) errors.push(`${at}: Invalid value: ${JSON.stringify(each)}: no such stage`);
}

const nothing: AuditDecision = { level: 'None', omitStages: [], omitManagedFields: false };

/** Decides by the first matching rule. Requests without a matching rule are not logged. */
export function decideAudit({ rules }: AuditPolicy, user: UserInfo, info: RequestInfo): AuditDecision {
  return rules.find((rule) => fits(rule, user, info)) ?? nothing;
}

function fits(rule: AuditRule, user: UserInfo, info: RequestInfo): boolean {
  if (rule.users.length > 0 && !rule.users.includes(user.name)) return false;
  if (rule.userGroups.length > 0 && !rule.userGroups.some((group) => user.groups.includes(group))) return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(info.verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0) return fitsResource(rule, info);
  return (
    rule.nonResourceURLs.length === 0 ||
    (!info.resourceRequest && rule.nonResourceURLs.some((url) => fitsUrl(url, info.path)))
  );
}

function fitsResource(rule: AuditRule, info: RequestInfo): boolean {
  if (!info.resourceRequest) return false;
  if (rule.namespaces.length > 0 && !rule.namespaces.includes(info.namespace)) return false;
  if (rule.resources.length === 0) return true;
  return rule.resources.some(({ group, resources, resourceNames }) => {
    if (group !== info.group) return false;
    if (resources.length === 0) return true;
    if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
    const { resource, subresource } = info;
    const whole = subresource === '' ? resource : `${resource}/${subresource}`;
    return resources.some(
      (each) =>
        each === '*' ||
        each === whole ||
        (subresource !== '' && (each === `*/${subresource}` || each === `${resource}/*`)),
    );
  });
}

const fitsUrl = (url: string, path: string): boolean =>
  url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)));
