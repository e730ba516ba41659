import type { PolicyRule } from '../../../api/rbac/policy-rule.ts';

const verbSets: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  write: ['create', 'delete', 'deletecollection', 'patch', 'update'],
};

/**
 * A rule from its short form: `verbs groups resources [names]` or `verbs url paths`, each a list with commas. `read` and `write` stand for the usual
 * verbs, `core` for the group ''.
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

/** Whether the rule gives what is asked for (upstream: rbac.RuleAllows). */
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
    urls.some((url) => url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, ''))))
  );
}

/** The rule of `owner` gives at least what `single` gives, which has one verb and one target (upstream: validation.ruleCovers). */
function covers(owner: PolicyRule, single: PolicyRule): boolean {
  if (!hasAll(owner.verbs, single.verbs) || !hasAll(owner.apiGroups, single.apiGroups)) return false;
  if (
    !(single.nonResourceURLs ?? []).every((url) => (owner.nonResourceURLs ?? []).some((mine) => urlCovers(mine, url)))
  )
    return false;
  if (!(single.resources ?? []).every((resource) => resourceCovers(owner.resources ?? [], resource))) return false;
  const mine = owner.resourceNames ?? [];
  return (
    mine.length === 0 ||
    ((single.resourceNames ?? []).length > 0 && (single.resourceNames ?? []).every((name) => mine.includes(name)))
  );
}

function hasAll(mine: readonly string[] | undefined, asked: readonly string[] | undefined): boolean {
  const have = mine ?? [];
  return have.includes('*') || (asked ?? []).every((each) => have.includes(each));
}

function urlCovers(mine: string, asked: string): boolean {
  return mine === asked || (mine.endsWith('*') && asked.startsWith(mine.replace(/\*+$/, '')));
}

function resourceCovers(mine: readonly string[], asked: string): boolean {
  if (mine.includes('*') || mine.includes(asked)) return true;
  const slash = asked.indexOf('/');
  return slash >= 0 && mine.includes(`*/${asked.slice(slash + 1)}`);
}

/** The rule as rules of one verb and one resource, name or path each. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  const names = rule.resourceNames ?? [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (names.length === 0) parts.push(part);
        else for (const name of names) parts.push({ ...part, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? [])
    for (const verb of rule.verbs) parts.push({ verbs: [verb], nonResourceURLs: [url] });
  return parts;
}

/** What `asked` gives and `owned` does not, in single verbs and targets; empty when `owned` covers it all. */
export function missingRules(owned: readonly PolicyRule[], asked: readonly PolicyRule[]): readonly PolicyRule[] {
  return asked.flatMap(breakDown).filter((part) => !owned.some((rule) => covers(rule, part)));
}

/** Single rules about the same resource and name become one with all their verbs, for people to read. */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames ?? []]);
    const known = merged.get(key);
    merged.set(key, known === undefined ? rule : { ...known, verbs: [...known.verbs, ...rule.verbs] });
  }
  return [...others, ...merged.values()];
}
