import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { fakeRequest } from '../testing/fake-request.ts';
import type { FakeRequestOptions } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';
import { parseAuditPolicy } from './audit-policy.ts';
import { RotatingFile } from './rotating-file.ts';

const policy = (...rules: readonly object[]): object => ({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules });
const secrets = '/api/v1/namespaces/default/secrets';

interface Event extends Record<string, unknown> {
  readonly stage: string;
}

async function events(
  given: object,
  requests: readonly (readonly [string, string, FakeRequestOptions?])[],
): Promise<readonly Event[]> {
  const lines: string[] = [];
  const { server } = fixture({ audit: { policy: given, sink: (line) => lines.push(line) } });
  for (const [method, target, options] of requests) {
    const request = fakeRequest(method, target, options);
    await server.handle(request);
    request.finish();
  }
  return lines.map((line) => JSON.parse(line) as Event);
}

const secret: FakeRequestOptions = {
  headers: { authorization: 'Bearer jane/dev', 'user-agent': 'curl/8', 'x-forwarded-for': '1.2.3.4, junk' },
  body: { metadata: { name: 's', managedFields: [{}] }, data: { key: 'c2VjcmV0' } },
};

describe('the audit log', () => {
  it('records user, request and result, without bodies', async () => {
    const [received, complete, ...more] = await events(policy({ level: 'Metadata' }), [['POST', secrets, secret]]);
    const common = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: received?.auditID,
      requestURI: secrets,
      verb: 'create',
      user: { username: 'jane', groups: ['dev', 'system:authenticated'] },
      sourceIPs: ['1.2.3.4', '10.0.0.1'],
      userAgent: 'curl/8',
      objectRef: { resource: 'secrets', namespace: 'default', apiVersion: 'v1' },
      requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
      stageTimestamp: '2026-01-01T00:00:00.000000Z',
    };
    assert.deepEqual(received, { ...common, stage: 'RequestReceived' });
    assert.deepEqual(complete, {
      ...common,
      objectRef: { ...common.objectRef, name: 's' },
      stage: 'ResponseComplete',
      responseStatus: { metadata: {}, code: 201 },
      annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': 'fake' },
    });
    assert.equal(more.length, 0);
  });

  it('never contains the body of a secret unless the policy asks for it', async () => {
    for (const level of ['Metadata', 'Request', 'RequestResponse']) {
      const text = JSON.stringify(
        await events(policy({ level }), [
          ['POST', secrets, secret],
          ['GET', `${secrets}/s`],
          ['GET', secrets],
        ]),
      );
      assert.equal(text.includes('c2VjcmV0'), level !== 'Metadata', level);
    }
  });

  it('contains both bodies, with or without managed fields', async () => {
    const last = async (rule: object): Promise<Event | undefined> =>
      (await events(policy(rule), [['POST', secrets, secret]])).at(-1);
    const kept = await last({ level: 'RequestResponse' });
    const left = await last({ level: 'RequestResponse', omitManagedFields: true });
    const metadata = (event: Event | undefined, which: string): string[] =>
      Object.keys((event?.[which] as { metadata: object }).metadata);
    assert.deepEqual(
      [
        metadata(kept, 'requestObject'),
        metadata(left, 'requestObject'),
        metadata(left, 'responseObject').includes('managedFields'),
      ],
      [['name', 'managedFields'], ['name'], false],
    );
  });

  it('contains the reason of a refusal, and the impersonated user', async () => {
    const headers = { authorization: 'Bearer root', 'impersonate-user': 'nobody' };
    const seen = await events(policy({ level: 'Metadata', omitStages: ['RequestReceived'] }), [
      ['GET', secrets, { headers }],
      ['GET', secrets, { headers: { authorization: 'Bearer wrong' } }],
    ]);
    assert.deepEqual(
      seen.map(({ user, impersonatedUser, responseStatus }) => [
        (user as { username: string }).username,
        (impersonatedUser as { username?: string } | undefined)?.username,
        (responseStatus as { code: number; reason: string }).reason,
      ]),
      [
        ['root', 'nobody', 'Forbidden'],
        ['system:anonymous', undefined, 'Unauthorized'],
      ],
    );
  });

  it('records the start of long-running requests', async () => {
    const seen = await events(policy({ level: 'Metadata' }), [['GET', `${secrets}?watch=1`]]);
    assert.deepEqual(
      seen.map(({ stage }) => stage),
      ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
    );
  });

  it('follows the first matching rule', async () => {
    const rules = policy(
      { level: 'None', users: ['quiet'] },
      { level: 'None', userGroups: ['bots'], verbs: ['list'] },
      { level: 'None', nonResourceURLs: ['/healthz*'] },
      {
        level: 'None',
        resources: [{ group: '', resources: ['pods/status', 'configmaps'] }],
        namespaces: ['kube-system'],
      },
      { level: 'None', resources: [{ group: '', resources: ['nodes'], resourceNames: ['n1'] }] },
      { level: 'Metadata', omitStages: ['RequestReceived'] },
    );
    const as = (token: string): FakeRequestOptions => ({ headers: { authorization: `Bearer ${token}` } });
    const seen = await events(rules, [
      ['GET', secrets, as('quiet')],
      ['GET', secrets, as('x/bots')],
      ['GET', `${secrets}/a`, as('x/bots')],
      ['GET', '/healthz'],
      ['GET', '/readyz'],
      ['GET', '/api/v1/namespaces/kube-system/configmaps'],
      ['GET', '/api/v1/namespaces/default/configmaps'],
      ['GET', '/api/v1/namespaces/kube-system/pods/p/status'],
      ['GET', '/api/v1/namespaces/kube-system/pods/p'],
      ['GET', '/api/v1/nodes/n1'],
      ['GET', '/api/v1/nodes/n2'],
    ]);
    assert.deepEqual(
      seen.map(({ requestURI }) => requestURI),
      [
        `${secrets}/a`,
        '/readyz',
        '/api/v1/namespaces/default/configmaps',
        '/api/v1/namespaces/kube-system/pods/p',
        '/api/v1/nodes/n2',
      ],
    );
  });

  it('refuses an invalid policy, with all reasons', () => {
    const wrong = {
      apiVersion: 'v2',
      kind: 'Policy',
      omitStages: ['Never'],
      rules: [{ level: 'Loud', nonResourceURLs: ['a*b'], namespaces: ['x'] }, 'x'],
    };
    const parsed = parseAuditPolicy(wrong);
    assert.ok('errors' in parsed);
    assert.deepEqual(
      parsed.errors.map((error) => error.split(':')[0]),
      [
        'unknown group version field "v2" or kind "Policy"',
        'omitStages',
        'rules[0].level',
        'rules[0].nonResourceURLs',
        'rules[0].nonResourceURLs',
        'rules[1].level',
      ],
    );
    for (const given of [undefined, [], { apiVersion: 'audit.k8s.io/v1', kind: 'Policy' }])
      assert.ok('errors' in parseAuditPolicy(given));
    assert.throws(
      () => fixture({ audit: { policy: wrong, sink: () => undefined } }),
      /the audit policy cannot be used/,
    );
  });
});

