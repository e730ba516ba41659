import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorMessage } from '../../../../base/errors.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import type { FakeProgram } from '../../../ports/testing/fake-processes.ts';
import { FakeProcesses } from '../../../ports/testing/fake-processes.ts';
import { ExecCredentialProvider, redact } from './exec-provider.ts';
import type { CredentialProvider } from './provider-config.ts';
import { loadCredentialProviders, parseProviderConfig } from './provider-config.ts';

const rules = { allowsTokens: true };
const place = { configPath: '/etc/cp', binDir: '/plugins', ...rules };
const API = 'credentialprovider.kubelet.k8s.io/v1';
const CANARY = 'canary-9f3c-password';
const answer = (more: object): { stdout: string } => ({
  stdout: JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion: API,
    cacheKeyType: 'Registry',
    auth: { 'r.local': { username: 'u', password: CANARY } },
    ...more,
  }),
});

function plugin(behave: FakeProgram, config: Partial<CredentialProvider> = {}) {
  const clock = new FakeClock();
  const processes = new FakeProcesses();
  processes.install('/plugins/helper', behave);
  const provider = new ExecCredentialProvider(
    {
      name: 'helper',
      matchImages: ['*.local', 'r.local'],
      defaultCacheMs: 0,
      apiVersion: API,
      args: ['get'],
      env: { REGION: 'eu' },
      ...config,
    },
    { binDir: '/plugins', processes, clock },
  );
  return { clock, processes, provider };
}

describe('credential provider plugin', () => {
  it('passes the image on stdin and reads the answer', async () => {
    const { provider, processes } = plugin(() => answer({}));
    assert.deepEqual(await provider.provide('r.local/app'), { 'r.local': { username: 'u', password: CANARY } });
    assert.deepEqual(processes.runs, [
      {
        program: '/plugins/helper',
        args: ['get'],
        env: { REGION: 'eu' },
        stdin: `{"kind":"CredentialProviderRequest","apiVersion":"${API}","image":"r.local/app"}`,
      },
    ]);
  });

  it('the plugin is not run for images that it does not match', async () => {
    const { provider, processes } = plugin(() => answer({}));
    assert.deepEqual([await provider.provide('docker.io/library/x'), processes.runs.length], [{}, 0]);
  });

  it('caches an answer for its duration and key type', async () => {
    for (const [cacheKeyType, runs] of [
      ['Image', 3],
      ['Registry', 2],
      ['Global', 1],
    ] as const) {
      const { provider, processes } = plugin(() => answer({ cacheKeyType, cacheDuration: '1m' }));
      for (const image of ['r.local/a', 'r.local/a', 'r.local/b', 's.local/c']) await provider.provide(image);
      assert.equal(processes.runs.length, runs, cacheKeyType);
    }
    const { provider, processes, clock } = plugin(() => answer({ cacheDuration: '1m' }));
    await provider.provide('r.local/a');
    await clock.advance(60_001);
    await provider.provide('r.local/a');
    assert.equal(processes.runs.length, 2);
  });

  it('caches it for the default duration when it gives none, and not at all for 0', async () => {
    for (const [response, defaultCacheMs, runs] of [
      [{}, 60_000, 1],
      [{}, 0, 2],
      [{ cacheDuration: '0s' }, 60_000, 2],
    ] as const) {
      const { provider, processes } = plugin(() => answer(response), { defaultCacheMs });
      await provider.provide('r.local/a');
      await provider.provide('r.local/a');
      assert.equal(processes.runs.length, runs);
    }
  });

  it('drops expired answers now and then', async () => {
    const { provider, clock } = plugin(() => answer({ cacheKeyType: 'Image', cacheDuration: '1m' }));
    for (let index = 0; index < 5; index++) await provider.provide(`r.local/${index}`);
    await clock.advance(16 * 60_000);
    await provider.provide('r.local/new');
    assert.equal(provider.cacheSize, 1);
  });

  it('the plugin is called once for concurrent requests of the same image', async () => {
    const { provider, processes } = plugin(() => answer({}));
    await Promise.all([provider.provide('r.local/a'), provider.provide('r.local/a')]);
    assert.equal(processes.runs.length, 1);
  });

  it('reports its failure without its input', async () => {
    const answers: FakeProgram[] = [
      () => ({ exitCode: 1, stdout: CANARY, stderr: `no: password=${CANARY} eu-west ${'A1b2'.repeat(10)}` }),
      () => ({ stdout: `{"password": "${CANARY}"` }),
      () => answer({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }),
      () => answer({ cacheKeyType: 'Planet' }),
      () => answer({ auth: { x: { username: 'u', password: [CANARY] } } }),
    ];
    const messages = await Promise.all(
      answers.map((behave) =>
        plugin(behave)
          .provider.provide('r.local/a')
          .then(() => 'worked', errorMessage),
      ),
    );
    assert.deepEqual(
      messages.map((message) => message.replace('credential provider plugin helper for image r.local/a: ', '')),
      [
        'exit code 1: no: password=[redacted] eu-west [redacted]',
        'its answer is not valid JSON',
        `apiVersion from credential plugin response did not match expected apiVersion:${API}`,
        'credential provider plugin did not return a valid cacheKeyType: one of Image, Registry, Global',
        'its answer has an "auth" that is not a map of username and password',
      ],
    );
    assert.equal(redact('bearer: Authorization: Bearer abc', []), 'bearer: Authorization: [redacted]');
  });
});

