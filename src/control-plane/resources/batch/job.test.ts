import assert from 'node:assert/strict';
import test from 'node:test';
import type { Job } from '../../../api/batch/job.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const container = { name: 'main', image: 'busybox:1.36' };
const jobs = new RulesFixture<Job>('batch/v1', 'Job', {
  spec: { template: { spec: { containers: [container], restartPolicy: 'Never' } } },
});
const indexed = { 'spec.completionMode': 'Indexed', 'spec.completions': 10 };
const generated = {
  'batch.kubernetes.io/controller-uid': 'uid-1',
  'batch.kubernetes.io/job-name': 'web',
  'controller-uid': 'uid-1',
  'job-name': 'web',
};

test('a job gets one completion, six tries and a selector by its uid', () => {
  const { spec, status } = jobs.created();
  const { selector, template, ...rest } = spec;
  assert.deepEqual(rest, {
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
  });
  assert.deepEqual(selector, { matchLabels: { 'batch.kubernetes.io/controller-uid': 'uid-1' } });
  assert.deepEqual(template.metadata.labels, generated);
  assert.deepEqual(status, {});
});

test('defaults follow from each other', () => {
  assert.equal(jobs.defaulted({ 'spec.parallelism': 3 }).spec.completions, undefined);
  assert.equal(jobs.defaulted({ ...indexed, 'spec.backoffLimitPerIndex': 1 }).spec.backoffLimit, 2_147_483_647);
  const policy = jobs.defaulted({
    'spec.podFailurePolicy': { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
  }).spec;
  assert.deepEqual(
    [policy.podReplacementPolicy, policy.podFailurePolicy?.rules[0]?.onPodConditions],
    ['Failed', [{ type: 'DisruptionTarget', status: 'True' }]],
  );
  assert.deepEqual(jobs.defaulted({ 'spec.template.metadata.labels': { a: 'b' } }).metadata.labels, { a: 'b' });
});

test('a job without labels has those of its template, the generated ones too', () => {
  const ownLabels = (changes: Parameters<typeof jobs.created>[0]): unknown => jobs.created(changes).metadata.labels;
  assert.deepEqual(ownLabels({}), generated);
  assert.deepEqual(ownLabels({ 'spec.template.metadata.labels': { a: 'b' } }), { ...generated, a: 'b' });
  const same = { 'metadata.labels': { a: 'b' }, 'spec.template.metadata.labels': { a: 'b' } };
  assert.deepEqual(ownLabels(same), { a: 'b' });
});

test('a manual selector and its labels are kept', () => {
  const manual = {
    'spec.manualSelector': true,
    'spec.selector': { matchLabels: { a: 'b' } },
    'spec.template.metadata.labels': { a: 'b' },
  };
  const { spec } = jobs.created(manual);
  assert.deepEqual(
    [spec.selector, spec.template.metadata.labels, jobs.refusals(manual)],
    [{ matchLabels: { a: 'b' } }, { a: 'b' }, []],
  );
  assert.deepEqual(jobs.refusals({ 'spec.manualSelector': true }), [
    'spec.selector: Required value',
    'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`',
  ]);
});

test('valid jobs of all modes are accepted', () => {
  const valid: readonly Record<string, unknown>[] = [
    {},
    indexed,
    {
      ...indexed,
      'spec.backoffLimitPerIndex': 1,
      'spec.maxFailedIndexes': 5,
      'spec.podFailurePolicy': {
        rules: [{ action: 'FailIndex', onExitCodes: { containerName: 'main', operator: 'In', values: [1, 2] } }],
      },
    },
    { ...indexed, 'spec.successPolicy': { rules: [{ succeededIndexes: '0,2-4', succeededCount: 3 }] } },
    {
      'spec.suspend': true,
      'spec.managedBy': 'example.com/controller',
      'spec.template.spec.restartPolicy': 'OnFailure',
    },
  ];
  assert.deepEqual(
    valid.map((changes) => jobs.refusals(changes)),
    valid.map(() => []),
  );
});

test('an invalid Job gets upstream’s error messages', () => {
  const restart = 'spec.template.spec.restartPolicy';
  const rule = 'spec.podFailurePolicy.rules[0]';
  const withRule = (value: unknown): Record<string, unknown> => ({ 'spec.podFailurePolicy': { rules: [value] } });
  const success = (value: unknown): Record<string, unknown> => ({
    ...indexed,
    'spec.successPolicy': { rules: [value] },
  });
  const cases: readonly [Record<string, unknown>, string[]][] = [
    [{ [restart]: undefined }, [`${restart}: Required value: valid values: "OnFailure", "Never"`]],
    [{ [restart]: 'Always' }, [`${restart}: Required value: valid values: "OnFailure", "Never"`]],
    [
      { 'spec.parallelism': -1, 'spec.completions': 1 },
      ['spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      { 'spec.completionMode': 'Indexed', 'spec.parallelism': 1 },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      { ...indexed, 'spec.parallelism': 100_001 },
      ['spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed'],
    ],
    [
      { ...indexed, 'metadata.name': 'a'.repeat(62) },
      [
        `metadata.name: Invalid value: "${'a'.repeat(62)}": will not able to create pod with invalid DNS label: ${'a'.repeat(62)}-9`,
      ],
    ],
    [
      { 'spec.backoffLimitPerIndex': 1 },
      ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
    ],
    [
      { ...indexed, 'spec.maxFailedIndexes': 11 },
      [
        'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
        'spec.maxFailedIndexes: Invalid value: 11: must be less than or equal to completions',
      ],
    ],
    [
      { 'spec.managedBy': 'me' },
      ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [
      { 'spec.podReplacementPolicy': 'Never' },
      ['spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", "TerminatingOrFailed"'],
    ],
    [
      withRule({ action: '' }),
      [
        `${rule}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`,
        `${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
      ],
    ],
    [
      withRule({ action: 'FailIndex', onPodConditions: [{ type: 'x', status: 'True' }] }),
      [`${rule}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`],
    ],
    [
      withRule({ action: 'FailJob', onExitCodes: { operator: 'In', containerName: 'x', values: [2, 0, 2] } }),
      [
        `${rule}.onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template`,
        `${rule}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
        `${rule}.onExitCodes.values[2]: Duplicate value: 2`,
        `${rule}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered`,
      ],
    ],
    [
      { ...withRule({ action: 'Count', onExitCodes: { operator: 'NotIn', values: [1] } }), [restart]: 'OnFailure' },
      [`${restart}: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`],
    ],
    [
      success({ succeededIndexes: '3-2' }),
      [
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "3-2": error parsing succeededIndexes: non-increasing order, previous: 3, current: 2',
      ],
    ],
    [
      success({ succeededIndexes: '10' }),
      [
        'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "10": error parsing succeededIndexes: too large index: "10"',
      ],
    ],
    [
      success({ succeededIndexes: '1-3', succeededCount: 4 }),
      [
        'spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)',
      ],
    ],
    [
      success({}),
      [
        'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
      ],
    ],
    [
      { 'spec.template.metadata.labels': { 'job-name': 'other' } },
      [
        'spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"uid-1","batch.kubernetes.io/job-name":"web","controller-uid":"uid-1","job-name":"other"}: must be \'web\'',
      ],
    ],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(jobs.refusals(changes), expected);
});

test('a job that runs keeps its template, one that rests may be given other nodes and resources', () => {
  const image = { 'spec.template.spec.containers[0].image': 'busybox:1.37' };
  const elsewhere = {
    'spec.template.spec.nodeSelector': { disk: 'ssd' },
    'spec.template.spec.containers[0].resources': { requests: { cpu: '1' } },
    'spec.template.metadata.annotations': { a: 'b' },
  };
  // A PUT brings the generated fields along, as the one who read the job has them.
  const update = (changes: Record<string, unknown>, before: Record<string, unknown> = {}): string[] => {
    const { selector, template } = jobs.created(before).spec;
    return jobs.updateRefusals(
      { 'spec.selector': selector, 'spec.template.metadata.labels': template.metadata.labels, ...changes },
      before,
    );
  };
  const fieldsOf = (errors: readonly string[]): string[] =>
    errors.map((error) => `${error.slice(0, error.indexOf(':'))}: ${error.slice(error.lastIndexOf(':') + 2)}`);
  assert.deepEqual(fieldsOf(update(image)), ['spec.template: field is immutable']);
  assert.deepEqual(fieldsOf(update(elsewhere)), ['spec.template: field is immutable']);
  assert.deepEqual(update(elsewhere, { 'spec.suspend': true }), []);
  assert.deepEqual(fieldsOf(update(image, { 'spec.suspend': true })), ['spec.template.spec: field is immutable']);
  assert.deepEqual(
    update({ 'spec.parallelism': 4, 'spec.completions': 1, 'spec.suspend': true, 'spec.backoffLimit': 1 }),
    [],
  );
  assert.deepEqual(update({ 'spec.completions': 4 }), ['spec.completions: Invalid value: 4: field is immutable']);
  assert.deepEqual(
    update({ 'spec.completions': 4, 'spec.parallelism': 4 }, { ...indexed, 'spec.parallelism': 10 }),
    [],
  );
  assert.deepEqual(update({ 'spec.completions': 4 }, { ...indexed, 'spec.parallelism': 10 }), [
    'spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism',
  ]);
  assert.deepEqual(update({ 'spec.completionMode': 'Indexed' }), [
    'spec.completionMode: Invalid value: "Indexed": field is immutable',
  ]);
});

const condition = (type: string): object => ({ type, status: 'True' });
const done = {
  startTime: '2026-01-01T00:00:00Z',
  completionTime: '2026-01-01T00:01:00Z',
  succeeded: 1,
  conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
};

test('a job ends once, and says before that it will', () => {
  assert.deepEqual(jobs.statusRefusals(done), []);
  assert.deepEqual(jobs.statusRefusals({ ...done, conditions: [condition('Complete')] }), [
    'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
  ]);
  assert.deepEqual(jobs.statusRefusals({ conditions: [condition('Failed')] }), [
    'status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition',
    'status.startTime: Required value: startTime is required for finished job',
  ]);
  assert.deepEqual(jobs.statusRefusals({ ...done, active: 1, completionTime: undefined }), [
    'status.completionTime: Required value: completionTime is required for Complete jobs',
    'status.active: Invalid value: 1: active>0 is invalid for finished job',
  ]);
  assert.deepEqual(jobs.statusRefusals({ ...done, completionTime: '2025-12-31T00:00:00Z' }), [
    'status.completionTime: Invalid value: "2025-12-31T00:00:00Z": must be equal to or after `startTime`',
  ]);
  assert.deepEqual(jobs.statusRefusals({ startTime: done.startTime, succeeded: 0 }, done), [
    'status.conditions: Invalid value: cannot disable the terminal Complete=True condition',
    'status.succeeded: Invalid value: 0: cannot decrease the succeeded counter',
    'status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition',
  ]);
});

test('indexes of a status belong to the job and to one list', () => {
  const changes = { ...indexed, 'spec.backoffLimitPerIndex': 1 };
  assert.deepEqual(jobs.statusRefusals({ completedIndexes: '0,2-4', failedIndexes: '1,4-5' }, undefined, changes), [
    'status.failedIndexes: Invalid value: "1,4-5": failedIndexes and completedIndexes overlap at index: 4',
  ]);
  assert.deepEqual(jobs.statusRefusals({ completedIndexes: '1,0' }, undefined, changes), [
    'status.completedIndexes: Invalid value: "1,0": error parsing completedIndexes: non-increasing order, previous: 1, current: 0',
  ]);
  assert.deepEqual(jobs.statusRefusals({ completedIndexes: '0' }), [
    'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
  ]);
  assert.deepEqual(jobs.statusRefusals({ uncountedTerminatedPods: { succeeded: ['a', 'a'], failed: ['', 'a'] } }), [
    'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
    'status.uncountedTerminatedPods.failed[0]: Invalid value: "": must not be empty',
    'status.uncountedTerminatedPods.failed[1]: Duplicate value: "a"',
  ]);
  assert.deepEqual(jobs.statusRefusals({ active: 1, ready: 2 }), [
    'status.ready: Invalid value: 2: cannot set more ready pods than active',
  ]);
});

test('tables show how far a job is', () => {
  const cells = (changes: Record<string, unknown>): (string | number | boolean | null | undefined)[] =>
    ['Status', 'Completions', 'Duration'].map((name) => jobs.cells(changes)[name]);
  assert.deepEqual(cells({}), ['Running', '0/1', '']);
  assert.deepEqual(cells({ status: done }), ['Complete', '1/1', '60s']);
  assert.deepEqual(cells({ 'spec.parallelism': 3, status: { startTime: '2026-01-01T11:50:00Z', succeeded: 1 } }), [
    'Running',
    '1/1 of 3',
    '10m',
  ]);
  assert.deepEqual(cells({ status: { conditions: [condition('Suspended')] } }), ['Suspended', '0/1', '']);
  assert.deepEqual(cells({ 'metadata.deletionTimestamp': '2026-01-01T11:50:00Z' }), ['Terminating', '0/1', '']);
});

test('pods outlive a job deleted without a word about them', () => {
  assert.equal(jobs.definition.rules.defaultPropagation, 'Orphan');
});
