import assert from 'node:assert/strict';
import test from 'node:test';
import { standardFlowSchemas, standardPriorityLevels } from '../../../api/flowcontrol/standard-objects.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const version = 'flowcontrol.apiserver.k8s.io/v1';
const rule = {
  subjects: [{ kind: 'User', user: { name: 'me' } }],
  nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
};
const schemas = new RulesFixture(version, 'FlowSchema', {
  spec: { priorityLevelConfiguration: { name: 'global-default' }, rules: [rule] },
});
const levels = new RulesFixture(version, 'PriorityLevelConfiguration', {
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
});

test('the examples and all standard objects are accepted, and defaulting them changes nothing', () => {
  assert.deepEqual([schemas.refusals(), levels.refusals()], [[], []]);
  for (const [fixture, objects] of [
    [schemas, standardFlowSchemas],
    [levels, standardPriorityLevels],
  ] as const)
    for (const { name, spec } of objects) {
      const changes = { 'metadata.name': name, spec };
      assert.deepEqual(fixture.refusals(changes), [], name);
      assert.deepEqual((fixture.defaulted(changes) as unknown as { spec: unknown }).spec, spec, name);
    }
});

test('mandatory objects keep their spec, but for the shares of the level exempt', () => {
  const [exempt, catchAll] = standardPriorityLevels;
  assert.deepEqual(
    levels.refusals({
      'metadata.name': 'exempt',
      spec: structuredClone(exempt?.spec),
      'spec.exempt.nominalConcurrencyShares': 3,
    }),
    [],
  );
  const [refusal = '', ...more] = levels.refusals({
    'metadata.name': 'catch-all',
    spec: structuredClone(catchAll?.spec),
    'spec.limited.nominalConcurrencyShares': 6,
  });
  assert.equal(more.length, 0);
  assert.match(refusal, /spec of 'catch-all' must equal the fixed value$/);
  const [schema = ''] = schemas.refusals({ 'metadata.name': 'catch-all' });
  assert.match(schema, /spec of 'catch-all' must equal the fixed value$/);
});

test('a schema needs a level, a precedence, subjects and rules', () => {
  assert.deepEqual(schemas.refusals({ 'spec.matchingPrecedence': 1 }), [
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  ]);
  assert.deepEqual(schemas.refusals({ 'spec.priorityLevelConfiguration.name': '' }), [
    'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
  ]);
  assert.deepEqual(schemas.refusals({ 'spec.rules.0': { subjects: [] } }), [
    'spec.rules[0].subjects: Required value: subjects must contain at least one value',
    'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
  ]);
  assert.deepEqual(schemas.refusals({ 'spec.rules.0.subjects.0.kind': 'Group' }), [
    "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
    "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
  ]);
  assert.deepEqual(schemas.refusals({ 'spec.rules.0.nonResourceRules.0.nonResourceURLs': ['/a*'] }), [
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching',
  ]);
});

test('a hand is dealt from the queues, with as many bits as a hash has', () => {
  const at = 'spec.limited.limitResponse.queuing';
  assert.deepEqual(levels.refusals({ [`${at}.queues`]: 4, [`${at}.handSize`]: 5 }), [
    `${at}.handSize: Invalid value: 5: should not be greater than queues (4)`,
  ]);
  assert.deepEqual(levels.refusals({ [`${at}.queues`]: 1024, [`${at}.handSize`]: 7 }), [
    `${at}.handSize: Invalid value: 7: required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60`,
  ]);
  assert.deepEqual(levels.cells(), {
    Type: 'Limited',
    NominalConcurrencyShares: 30,
    Queues: 64,
    HandSize: 8,
    QueueLengthLimit: 50,
  });
});
