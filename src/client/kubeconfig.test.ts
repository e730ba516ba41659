import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { errorMessage, isKind } from '../base/errors.ts';
import { parseKubeconfig, parseKubeconfigEntry, readKubeconfig } from './kubeconfig.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const entry = (list: string, name: string, fields: object): object => ({
  [list]: [{ name, [list.slice(0, -1)]: fields }],
});

/** A kubeconfig with one context, as JSON, which is YAML too. */
function config({
  cluster = {},
  user = {},
  context = {},
}: {
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: object;
} = {}): string {
  return JSON.stringify({
    'current-context': 'main',
    ...entry('contexts', 'main', { cluster: 'c', user: 'u', ...context }),
    ...entry('clusters', 'c', { server: 'https://192.0.2.1:6443/', ...cluster }),
    ...entry('users', 'u', user),
  });
}

const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: 'bin/sign-in', interactiveMode: 'Never' };

test('a program that signs in is found beside the kubeconfig, with its arguments and its environment', () => {
  const cluster = {
    'certificate-authority-data': base64('CA'),
    extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }],
  };
  const exec = {
    ...plugin,
    args: ['--for', 'me'],
    env: [{ name: 'REGION', value: 'eu' }],
    installHint: 'get it',
    provideClusterInfo: true,
  };
  const entry = parseKubeconfigEntry(config({ cluster, user: { exec } }), '/x/config');
  assert.deepEqual(entry.exec, {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/x/bin/sign-in',
    args: ['--for', 'me'],
    env: { REGION: 'eu' },
    installHint: 'get it',
    cluster: {
      server: 'https://192.0.2.1:6443/',
      'certificate-authority-data': base64('CA'),
      config: { audience: 'a' },
    },
  });
  const beta = { apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'sign-in' };
  const { command, cluster: clusterInfo } =
    parseKubeconfigEntry(config({ user: { exec: beta } }), '/x/config').exec ?? {};
  assert.deepEqual([command, clusterInfo], ['sign-in', undefined]);
});

test('impersonation and a proxy are read', () => {
  const user = {
    token: 't',
    as: 'ann',
    'as-uid': '7',
    'as-groups': ['a', 'b'],
    'as-user-extra': { 'example.com/reason': ['x'] },
  };
  const { impersonate, proxyUrl } = parseKubeconfig(
    config({ user, cluster: { 'proxy-url': 'http://proxy:3128' } }),
    '/x/config',
  );
  assert.deepEqual(
    [impersonate, proxyUrl],
    [{ user: 'ann', uid: '7', groups: ['a', 'b'], extra: { 'example.com/reason': ['x'] } }, 'http://proxy:3128'],
  );
});

test('the current context says where the server is and who asks', () => {
  const text = config({
    cluster: { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'kubernetes' },
    user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
    context: { namespace: 'dev' },
  });
  assert.deepEqual(parseKubeconfig(text, '/x/config'), {
    server: 'https://192.0.2.1:6443',
    insecureSkipTlsVerify: false,
    namespace: 'dev',
    ca: 'CA',
    tlsServerName: 'kubernetes',
    certificate: 'CERT',
    key: 'KEY',
  });
  const plain = config({ cluster: { 'insecure-skip-tls-verify': true }, user: { username: 'ann', password: 'pw' } });
  assert.deepEqual(parseKubeconfig(plain, '/x/config'), {
    server: 'https://192.0.2.1:6443',
    insecureSkipTlsVerify: true,
    namespace: 'default',
    username: 'ann',
    password: 'pw',
  });
});

