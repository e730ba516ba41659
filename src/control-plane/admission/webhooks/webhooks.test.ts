import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import {
  configMaps,
  mutatingWebhookConfigurations,
  namespaces,
  pods,
  validatingWebhookConfigurations,
} from '../../../api/client/resource-types.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import { silentLogger } from '../../../base/log.ts';
import type { AdmissionPlugin } from '../../model/admission.ts';
import { AdmissionFixture, namespace } from '../testing/admission-fixture.ts';
import type { Write } from '../testing/admission-fixture.ts';
import { admissionReview } from './admission-review.ts';
import type { Webhook } from './match-webhook.ts';
import { createMutatingWebhooks } from './mutating-webhooks.ts';
import { createConditionCheck } from './webhook-conditions.ts';
import { createValidatingWebhooks } from './validating-webhooks.ts';

interface Asked {
  readonly request: {
    readonly uid: string;
    readonly object: { readonly data?: Record<string, string> } | null;
  } & Readonly<Record<string, unknown>>;
}
type Answer = (asked: Asked) => object;

const all = { operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*', '*'] };
const webhook = (name: string, more: Partial<Webhook> = {}): Webhook => ({
  name,
  clientConfig: { url: `https://${name}` },
  rules: [all],
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  sideEffects: 'None',
  timeoutSeconds: 10,
  admissionReviewVersions: ['v1'],
  ...more,
});
const configMap = (more: Partial<ConfigMap> = {}): ConfigMap => ({
  metadata: { name: 'cm', namespace: 'default', uid: '' },
  data: {},
  ...more,
});
const allow =
  (more: object = {}): Answer =>
  ({ request: { uid } }) => ({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid, allowed: true, ...more },
  });
const deny =
  (status?: object): Answer =>
  ({ request: { uid } }) => ({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid, allowed: false, ...(status !== undefined && { status }) },
  });
