import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isKind } from '../../../base/errors.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { podQuestion } from '../../model/testing/pod-question.ts';
import { alwaysAllow, alwaysDeny, systemMasters } from '../fixed-authorizers.ts';
import { unionAuthorizer } from '../union.ts';
import { createAbacAuthorizer } from './abac-authorizer.ts';
import { parseAbacPolicies } from './abac-policy.ts';

const line = (spec: object): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const ask = (name: string, changes: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes =>
  podQuestion({ name, groups: ['system:authenticated'] }, { namespace: 'projectCaribou', ...changes });

/** The examples of upstream's documentation. */
const examples = [
  '# who may what',
  line({ group: 'system:authenticated', nonResourcePath: '*', readonly: true }),
  line({ user: 'alice', namespace: '*', resource: '*', apiGroup: '*' }),
  line({ user: 'kubelet', namespace: '*', resource: 'pods', readonly: true }),
  '',
  line({ user: 'kubelet', namespace: '*', resource: 'events' }),
  line({ user: 'bob', namespace: 'projectCaribou', resource: 'pods', readonly: true }),
  line({ user: 'system:serviceaccount:kube-system:default', namespace: '*', resource: '*', apiGroup: '*' }),
  line({ user: '*', group: 'admins', namespace: '*', resource: 'nodes' }),
].join('\n');

describe('ABAC', () => {
  it('decides the documents’ examples', () => {
    const policies = parseAbacPolicies('policy.jsonl', examples);
    const { authorize } = createAbacAuthorizer(() => policies);
    const allows = (name: string, changes?: Partial<AuthorizationAttributes>): boolean =>
      (authorize(ask(name, changes)) as AuthorizationDecision).decision === 'allow';
    const rows: [name: string, changes: Partial<AuthorizationAttributes>, allowed: boolean][] = [
      ['alice', { verb: 'delete', apiGroup: 'apps', resource: 'deployments' }, true],
      ['kubelet', {}, true],
      ['kubelet', { verb: 'watch' }, true],
      ['kubelet', { verb: 'create' }, false],
      ['kubelet', { verb: 'create', resource: 'events' }, true],
      ['kubelet', { apiGroup: 'apps' }, false],
      ['bob', {}, true],
      ['bob', { namespace: 'other' }, false],
      ['bob', { verb: 'update' }, false],
      ['jane', { resourceRequest: false, path: '/version' }, true],
      ['jane', { resourceRequest: false, path: '/version', verb: 'post' }, false],
      ['jane', { resource: 'nodes', user: { name: 'jane', groups: ['admins'] } }, true],
      ['jane', { resource: 'nodes' }, false],
    ];
    for (const [name, changes, allowed] of rows)
      assert.equal(allows(name, changes), allowed, `${name} ${JSON.stringify(changes)}`);
    assert.deepEqual(authorize(ask('jane')), { decision: 'noOpinion', reason: 'No policy matched.' });
  });

  it('matches no user with a policy that names neither a user nor a group', () => {
    const policies = parseAbacPolicies(
      'f',
      line({ namespace: '*', resource: '*', apiGroup: '*', nonResourcePath: '*' }),
    );
    const { authorize } = createAbacAuthorizer(() => policies);
    for (const changes of [{}, { user: { name: '', groups: [] } }, { resourceRequest: false, path: '/version' }])
      assert.equal((authorize(ask('jane', changes)) as AuthorizationDecision).decision, 'noOpinion');
  });

  it('reads policies from before they had versions: what they leave out matches all who are logged in', () => {
    const [policy] = parseAbacPolicies('f', '{"readonly":true,"resource":"events"}');
    assert.deepEqual(policy, {
      user: '',
      group: 'system:authenticated',
      readonly: true,
      apiGroup: '*',
      resource: 'events',
      namespace: '*',
      nonResourcePath: '',
    });
    assert.equal(parseAbacPolicies('f', '{"user":"admin"}')[0]?.nonResourcePath, '*');
  });

  it('matches a path by its beginning where the policy ends in stars', () => {
    const allows = (pattern: string, path: string): boolean => {
      const { authorize } = createAbacAuthorizer(() =>
        parseAbacPolicies('f', line({ user: '*', nonResourcePath: pattern })),
      );
      const decided = authorize(ask('jane', { resourceRequest: false, path })) as AuthorizationDecision;
      return decided.decision === 'allow';
    };
    assert.deepEqual(
      [allows('/a*', '/a'), allows('/a*', '/a/b'), allows('/a**', '/a/b'), allows('/a*', '/b'), allows('*', '/b')],
      [true, true, true, false, true],
    );
    assert.deepEqual(
      [allows('/a', '/a'), allows('/a', '/a/b'), allows('', '/a'), allows('/a*b', '/a/b'), allows('/a*b*', '/ab')],
      [true, false, false, false, false],
    );
  });

  it('asks for both where a policy names a user and a group', () => {
    const decides = (spec: object, name: string, groups: readonly string[]): boolean => {
      const policies = parseAbacPolicies('f', line({ namespace: '*', resource: '*', apiGroup: '*', ...spec }));
      const { authorize } = createAbacAuthorizer(() => policies);
      return (authorize(ask(name, { user: { name, groups } })) as AuthorizationDecision).decision === 'allow';
    };
    const both = { user: 'jane', group: 'admins' };
    assert.deepEqual(
      [decides(both, 'jane', ['admins']), decides(both, 'jane', ['x']), decides(both, 'bob', ['admins'])],
      [true, false, false],
    );
    assert.deepEqual(
      [decides({ group: '*' }, 'bob', []), decides({ group: 'admins' }, 'bob', ['x', 'admins'])],
      [true, true],
    );
    assert.deepEqual([decides({ user: '*' }, 'bob', []), decides({ user: 'jane' }, 'bob', [])], [true, false]);
  });

  it('widens policies without a version only where they name nothing', () => {
    const read = (text: string) => parseAbacPolicies('f', text)[0];
    for (const text of ['{}', '{"user":"*"}', '{"group":"*"}', '{"user":"*","group":"admins"}'])
      assert.deepEqual([read(text)?.user, read(text)?.group], ['', 'system:authenticated'], text);
    assert.deepEqual([read('{"user":"a"}')?.user, read('{"user":"a"}')?.group], ['a', '']);
    assert.deepEqual([read('{"group":"g"}')?.user, read('{"group":"g"}')?.group], ['', 'g']);
    assert.deepEqual(
      [read('{"namespace":"n"}'), read('{"resource":"r"}')].map((policy) => [
        policy?.resource,
        policy?.namespace,
        policy?.nonResourcePath,
        policy?.readonly,
        policy?.apiGroup,
      ]),
      [
        ['*', 'n', '', false, '*'],
        ['r', '*', '', false, '*'],
      ],
    );
  });

  it('says in which line a file is wrong', () => {
    const fails = (content: string, pattern: RegExp): void =>
      assert.throws(() => parseAbacPolicies('policy.jsonl', content), pattern);
    fails(`${examples}\n{`, /error reading policy file policy\.jsonl, line 10: \{: /);
    fails(line({ user: 7 }), /line 1: .*user must be a string/);
    fails(line({ usr: 'jane' }), /unknown field "usr"/);
    fails('{"apiVersion":"v1","kind":"Pod"}', /no kind "Pod" is registered for version "v1"/);
    fails('[]', /not an object/);
    for (const text of ['null', '"x"', '7']) fails(text, /not an object/);
    const version = '"apiVersion":"abac.authorization.kubernetes.io/v1beta1"';
    fails('{"kind":"Policy"}', /no kind "Policy" is registered for version ""; expected Policy of/);
    fails(`{${version}}`, /no kind "" is registered/);
    fails(`{${version},"kind":"Role"}`, /no kind "Role"/);
    for (const spec of ['null', '[]', '"x"']) fails(`{${version},"kind":"Policy","spec":${spec}}`, /spec must be an/);
    fails(`{${version},"kind":"Policy"}`, /spec must be an object/);
    fails(line({ readonly: 'yes' }), /readonly must be true or false/);
    for (const key of ['group', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'])
      fails(line({ [key]: {} }), new RegExp(`${key} must be a string`));
    fails(`\n  # a comment\n${line({ user: 7 })}`, /policy\.jsonl, line 3: /);
  });

  it('survives any file', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.json(),
            fc.string(),
            fc
              .object({ key: fc.constantFrom('spec', 'user', 'readonly', 'kind', 'apiVersion') })
              .map((value) => JSON.stringify(value)),
          ),
        ),
        (lines) => {
          try {
            parseAbacPolicies('f', lines.join('\n'));
          } catch (error) {
            assert.ok(isKind(error, 'Invalid'), String(error));
          }
        },
      ),
    );
  });

  it('lists what a user may do', async () => {
    const policies = parseAbacPolicies('f', examples);
    const rules = await createAbacAuthorizer(() => policies).rulesFor?.({ name: 'bob', groups: [] }, 'projectCaribou');
    assert.deepEqual(rules?.resourceRules, [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'], resourceNames: [] },
    ]);
    assert.deepEqual([rules?.nonResourceRules, rules?.incomplete], [[], false]);
  });

  it('lists for a namespace the policies for it, for a path those that name one', async () => {
    const policies = parseAbacPolicies('f', examples);
    const rulesFor = createAbacAuthorizer(() => policies).rulesFor;
    assert.deepEqual((await rulesFor?.({ name: 'bob', groups: [] }, 'other'))?.resourceRules, []);
    const everywhere = await rulesFor?.({ name: 'alice', groups: [] }, 'other');
    assert.deepEqual(everywhere?.resourceRules, [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] },
    ]);
    const paths = await rulesFor?.({ name: 'jane', groups: ['system:authenticated'] }, '');
    assert.deepEqual(paths, {
      resourceRules: [],
      nonResourceRules: [{ verbs: ['get', 'list', 'watch'], nonResourceURLs: ['*'] }],
      incomplete: false,
    });
  });
});

