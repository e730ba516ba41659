import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { PolicyRule } from '../../../api/rbac/policy-rule.ts';
import { compactRules, missingRules } from './rule-coverage.ts';

const some = (...values: string[]) => fc.array(fc.constantFrom(...values), { maxLength: 3 });
const anyRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: some('get', 'list', '*'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', 'nodes/log', '*/log', '*'),
    resourceNames: some('a', 'b'),
    nonResourceURLs: some('/a', '/a/b', '/a/*', '/a/b**', '*'),
  },
  { requiredKeys: ['verbs'] },
);

/** Expands rules to one verb and one resource, name or path each. */
function writtenOut({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): PolicyRule[] {
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  const ofResources = verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        names.map((name) => ({
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          ...(name !== undefined && { resourceNames: [name] }),
        })),
      ),
    ),
  );
  return [
    ...ofResources,
    ...verbs.flatMap((verb) => nonResourceURLs.map((url) => ({ verbs: [verb], nonResourceURLs: [url] }))),
  ];
}

/**
 * Implements the words of upstream's documentation directly: whether the owner's rule covers a single verb of a single
 * object.
 */
function covers(
  { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule,
  single: PolicyRule,
): boolean {
  const has = (mine: readonly string[], asked: readonly string[] = []): boolean =>
    mine.includes('*') || asked.every((each) => mine.includes(each));
  if (!has(verbs, single.verbs) || !has(apiGroups, single.apiGroups)) return false;
  if (
    !(single.nonResourceURLs ?? []).every((url) =>
      nonResourceURLs.some((mine) => mine === url || (mine.endsWith('*') && url.startsWith(mine.replace(/\*+$/, '')))),
    )
  )
    return false;
  if (
    !(single.resources ?? []).every(
      (resource) => has(resources, [resource]) || resources.includes(`*/${resource.split('/')[1]}`),
    )
  )
    return false;
  return resourceNames.length === 0 || (single.resourceNames ?? []).some((name) => resourceNames.includes(name));
}

const texts = (rules: readonly PolicyRule[]): string[] =>
  [...new Set(rules.flatMap(writtenOut).map((rule) => JSON.stringify(rule)))].sort();

describe('missing rules', () => {
  it('equal the result of checking every verb on every resource against every rule', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 4 }), fc.array(anyRule, { maxLength: 3 }), (owned, asked) => {
        const expected = asked.flatMap(writtenOut).filter((single) => !owned.some((rule) => covers(rule, single)));
        assert.deepEqual(texts(missingRules(owned, asked).rules), texts(expected));
      }),
      { numRuns: 2000 },
    );
  });

  it('of paths are those that no pattern covers', () => {
    const path = fc.stringMatching(/^[/][ab]{0,3}$/);
    const pattern = fc.oneof(
      path,
      path.map((text) => `${text}*`),
      fc.constantFrom('*', '/a*b', '/a*b*', '/a**'),
    );
    const rule = (urls: fc.Arbitrary<string>) =>
      fc.record({ verbs: some('get', '*'), nonResourceURLs: fc.array(urls, { maxLength: 4 }) });
    fc.assert(
      fc.property(fc.array(rule(pattern), { maxLength: 4 }), rule(pattern), (owned, asked) => {
        const expected = writtenOut(asked).filter((single) => !owned.some((one) => covers(one, single)));
        assert.deepEqual(texts(missingRules(owned, [asked]).rules), texts(expected));
      }),
      { numRuns: 1000 },
    );
  });

  it('are listed up to the limit, with a note only if there are more', () => {
    const asked = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'nodes'] }];
    const listed = (limit: number): [verbs: number, hasMore: boolean] => {
      const { rules, hasMore } = missingRules(
        [{ verbs: ['get'], apiGroups: ['apps'], resources: ['*'] }],
        asked,
        limit,
      );
      return [rules.reduce((sum, { verbs }) => sum + verbs.length, 0), hasMore];
    };
    assert.deepEqual([1, 2, 3, 4, 5].map(listed), [
      [1, true],
      [2, true],
      [3, true],
      [4, false],
      [4, false],
    ]);
  });

  it('on the same resources are combined in messages, and paths are listed one by one', () => {
    const compact = compactRules([
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['list', 'get'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
      { verbs: ['get', 'post'], nonResourceURLs: ['/x'] },
    ]);
    assert.deepEqual(compact, [
      { verbs: ['get'], nonResourceURLs: ['/x'] },
      { verbs: ['post'], nonResourceURLs: ['/x'] },
      { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
    ]);
  });

  it('of a rule with a hundred million combinations are listed up to the limit', () => {
    const names = (prefix: string): string[] => Array.from({ length: 500 }, (_, index) => `${prefix}${index}`);
    const asked = [{ verbs: names('v'), apiGroups: names('g'), resources: names('r') }];
    const { rules, hasMore } = missingRules(
      [{ verbs: names('v'), apiGroups: names('g').slice(1), resources: names('r') }],
      asked,
      700,
    );
    assert.deepEqual(
      [
        rules.length,
        rules.flatMap(({ verbs }) => verbs).length,
        hasMore,
        new Set(rules.flatMap(({ apiGroups }) => apiGroups)),
      ],
      [2, 700, true, new Set(['g0'])],
    );
    assert.deepEqual(missingRules([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], asked, 700), {
      rules: [],
      hasMore: false,
    });
  });

  it('count as missing when the comparison takes too long', () => {
    const many = (count: number, make: (index: number) => string): string[] =>
      Array.from({ length: count }, (_, index) => make(index));
    const owned = many(64, String).map((_, bit) => ({
      verbs: many(3000, (index) => `v${index % (bit + 2)}-${index}`),
      apiGroups: many(3000, (index) => (index % (bit + 2) === 0 ? `g${index}` : 'none')),
      resources: many(3000, (index) => (index % (bit + 3) === 0 ? `r${index}` : 'none')),
    }));
    const asked = [
      {
        verbs: many(3000, (index) => `v${index}`),
        apiGroups: many(3000, (index) => `g${index}`),
        resources: many(3000, (index) => `r${index}`),
      },
    ];
    assert.equal(missingRules(owned, asked, 10).hasMore, true);
  });
});
