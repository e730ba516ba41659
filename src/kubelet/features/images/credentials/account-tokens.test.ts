import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { parseImageName } from '../../../../api/image-name.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ServiceAccount } from '../../../../api/core/service-account.ts';
import { KubeletError } from '../../../../base/errors.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { FakeProcesses } from '../../../ports/testing/fake-processes.ts';
import type { TokenOrder } from '../../../ports/tokens.ts';
import { createAccountAccess } from './account-tokens.ts';
import { CredentialSources } from './credential-sources.ts';
import { ExecCredentialProvider } from './exec-provider.ts';
import type { TrackedAuth } from './keyring.ts';
import { parseProviderConfig } from './provider-config.ts';

const API = 'credentialprovider.kubelet.k8s.io/v1';
const usual = { serviceAccountTokenAudience: 'registry', cacheType: 'ServiceAccount', requireServiceAccount: true };
const config = (attributes: object): string => `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: helper
  matchImages: ["r.local"]
  defaultCacheDuration: 1h
  apiVersion: ${API}
  tokenAttributes: ${JSON.stringify({ ...usual, ...attributes })}
`;
const account = (name: string, annotations: Record<string, string> = {}): ServiceAccount => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
});
const podOf = (serviceAccountName: string | undefined, name = 'web'): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { containers: [], serviceAccountName },
});
const ROBOT = { uid: 'uid-robot', namespace: 'default', name: 'robot' };

function world(attributes: object = {}, { password = 'from-the-registry' as string | 'the token' } = {}) {
  const { providers, errors } = parseProviderConfig(config(attributes), 'f', { allowsTokens: true });
  assert.deepEqual(errors, []);
  const clock = new FakeClock();
  const processes = new FakeProcesses();
  processes.install('/plugins/helper', ({ stdin = '' }) => {
    const { serviceAccountToken } = JSON.parse(stdin) as { serviceAccountToken?: string };
    const given = password === 'the token' ? serviceAccountToken : password;
    const auth = { 'r.local': { username: 'u', password: given } };
    return {
      stdout: JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: API, cacheKeyType: 'Registry', auth }),
    };
  });
  const log = recordingLog();
  const orders: TokenOrder[] = [];
  const accounts = new Map([['robot', account('robot', { 'example.com/team': 'blue', private: 'no' })]]);
  const sources = new CredentialSources({
    secrets: { secret: () => undefined },
    files: new FakeHostFiles(clock),
    places: { rootDir: '/var/lib/kubelet', workingDir: '/work', homeDir: '/root' },
    providers: providers.map((each) => new ExecCredentialProvider(each, { binDir: '/plugins', processes, clock })),
    accounts: {
      tokens: {
        get: async (order) => {
          orders.push(order);
          return { token: `token-of-${order.pod.name}`, expiresAtMs: 0, againInMs: 0 };
        },
      },
      account: async (_namespace, name) => {
        const found = accounts.get(name);
        if (found === undefined) throw new KubeletError('NotFound', `serviceaccounts "${name}" not found`);
        return found;
      },
    },
    events: { event: () => undefined },
    log,
  });
  const name = parseImageName('r.local/team/app');
  assert.ok(name !== undefined);
  const lookup = (pod: Pod): Promise<TrackedAuth[]> => sources.lookup(pod, name);
  const requests = (): unknown[] => processes.runs.map(({ stdin }) => JSON.parse(stdin ?? '') as unknown);
  return { sources, name, lookup, requests, orders, accounts, log };
}

const asked = (more: object): object => ({
  kind: 'CredentialProviderRequest',
  apiVersion: API,
  image: 'r.local/team/app',
  ...more,
});