describe('the union', () => {
  const never = (reason: string, evaluationError?: string) => ({
    name: 'x',
    authorize: () => ({ decision: 'noOpinion' as const, reason, evaluationError }),
  });

  it('takes the first opinion, and tells all reasons where there is none', async () => {
    const refuse = { name: 'y', authorize: () => Promise.resolve({ decision: 'deny' as const, reason: 'no' }) };
    assert.deepEqual(await unionAuthorizer([never('a'), refuse, alwaysAllow]).authorize(ask('jane')), {
      decision: 'deny',
      reason: 'no',
    });
    assert.deepEqual(await unionAuthorizer([never('a'), never(''), never('b', 'broken')]).authorize(ask('jane')), {
      decision: 'noOpinion',
      reason: 'a\nb',
      evaluationError: 'broken',
    });
    assert.deepEqual(await unionAuthorizer([alwaysDeny]).authorize(ask('jane')), {
      decision: 'noOpinion',
      reason: 'Everything is forbidden.',
    });
  });

  it('lets system:masters do everything, whatever comes after', async () => {
    const user = { name: 'root', groups: ['system:masters'] };
    assert.equal(
      (await unionAuthorizer([systemMasters, alwaysDeny]).authorize(ask('root', { user }))).decision,
      'allow',
    );
  });

  it('lists the rules of all', async () => {
    const rules = await unionAuthorizer([systemMasters, alwaysAllow, alwaysDeny]).rulesFor?.(
      { name: 'jane', groups: [] },
      '',
    );
    assert.deepEqual([rules?.resourceRules.length, rules?.nonResourceRules.length, rules?.incomplete], [1, 1, false]);
  });
});
