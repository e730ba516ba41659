import type { PolicyRule } from '../../../api/rbac/policy-rule.ts';

/**
 * Computes the permissions of some rules that other rules do not grant (upstream: validation.Covers). A rule stands for
 * the product of its verbs, groups, resources and names: expanded, a rule of a kilobyte can be a million permissions.
 * Therefore values that are covered by the same rules are compared together, and only missing permissions are expanded.
 */
export interface MissingRules {
  /** Each entry is for one resource and name, or for one path. */
  readonly rules: readonly PolicyRule[];
  /** Whether there are more than are listed. */
  readonly hasMore: boolean;
}

/**
 * The limit of comparisons. Rules can be constructed whose comparison takes any time, while real ones need a thousandth
 * of this. Permissions that were not compared count as missing.
 */
const MOST_STEPS = 500_000;

/** The permissions of `asked` that no single rule of `owned` grants; a limited number of them is listed. */
export function missingRules(
  owned: readonly PolicyRule[],
  asked: readonly PolicyRule[],
  limit = Number.POSITIVE_INFINITY,
): MissingRules {
  const coverage = new Coverage(owned);
  const rules: PolicyRule[] = [];
  let listed = 0;
  for (const rule of asked) {
    for (const missing of coverage.missingOf(rule)) {
      if (listed >= limit) return { rules, hasMore: true };
      const verbs = missing.verbs.slice(0, limit - listed);
      rules.push({ ...missing, verbs });
      listed += verbs.length;
      if (verbs.length < missing.verbs.length) return { rules, hasMore: true };
    }
  }
  return { rules, hasMore: false };
}

/** Merges rules about the same resource and name into one with all their verbs, for users. */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const merged = new Map<string, { readonly rule: PolicyRule; readonly verbs: Set<string> }>();
  const others: PolicyRule[] = [];
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) {
      others.push(...rule.verbs.map((verb) => ({ ...rule, verbs: [verb] })));
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames ?? []]);
    const { verbs } = merged.get(key) ??
      merged.set(key, { rule, verbs: new Set() }).get(key) ?? { verbs: new Set<string>() };
    for (const verb of rule.verbs) verbs.add(verb);
  }
  return [...others, ...[...merged.values()].map(({ rule, verbs }) => ({ ...rule, verbs: [...verbs] }))];
}

/** One dimension of a rule: the requested values, and which of the owned rules cover each of them. */
interface Dimension {
  readonly values: readonly string[];
  readonly covering: (value: string, candidates: readonly Owned[]) => readonly Owned[];
}

/** Owned rules with an index, so that unrelated rules are not visited. */
class Owned {
  readonly #rule: PolicyRule;
  readonly #sets = new Map<'verbs' | 'apiGroups' | 'resourceNames', ReadonlySet<string>>();

  constructor(rule: PolicyRule) {
    this.#rule = rule;
  }

  get hasAnyName(): boolean {
    return (this.#rule.resourceNames ?? []).length === 0;
  }

  has(field: 'verbs' | 'apiGroups' | 'resourceNames', value: string): boolean {
    let set = this.#sets.get(field);
    if (set === undefined) this.#sets.set(field, (set = new Set(this.#rule[field])));
    return set.has(value);
  }
}

class Coverage {
  readonly #byResource = new Map<string, Owned[]>();
  readonly #byUrl: { readonly url: string; readonly rule: Owned }[] = [];
  #steps = 0;

  constructor(owned: readonly PolicyRule[]) {
    for (const given of owned) {
      const { resources, nonResourceURLs = [] } = given;
      const rule = new Owned(given);
      for (const resource of new Set(resources)) {
        const known = this.#byResource.get(resource);
        if (known === undefined) this.#byResource.set(resource, [rule]);
        else known.push(rule);
      }
      // Paths have no names, so a rule with resource names grants no path.
      if (rule.hasAnyName) for (const url of new Set(nonResourceURLs)) this.#byUrl.push({ url, rule });
    }
  }