test('files are looked for beside the kubeconfig; data beside a file counts first, but a token file before a token', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubeconfig-'));
  try {
    writeFileSync(path.join(folder, 'ca.crt'), 'CA of the file');
    writeFileSync(path.join(folder, 'token'), 'of-the-file\n');
    const file = path.join(folder, 'config');
    writeFileSync(
      file,
      config({ cluster: { 'certificate-authority': 'ca.crt' }, user: { token: 'of-the-config', tokenFile: 'token' } }),
    );
    const { ca, token } = readKubeconfig(file);
    assert.deepEqual([ca, token], ['CA of the file', 'of-the-file']);
    assert.equal(
      parseKubeconfig(
        config({
          cluster: { 'certificate-authority': 'ca.crt', 'certificate-authority-data': base64('CA of the data') },
        }),
        file,
      ).ca,
      'CA of the data',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a context without a user has no credentials', () => {
  const { token, certificate, username } = parseKubeconfig(config({ context: { user: '' } }), '/x/config');
  assert.deepEqual([token, certificate, username], [undefined, undefined, undefined]);
});

const wrong: readonly [what: string, text: string, said: string][] = [
  ['is empty', '', 'is empty'],
  ['is a list', '[]', 'is empty'],
  ['names no context', '{}', 'there is no context ""'],
  ['lists nothing as a context', '{"current-context": "main", "contexts": [null]}', 'there is no context "main"'],
  ['names a cluster that is not there', config({ context: { cluster: 'other' } }), 'there is no cluster "other"'],
  ['names a user that is not there', config({ context: { user: 'other' } }), 'there is no user "other"'],
  ['has no address', config({ cluster: { server: '192.0.2.1' } }), 'server "192.0.2.1" is not a URL'],
  ['has a number as address', config({ cluster: { server: 5 } }), 'server 5 is not a URL'],
  [
    'signs in by a program, where none can be run',
    config({ user: { exec: { ...plugin, command: 'aws' } } }),
    'user "u" signs in by exec, which is not supported here',
  ],
  [
    'names a program without its version',
    config({ user: { exec: { command: 'aws' } } }),
    'apiVersion must be specified for u to use exec authentication plugin',
  ],
  [
    'names a version that is gone',
    config({ user: { exec: { ...plugin, apiVersion: 'client.authentication.k8s.io/v1alpha1' } } }),
    'exec plugin: invalid apiVersion "client.authentication.k8s.io/v1alpha1"',
  ],
  [
    'names no program',
    config({ user: { exec: { ...plugin, command: '' } } }),
    'command must be specified for u to use exec authentication plugin',
  ],
  [
    'does not say whether the program may ask',
    config({ user: { exec: { ...plugin, interactiveMode: undefined } } }),
    'interactiveMode must be specified for u to use exec authentication plugin',
  ],
  [
    'has a program that must ask',
    config({ user: { exec: { ...plugin, interactiveMode: 'Always' } } }),
    'exec plugin cannot support interactive mode: standard input is unavailable',
  ],
  [
    'gives the program a variable without a name',
    config({ user: { exec: { ...plugin, env: [{ value: 'x' }] } } }),
    'env variable name must be specified for u to use exec authentication plugin',
  ],
  [
    'signs in by what is gone',
    config({ user: { 'auth-provider': { name: 'gcp' } } }),
    'user "u" signs in by auth-provider, which is not supported here',
  ],
  [
    'has two ways to sign in',
    config({ user: { token: 't', username: 'u' } }),
    'more than one authentication method found for u; found [token basicAuth], only one is allowed',
  ],
  [
    'has a certificate without a key',
    config({ user: { 'client-certificate-data': base64('CERT') } }),
    'client-key-data or client-key must be specified for u to use the clientCert authentication method.',
  ],
  [
    'impersonates groups without a user',
    config({ user: { 'as-groups': ['g'] } }),
    'requesting uid, groups or user-extra for u without impersonating a user',
  ],
  [
    'goes through a proxy of another kind',
    config({ cluster: { 'proxy-url': 'socks5://proxy:1080' } }),
    'proxy-url "socks5://proxy:1080" is not supported here; only http: is',
  ],
  [
    'names a file that is not there',
    config({ user: { 'client-key': 'none.pem' } }),
    'client-key /x/none.pem cannot be read: ENOENT',
  ],
];
for (const [what, text, said] of wrong) {
  test(`a kubeconfig that ${what} is refused with its name`, () => {
    assert.throws(
      () => parseKubeconfig(text, '/x/config'),
      (error) => isKind(error, 'Invalid') && errorMessage(error).startsWith(`kubeconfig /x/config: ${said}`),
    );
  });
}

test('a kubeconfig that is no YAML is refused, one that is not there is not found', () => {
  assert.throws(
    () => parseKubeconfig('a: [', '/x/config'),
    (error) => isKind(error, 'Invalid') && errorMessage(error).startsWith('kubeconfig /x/config: '),
  );
  assert.throws(
    () => readKubeconfig('/x/none'),
    (error) => isKind(error, 'NotFound') && errorMessage(error).includes('/x/none'),
  );
});