const good = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: helper
  matchImages: ["*.local"]
  defaultCacheDuration: 12h
  apiVersion: ${API}
  env:
  - {name: TOKEN, value: ${CANARY}}
`;

describe('credential provider configuration', () => {
  it('is read from YAML', () => {
    assert.deepEqual(parseProviderConfig(good, 'f', rules), {
      errors: [],
      providers: [
        {
          name: 'helper',
          matchImages: ['*.local'],
          defaultCacheMs: 43_200_000,
          apiVersion: API,
          args: [],
          env: { TOKEN: CANARY },
        },
      ],
    });
  });

  it('is refused with file, line and field, and without the values of env', () => {
    const bad =
      good
        .replace('name: helper', 'name: a/b')
        .replace(`apiVersion: ${API}`, 'apiVersion: v7')
        .replace('["*.local"]', '[]')
        .replace('12h', '-1s')
        .replace('value:', 'valeu:') + '  tokenAttributes: {}\n';
    const { errors, providers } = parseProviderConfig(bad, '/etc/cp.yaml', { allowsTokens: false });
    assert.deepEqual(providers, []);
    assert.ok(
      errors.every((error) => /^\/etc\/cp\.yaml:\d+: /.test(error)),
      errors.join('\n'),
    );
    for (const expected of [
      /:4: .*name.*cannot contain '\/'/,
      /:5: .*matchImages.*at least 1 item/,
      /:6: .*must be greater than or equal to 0/,
      /:7: .*apiVersion: Unsupported value: "v7"/,
      /valeu/,
      /tokenAttributes: Forbidden: tokenAttributes is not supported when KubeletServiceAccountTokenForCredentialProviders/,
      /tokenAttributes: Forbidden: tokenAttributes is only supported for credentialprovider\.kubelet\.k8s\.io\/v1 API version/,
      /tokenAttributes\.serviceAccountTokenAudience: Required value/,
      /tokenAttributes\.requireServiceAccount: Required value/,
      /tokenAttributes\.cacheType: Required value/,
    ]) {
      assert.ok(
        errors.some((error) => expected.test(error)),
        `${expected} in\n${errors.join('\n')}`,
      );
    }
    assert.doesNotMatch(errors.join('\n'), /canary/);
  });

  it('comes from a folder in lexical order, with every plugin present and every name once', async () => {
    const files = new FakeHostFiles(new FakeClock());
    files.seed({
      '/etc/cp/b.yaml': good.replace('helper', 'second'),
      '/etc/cp/a.json': good,
      '/etc/cp/notes.txt': 'no',
      '/plugins/helper': 'x',
      '/plugins/second': 'x',
    });
    const missing = await loadCredentialProviders(files, place);
    assert.deepEqual(missing.errors, [
      'plugin binary /plugins/helper is not an executable file',
      'plugin binary /plugins/second is not an executable file',
    ]);
    for (const name of ['helper', 'second']) await files.chmod(`/plugins/${name}`, 0o755);
    assert.deepEqual(
      (await loadCredentialProviders(files, place)).providers.map(({ name }) => name),
      ['helper', 'second'],
    );
    files.seed({ '/etc/cp/c.yml': good });
    assert.deepEqual((await loadCredentialProviders(files, place)).errors, [
      '/etc/cp/c.yml: duplicate provider name "helper" found in configuration file(s)',
    ]);
    assert.match(
      (await loadCredentialProviders(files, { ...place, configPath: '/nowhere' })).errors[0] ?? '',
      /unable to access path "\/nowhere"/,
    );
  });
});