const patch = (...operations: object[]): Answer =>
  allow({ patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') });
const set = (key: string, value: string): object => ({ op: 'add', path: `/data/${key}`, value });

/** Webhooks by name, their answers, and the order of their calls. */
function setUp(answers: Readonly<Record<string, Answer>>, before: readonly AdmissionPlugin[] = []) {
  const fixture = new AdmissionFixture();
  const asked: { name: string; review: Asked; timeoutSeconds: number }[] = [];
  const options = {
    reader: fixture.reader,
    meetsConditions: createConditionCheck({
      reader: fixture.reader,
      authorizer: { name: 'none', authorize: () => ({ decision: 'noOpinion', reason: '' }) },
    }),
    log: silentLogger,
    newUid: () => `uid-${asked.length}`,
    post: async (client: Webhook['clientConfig'], review: object, timeoutSeconds: number) => {
      const name = (client.url ?? '').replace('https://', '');
      asked.push({ name, review: review as Asked, timeoutSeconds });
      await Promise.resolve();
      return (answers[name] ?? assert.fail(`no webhook is named ${name}`))(review as Asked);
    },
    before,
    sameJson: (left: ApiObject, right: ApiObject) => isDeepStrictEqual(left, right),
    // The part of JSON patches that these tests need. The real ones are injected too.
    patched: (_: unknown, document: Readonly<Record<string, unknown>>, operations: unknown) => {
      const data = { ...(document['data'] as Record<string, string>) };
      for (const { path, value } of operations as { path: string; value: string }[]) {
        if (!path.startsWith('/data/')) throw new Error('add operation does not apply');
        data[path.slice('/data/'.length)] = value;
      }
      return configMap({ data });
    },
  };
  const plugins = { mutating: createMutatingWebhooks(options), validating: createValidatingWebhooks(options) };
  return {
    fixture,
    asked,
    names: () => asked.map(({ name }) => name),
    configure: (kind: keyof typeof plugins, name: string, ...webhooks: Webhook[]) =>
      fixture.reader.put(kind === 'mutating' ? mutatingWebhookConfigurations : validatingWebhookConfigurations, {
        metadata: { name, namespace: '', uid: name },
        webhooks,
      } as never),
    write: <T extends ApiObject>(kind: keyof typeof plugins, type: ResourceType<T>, write: Write<T>) =>
      fixture.write(plugins[kind], type, write),
    plugins,
  };
}

describe('conditions of webhooks', () => {
  const conditions = (...expressions: string[]): Partial<Webhook> => ({
    matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
  });

  it('skip webhooks when one of them is false', async () => {
    const { configure, write, names } = setUp({ yes: allow(), no: allow(), broken: allow() });
    configure(
      'validating',
      'c',
      webhook('yes', conditions("object.data.a == 'b'", "request.userInfo.username == 'jane'")),
      webhook('no', conditions('object.data.nothing == 1', "request.operation == 'DELETE'")),
    );
    const { refusal } = await write('validating', configMaps, { object: configMap({ data: { a: 'b' } }) });
    assert.deepEqual([refusal, names()], ['', ['yes']]);
  });

  it('follow the failure policy when they fail', async () => {
    const { configure, write, names } = setUp({ lax: allow(), strict: allow() });
    const failing = conditions('object.data.nothing == 1');
    configure('mutating', 'c', webhook('lax', { ...failing, failurePolicy: 'Ignore' }));
    assert.equal((await write('mutating', configMaps, { object: configMap({ data: {} }) })).refusal, '');
    configure('mutating', 'd', webhook('strict', { ...failing, failurePolicy: 'Fail' }));
    const { refusal } = await write('mutating', configMaps, { object: configMap({ data: {} }) });
    assert.match(refusal, /expression 'object.data.nothing == 1' resulted in error: no such key: nothing/);
    assert.deepEqual(names(), []);
  });
});

describe('the selection of webhooks', () => {
  it('follows the rules: operation, group, version, resource, subresource and scope', async () => {
    const rule = (more: object): Partial<Webhook> => ({ rules: [{ ...all, ...more }] });
    const rules: Record<string, Partial<Webhook>> = {
      create: rule({ operations: ['CREATE'] }),
      update: rule({ operations: ['UPDATE', 'DELETE'] }),
      core: rule({ apiGroups: [''] }),
      apps: rule({ apiGroups: ['apps'] }),
      v2: rule({ apiVersions: ['v2'] }),
      pods: rule({ resources: ['pods'] }),
      status: rule({ resources: ['pods/status'] }),
      parts: rule({ resources: ['*/status'] }),
      any: rule({ resources: ['pods/*'] }),
      plain: rule({ resources: ['*'] }),
      cluster: rule({ scope: 'Cluster' }),
      inside: rule({ scope: 'Namespaced' }),
      none: { rules: [] },
    };
    const { configure, write, asked, names } = setUp(
      Object.fromEntries(Object.keys(rules).map((name) => [name, allow()])),
    );
    configure('validating', 'c', ...Object.entries(rules).map(([name, more]) => webhook(name, more)));
    const pod = { metadata: { name: 'p', namespace: 'default', uid: '' }, spec: { containers: [] } };
    const askedFor = async <T extends ApiObject>(type: ResourceType<T>, object: Write<T>) => {
      asked.length = 0;
      await write('validating', type, object);
      return names();
    };
    assert.deepEqual(await askedFor(pods, { object: pod }), ['create', 'core', 'pods', 'any', 'plain', 'inside']);
    assert.deepEqual(await askedFor(pods, { object: pod, old: pod, subresource: 'status' }), [
      'update',
      'core',
      'status',
      'parts',
      'any',
      'inside',
    ]);
    assert.deepEqual(await askedFor(pods, { old: pod }), ['update', 'core', 'pods', 'any', 'plain', 'inside']);
    assert.deepEqual(await askedFor(namespaces, { object: namespace('n') }), ['create', 'core', 'plain', 'cluster']);
  });

  it('follows the labels of the namespace, and of the old and the new object', async () => {
    const { configure, write, asked, names, fixture } = setUp({ space: allow(), object: allow() });
    configure(
      'validating',
      'c',
      webhook('space', { namespaceSelector: { matchLabels: { team: 'a' } } }),
      webhook('object', { objectSelector: { matchLabels: { app: 'x' } } }),
    );
    const labelled = configMap({ metadata: { name: 'cm', namespace: 'default', uid: '', labels: { app: 'x' } } });
    await write('validating', configMaps, { object: configMap() });
    assert.deepEqual(names(), []);
    fixture.reader.put(namespaces, namespace('default', { team: 'a' }));
    await write('validating', configMaps, { object: configMap(), old: labelled });
    assert.deepEqual(names(), ['space', 'object']);
    asked.length = 0;
    await write('validating', namespaces, { object: namespace('new', { team: 'a' }) });
    assert.deepEqual(names(), ['space'], 'a namespace that is written is judged by its own labels');
    const lost = await write('validating', configMaps, {
      object: configMap({ metadata: { name: 'x', namespace: 'nope', uid: '' } }),
    });
    assert.equal(lost.refusal, 'namespaces "nope" not found');
  });

  it('never includes configurations of webhooks as objects, and follows their changes', async () => {
    const { configure, write, names, plugins, fixture } = setUp({ a: deny() });
    assert.equal(plugins.validating.handles(fixture.attributes(configMaps, { object: configMap() })), false);
    configure('validating', 'c', webhook('a'));
    const configuration = { metadata: { name: 'c', namespace: '', uid: '' }, webhooks: [] };
    assert.equal((await write('validating', validatingWebhookConfigurations, { old: configuration })).refusal, '');
    assert.deepEqual(names(), []);
    assert.notEqual((await write('validating', configMaps, { object: configMap() })).refusal, '');
    fixture.reader.remove(validatingWebhookConfigurations, { namespace: '', name: 'c' });
    assert.equal((await write('validating', configMaps, { object: configMap() })).refusal, '');
  });
});

describe('requests to webhooks and their answers', () => {
  it('webhook calls contain all fields of the review', async () => {
    const { configure, write, asked } = setUp({ a: allow() });
    configure('validating', 'c', webhook('a', { timeoutSeconds: 3 }));
    const old = configMap({ data: { k: 'old' } });
    await write('validating', configMaps, { object: configMap({ data: { k: 'v' } }), old });
    const kind = { group: '', version: 'v1', kind: 'ConfigMap' };
    const resource = { group: '', version: 'v1', resource: 'configmaps' };
    const wire = (k: string) => ({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'cm', namespace: 'default' },
      data: { k },
    });
    assert.deepEqual(asked, [
      {
        name: 'a',
        timeoutSeconds: 3,
        review: {
          kind: 'AdmissionReview',
          apiVersion: 'admission.k8s.io/v1',
          request: {
            uid: 'uid-0',
            kind,
            resource,
            requestKind: kind,
            requestResource: resource,
            name: 'cm',
            namespace: 'default',
            operation: 'UPDATE',
            userInfo: { username: 'jane', groups: ['devs'] },
            object: wire('v'),
            oldObject: wire('old'),
            dryRun: false,
            options: {
              kind: 'UpdateOptions',
              apiVersion: 'meta.k8s.io/v1',
              fieldManager: 'test',
              fieldValidation: 'Strict',
            },
          },
        },
      },
    ]);
  });

  it('webhook calls send subresources with their own kind as that kind, before and after, and streams by their options', () => {
    const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
    const definition = {
      type: configMaps,
      views: [
        { name: 'scale', kind, read: (object: ConfigMap) => ({ metadata: object.metadata, spec: { replicas: 3 } }) },
      ],
      connects: [{ name: 'exec', kind: 'PodExecOptions' }],
    };
    const { fixture } = setUp({});
    const asked = (more: object) =>
      (
        admissionReview(
          {
            ...fixture.attributes(configMaps, { object: configMap(), old: configMap() }),
            definition,
            ...more,
          } as never,
          'u',
        ) as Asked
      ).request;
    const scale = (replicas: number) => ({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'cm', namespace: 'default' },
      spec: { replicas },
    });
    const scaled = asked({ subresource: 'scale', object: { ...configMap(), data: undefined, spec: { replicas: 5 } } });
    assert.deepEqual(
      [scaled['kind'], JSON.parse(JSON.stringify(scaled.object)), scaled['oldObject'], scaled['subResource']],
      [kind, scale(5), scale(3), 'scale'],
    );
    const streamed = asked({
      subresource: 'exec',
      operation: 'CONNECT',
      object: undefined,
      oldObject: undefined,
      options: { command: ['ls', '-l'], stdin: ['true'], tty: ['false'], container: ['a'] },
    });
    assert.deepEqual(
      [streamed['kind'], streamed.object, streamed['options']],
      [
        { group: '', version: 'v1', kind: 'PodExecOptions' },
        { kind: 'PodExecOptions', apiVersion: 'v1', command: ['ls', '-l'], stdin: true, tty: false, container: 'a' },
        null,
      ],
    );
  });

  it('webhook calls return refusals with code, reason and message, warnings and audit annotations', async () => {
    const { configure, write } = setUp({
      a: deny({ code: 403, message: 'no' }),
      b: deny(),
      c: deny({ reason: 'Conflict', code: 409 }),
      d: allow({ warnings: ['careful'], auditAnnotations: { k: 'v' } }),
      e: deny({ status: 'Success', code: 200, message: 'well' }),
    });
    const answer = async (name: string) => {
      configure('validating', 'c', webhook(name));
      return write('validating', configMaps, { object: configMap() });
    };
    const [a, b, c, d, e] = [
      await answer('a'),
      await answer('b'),
      await answer('c'),
      await answer('d'),
      await answer('e'),
    ];
    assert.deepEqual(
      [a.refusal, a.error?.code, a.error?.toStatus().reason],
      ['admission webhook "a" denied the request: no', 403, undefined],
    );
    assert.deepEqual([b.refusal, b.error?.code], ['admission webhook "b" denied the request without explanation', 400]);
    assert.deepEqual(
      [c.refusal, c.error?.reason, c.error?.code],
      ['admission webhook "c" denied the request: Conflict', 'Conflict', 409],
    );
    assert.deepEqual([d.refusal, d.warnings, d.annotations], ['', ['careful'], { 'd/k': 'v' }]);
    assert.deepEqual([e.refusal, e.error?.code], ['admission webhook "e" denied the request: well', 400]);
  });

  it('webhook calls fail, or are ignored, when a webhook cannot be called or its answer is malformed', async () => {
    const broken: Answer = () => {
      throw new Error('Post "https://a": EOF');
    };
    const { configure, write } = setUp({
      a: broken,
      b: () => ({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' }),
      c: () => ({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response: { uid: 'x', allowed: true } }),
      d: allow({ patch: 'e30=', patchType: 'JSONPatch' }),
    });
    const refusal = async (name: string, failurePolicy: Webhook['failurePolicy'] = 'Fail') => {
      configure('validating', 'c', webhook(name, { failurePolicy }));
      return write('validating', configMaps, { object: configMap() });
    };
    const failed = await refusal('a');
    assert.deepEqual(
      [failed.refusal, failed.error?.code],
      ['Internal error occurred: failed calling webhook "a": failed to call webhook: Post "https://a": EOF', 500],
    );
    const open = await refusal('a', 'Ignore');
    assert.deepEqual(
      [open.refusal, open.annotations],
      ['', { 'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'a' }],
    );
    assert.match((await refusal('b')).refusal, /received invalid webhook response: webhook response was absent$/);
    assert.match((await refusal('c')).refusal, /expected response.uid="uid-\d", got "x"$/);
    assert.match((await refusal('d')).refusal, /validating webhook may not return response.patch$/);
  });

  it('webhook calls go only to webhooks without side effects in a dry run', async () => {
    const { configure, write, names } = setUp({ a: allow(), b: allow() });
    configure('validating', 'c', webhook('a', { sideEffects: 'NoneOnDryRun' }));
    assert.equal((await write('validating', configMaps, { object: configMap(), dryRun: true })).refusal, '');
    configure('validating', 'c', webhook('b', { sideEffects: 'Some' }));
    assert.equal(
      (await write('validating', configMaps, { object: configMap(), dryRun: true })).refusal,
      'admission webhook "b" does not support dry run',
    );
    assert.deepEqual(names(), ['a']);
  });

  it('webhook calls go to validating webhooks in parallel', async () => {
    let waiting = 0;
    let open: () => void = () => undefined;
    const bothAsked = new Promise<void>((resolve) => (open = resolve));
    const together: Answer = (asked) => {
      if (++waiting === 2) open();
      return bothAsked.then(() => allow()(asked));
    };
    const { configure, write } = setUp({ a: together, b: together });
    configure('validating', 'c', webhook('a'), webhook('b'));
    assert.equal((await write('validating', configMaps, { object: configMap() })).refusal, '');
  });
});

describe('mutating webhooks', () => {
  it('go to mutating webhooks one after another, in the order of the names of their configurations', async () => {
    const { configure, write, names, asked } = setUp({ a: patch(set('a', '1')), b: patch(set('b', '2')), c: allow() });
    configure('mutating', 'second', webhook('b'), webhook('c'));
    configure('mutating', 'first', webhook('a'));
    const { object, annotations } = await write('mutating', configMaps, { object: configMap() });
    assert.deepEqual([names(), object?.data], [['a', 'b', 'c'], { a: '1', b: '2' }]);
    assert.deepEqual(
      asked.map(({ review }) => review.request.object?.data),
      [{}, { a: '1' }, { a: '1', b: '2' }],
    );
    assert.equal(
      annotations['mutation.webhook.admission.k8s.io/round_0_index_2'],
      '{"configuration":"second","webhook":"c","mutated":false}',
    );
  });

  it('are sent once more after later changes, only to webhooks with reinvocation', async () => {
    const stamp: Answer = (asked) =>
      patch(set('count', String(Object.keys(asked.request.object?.data ?? {}).length)))(asked);
    const { configure, write, names } = setUp({ keen: stamp, calm: allow(), adds: patch(set('x', '1')), last: stamp });
    configure(
      'mutating',
      'c',
      webhook('keen', { reinvocationPolicy: 'IfNeeded' }),
      webhook('calm'),
      webhook('adds'),
      webhook('last', { reinvocationPolicy: 'IfNeeded' }),
    );
    const { object } = await write('mutating', configMaps, { object: configMap() });
    assert.deepEqual(names(), ['keen', 'calm', 'adds', 'last', 'keen']);
    assert.deepEqual(object?.data, { count: '2', x: '1' });
  });

  it('cause earlier plugins with reinvocation to run again after a change', async () => {
    const plugin: AdmissionPlugin = {
      name: 'Before',
      handles: () => true,
      mutate: ({ object }) => {
        const { data } = object as ConfigMap;
        return data?.['x'] === undefined ? (object as ConfigMap) : configMap({ data: { ...data, defaulted: 'yes' } });
      },
    };
    const { configure, write, names } = setUp({ a: patch(set('x', '1')), b: allow() }, [plugin]);
    configure('mutating', 'c', webhook('a'), webhook('b', { reinvocationPolicy: 'IfNeeded' }));
    const { object } = await write('mutating', configMaps, { object: configMap() });
    assert.deepEqual([object?.data, names()], [{ x: '1', defaulted: 'yes' }, ['a', 'b', 'b']]);
  });

  it('leave the same object when nothing changes', async () => {
    const { configure, write } = setUp({ a: allow(), b: patch() });
    configure('mutating', 'c', webhook('a'), webhook('b'));
    const object = configMap();
    assert.equal((await write('mutating', configMaps, { object })).object, object);
  });

  it("fail for a malformed patch, and report the webhook's fault for a patch that does not apply", async () => {
    const { configure, write } = setUp({
      type: allow({ patchType: 'Merge', patch: 'e30=' }),
      json: allow({ patchType: 'JSONPatch', patch: Buffer.from('{').toString('base64') }),
      path: patch({ op: 'add', path: '/nope', value: 1 }),
      half: allow({ patch: 'e30=' }),
    });
    const refusal = async (name: string) => {
      configure('mutating', 'c', webhook(name));
      return (await write('mutating', configMaps, { object: configMap() })).refusal;
    };
    assert.match(await refusal('type'), /failed calling webhook "type": unsupported patch type "Merge"$/);
    assert.match(
      await refusal('json'),
      /failed calling webhook "json": received undecodable patch in webhook response: /,
    );
    assert.equal(await refusal('path'), 'Internal error occurred: add operation does not apply');
    assert.match(
      await refusal('half'),
      /received invalid webhook response: webhook returned response.patch but not response.patchType$/,
    );
  });
});
