import type { PolicyRule } from '../../../api/rbac/policy-rule.ts';

const verbSets: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  write: ['create', 'delete', 'deletecollection', 'patch', 'update'],
};

/**
 * Parses a rule in short form: `verbs groups resources [names]` or `verbs url paths`, each a list with commas. `read`
 * and `write` mean the usual verbs, and `core` the group ''.
 */
export function parseRule(text: string): PolicyRule {
  const [verbText = '', groupText = '', targets = '', names] = text.split(' ');
  const verbs = verbText.split(',').flatMap((verb) => verbSets[verb] ?? [verb]);
  verbs.sort();
  if (groupText === 'url') return { verbs, nonResourceURLs: targets.split(',') };
  const apiGroups = groupText.split(',').map((group) => (group === 'core' ? '' : group));
  return {
    verbs,
    apiGroups,
    resources: targets.split(','),
    ...(names !== undefined && { resourceNames: names.split(',') }),
  };
}

export interface RuleQuestion {
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
}

/** Whether the rule allows the request (upstream: rbac.RuleAllows). */
export function ruleAllows(rule: PolicyRule, question: RuleQuestion): boolean {
  if (!rule.verbs.includes(question.verb) && !rule.verbs.includes('*')) return false;
  if (!question.resourceRequest) return pathMatches(rule.nonResourceURLs, question.path);
  const { apiGroups, resourceNames } = rule;
  if (apiGroups === undefined || (!apiGroups.includes(question.apiGroup) && !apiGroups.includes('*'))) return false;
  if (!resourceMatches(rule.resources, question)) return false;
  return resourceNames === undefined || resourceNames.length === 0 || resourceNames.includes(question.name);
}

function resourceMatches(resources: readonly string[] | undefined, { resource, subresource }: RuleQuestion): boolean {
  if (resources === undefined) return false;
  if (resources.includes('*')) return true;
  if (subresource === '') return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

function pathMatches(urls: readonly string[] | undefined, path: string): boolean {
  return (
    urls !== undefined &&
    urls.some((url) => url === path || (url.endsWith('*') && path.startsWith(url.replace(/(?<!\*)\*+$/, ''))))
  );
}