describe('a credential plugin with tokens of service accounts', () => {
  it('gets a token for its audience, bound to the pod, and the annotations that it names', async () => {
    const { lookup, requests, orders } = world({
      requiredServiceAccountAnnotationKeys: ['example.com/team'],
      optionalServiceAccountAnnotationKeys: ['Missing'],
    });
    const [auth] = await lookup(podOf('robot'));
    assert.deepEqual([auth?.password, auth?.source, auth?.account], ['from-the-registry', undefined, ROBOT]);
    assert.deepEqual(requests(), [
      asked({ serviceAccountToken: 'token-of-web', serviceAccountAnnotations: { 'example.com/team': 'blue' } }),
    ]);
    assert.deepEqual(orders, [
      {
        namespace: 'default',
        serviceAccount: 'robot',
        serviceAccountUid: 'uid-robot',
        audiences: ['registry'],
        expirationSeconds: 3600,
        pod: { name: 'web', uid: 'uid-web' },
      },
    ]);
  });

  it('is not called for pods without an account, or without an annotation by which workloads opt in', async () => {
    const { lookup, requests, accounts, log } = world({
      requiredServiceAccountAnnotationKeys: ['example.com/team'],
    });
    accounts.set('plain', account('plain'));
    assert.deepEqual(await Promise.all([podOf('plain'), podOf(''), podOf(undefined)].map(lookup)), [[], [], []]);
    assert.deepEqual([requests(), log.lines], [[], []]);
  });

  it('is called without a token for pods without an account where it needs none', async () => {
    const { lookup, requests } = world({ requireServiceAccount: false });
    const [auth] = await lookup(podOf(''));
    assert.deepEqual(requests(), [asked({})]);
    assert.equal(auth?.account, undefined);
  });

  it('is asked once for the pods of an account, and again for an account that was made again', async () => {
    const { lookup, requests, accounts } = world();
    await lookup(podOf('robot', 'a'));
    await lookup(podOf('robot', 'b'));
    assert.equal(requests().length, 1);
    accounts.set('robot', { metadata: { ...account('robot').metadata, uid: 'another' } });
    await lookup(podOf('robot', 'c'));
    assert.equal(requests().length, 2);
  });

  it('of cacheType Token is asked for each token, and may return it; any other may not', async () => {
    const echo = world({}, { password: 'the token' });
    assert.deepEqual(await echo.lookup(podOf('robot')), []);
    assert.match(String(echo.log.lines[0]?.fields['error']), /returned the service account token as the password/);
    assert.doesNotMatch(JSON.stringify(echo.log.lines), /token-of-web/);
    const each = world({ cacheType: 'Token' }, { password: 'the token' });
    assert.equal((await each.lookup(podOf('robot', 'a')))[0]?.password, 'token-of-a');
    assert.equal((await each.lookup(podOf('robot', 'b')))[0]?.password, 'token-of-b');
    assert.equal(each.requests().length, 2);
  });

  it('whose account cannot be read gives nothing, with a line in the log', async () => {
    const { lookup, requests, log } = world();
    assert.deepEqual(await lookup(podOf('gone')), []);
    assert.deepEqual([requests(), log.lines[0]?.fields['error']], [[], 'serviceaccounts "gone" not found']);
  });

  it('gets nothing on a standalone node', async () => {
    const { account } = createAccountAccess(undefined, { get: () => assert.fail('no account has a token') });
    await assert.rejects(account('default', 'robot'), /standalone node has no service accounts/);
  });

  it('decides by the account whether a pod may use an image that is on the node', async () => {
    const { sources, name } = world();
    assert.deepEqual(
      (await sources.lookupOwn(podOf('robot'), name)).map((auth) => auth.account),
      [ROBOT],
    );
  });
});

test('attributes of tokens are refused where upstream refuses them', () => {
  const refusals = (more: object): readonly string[] =>
    parseProviderConfig(config(more), 'f', { allowsTokens: true }).errors.map((error) =>
      error.replace(/^f:\d+: providers\[0\]\.tokenAttributes/, ''),
    );
  assert.deepEqual(
    [
      { cacheType: 'Pod' },
      { requireServiceAccount: false, requiredServiceAccountAnnotationKeys: ['a'] },
      { requiredServiceAccountAnnotationKeys: ['a', 'b'], optionalServiceAccountAnnotationKeys: ['b'] },
      { optionalServiceAccountAnnotationKeys: ['Big', 'Big'] },
    ].map(refusals),
    [
      ['.cacheType: Unsupported value: "Pod": supported values: ServiceAccount, Token'],
      [
        '.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
      ],
      [': Invalid value: ["b"]: annotation keys cannot be both required and optional'],
      ['.optionalServiceAccountAnnotationKeys: Duplicate value: "Big"'],
    ],
  );
  assert.match(refusals({ requiredServiceAccountAnnotationKeys: ['a b'] })[0] ?? '', /Invalid value: "a b": name part/);
});