describe('a rotated log file', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'audit-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const file = (clock: FakeClock, rest: object = {}): RotatingFile =>
    new RotatingFile({
      file: path.join(folder, 'audit.log'),
      maxBytes: 0,
      maxBackups: 0,
      maxAgeDays: 0,
      clock,
      log: recordingLog(),
      ...rest,
    });

  it('keeps the order of lines, and appends to what is there', async () => {
    for (const lines of [['a', 'b'], ['c']]) {
      const each = file(new FakeClock());
      for (const line of lines) each.write(line);
      await each.close();
    }
    assert.equal(await readFile(path.join(folder, 'audit.log'), 'utf8'), 'a\nb\nc\n');
  });

  it('is renamed with the time when it is full; every line is complete in one file', async () => {
    const each = file(new FakeClock(), { maxBytes: 25 });
    for (let index = 0; index < 7; index++) each.write(`line ${index} ....`);
    each.write('x'.repeat(100));
    await each.close();
    const names = (await readdir(folder)).sort();
    const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
    const lines = texts.flatMap((text) => text.trimEnd().split('\n'));
    assert.deepEqual(
      [
        lines.length,
        new Set(lines).size,
        names.every((name) => name === 'audit.log' || /^audit-2026-01-01T00-00-00\.000(-\d+)?\.log$/.test(name)),
      ],
      [8, 8, true],
    );
    assert.ok(texts.every((text) => text.length <= 26 || text === `${'x'.repeat(100)}\n`));
  });

  it('is deleted beyond the allowed number and age', async () => {
    const clock = new FakeClock();
    const few = file(clock, { maxBytes: 5, maxBackups: 2 });
    for (let index = 0; index < 6; index++) {
      few.write(`day ${index}`);
      await few.close();
      clock.stepWall(86_400_000);
    }
    assert.deepEqual((await readdir(folder)).length, 3);
    const young = file(clock, { maxBytes: 5, maxAgeDays: 1 });
    young.write('today');
    young.write('later');
    await young.close();
    assert.deepEqual((await readdir(folder)).filter((name) => name < 'audit-2026-01-05').length, 0);
  });

  it('reports how many lines were lost while the disk was full, and continues afterwards', async () => {
    const log = recordingLog();
    const target = path.join(folder, 'later');
    const each = new RotatingFile({
      file: path.join(target, 'audit.log'),
      maxBytes: 0,
      maxBackups: 0,
      maxAgeDays: 0,
      clock: new FakeClock(),
      log,
    });
    each.write('lost');
    await each.close();
    assert.deepEqual(
      log.lines.map(({ level, fields }) => [level, fields.lines]),
      [['error', 1]],
    );
  });
});