  *missingOf({
    verbs,
    apiGroups = [],
    resources = [],
    resourceNames = [],
    nonResourceURLs = [],
  }: PolicyRule): Generator<PolicyRule> {
    const askedVerbs = this.#among(verbs, (rule, verb) => rule.has('verbs', verb) || rule.has('verbs', '*'));
    const askedGroups = this.#among(
      apiGroups,
      (rule, group) => rule.has('apiGroups', group) || rule.has('apiGroups', '*'),
    );
    const askedNames = this.#among(
      resourceNames.length === 0 ? [''] : resourceNames,
      (rule, name) => rule.hasAnyName || (resourceNames.length > 0 && rule.has('resourceNames', name)),
    );
    for (const [targets = [], groups = [], names = [], missing = []] of this.#uncovered([
      this.#resources(resources),
      askedGroups,
      askedNames,
      askedVerbs,
    ])) {
      for (const group of groups) {
        for (const resource of targets) {
          for (const name of names)
            yield {
              verbs: [...missing],
              apiGroups: [group],
              resources: [resource],
              ...(resourceNames.length > 0 && { resourceNames: [name] }),
            };
        }
      }
    }
    for (const [urls = [], missing = []] of this.#uncovered([this.#urls(nonResourceURLs), askedVerbs]))
      for (const url of urls) yield { verbs: [...missing], nonResourceURLs: [url] };
  }

  /** Generates disjoint boxes: subsets of the values of each dimension whose combinations no owned rule covers. */
  *#uncovered(
    dimensions: readonly Dimension[],
    candidates: readonly Owned[] = [],
  ): Generator<readonly (readonly string[])[]> {
    const [first, ...others] = dimensions;
    if (first === undefined || dimensions.some(({ values }) => values.length === 0)) return;
    for (const { values, covering } of this.#classes(first, candidates)) {
      if (covering.length === 0) yield [values, ...others.map((each) => each.values)];
      else if (others.length > 0) for (const rest of this.#uncovered(others, covering)) yield [values, ...rest];
    }
  }

  /** Groups the values by the candidates that cover them. */
  #classes(
    { values, covering }: Dimension,
    candidates: readonly Owned[],
  ): Iterable<{ readonly values: string[]; readonly covering: readonly Owned[] }> {
    const numbers = new Map<Owned, number>();
    const classes = new Map<string, { values: string[]; covering: readonly Owned[] }>();
    for (const value of values) {
      const found = this.#steps > MOST_STEPS ? [] : covering(value, candidates);
      const key = found.map((rule) => numbers.get(rule) ?? numbers.set(rule, numbers.size).size - 1).join();
      const known = classes.get(key);
      if (known === undefined) classes.set(key, { values: [value], covering: found });
      else known.values.push(value);
    }
    return classes.values();
  }

  #among(asked: readonly string[], covers: (rule: Owned, value: string) => boolean): Dimension {
    const covering: Dimension['covering'] = (value, candidates) => {
      this.#steps += candidates.length + 1;
      return candidates.filter((rule) => covers(rule, value));
    };
    return { values: [...new Set(asked)], covering };
  }

  #resources(asked: readonly string[]): Dimension {
    const rulesOf = (resource: string): readonly Owned[] => this.#byResource.get(resource) ?? [];
    const covering = (resource: string): readonly Owned[] => {
      const slash = resource.indexOf('/');
      const found = [...rulesOf('*'), ...rulesOf(resource), ...(slash < 0 ? [] : rulesOf(`*${resource.slice(slash)}`))];
      this.#steps += found.length + 1;
      return [...new Set(found)];
    };
    return { values: [...new Set(asked)], covering };
  }

  /**
   * Returns the paths. In sorted order, texts with a common prefix are adjacent, so no path is compared with all
   * patterns.
   */
  #urls(asked: readonly string[]): Dimension {
    const found = new Map(asked.map((url) => [url, new Set<Owned>()]));
    if (found.size === 0) return { values: [], covering: () => [] };
    for (const { url, rule } of this.#byUrl) found.get(url)?.add(rule);
    const patterns = this.#byUrl
      .filter(({ url }) => url.endsWith('*'))
      .map(({ url, rule }) => ({ text: url.replace(/(?<!\*)\*+$/, ''), rule }));
    const texts: readonly { readonly text: string; readonly rule?: Owned }[] = [
      ...patterns,
      ...[...found.keys()].map((text) => ({ text })),
    ];
    const starts: typeof patterns = [];
    for (const { text, rule } of texts.toSorted((one, other) =>
      one.text < other.text ? -1 : one.text > other.text ? 1 : 0,
    )) {
      while (starts.length > 0 && !text.startsWith(starts.at(-1)?.text ?? '')) starts.pop();
      if (rule !== undefined) starts.push({ text, rule });
      else if ((this.#steps += starts.length + 1) <= MOST_STEPS)
        for (const start of starts) found.get(text)?.add(start.rule);
    }
    return { values: [...found.keys()], covering: (url) => [...(found.get(url) ?? [])] };
  }
}
