// Tests with a credential provider plugin that is hostile or broken.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorMessage } from '../../../../base/errors.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import type { FakeProgram } from '../../../ports/testing/fake-processes.ts';
import { FakeProcesses } from '../../../ports/testing/fake-processes.ts';
import { ExecCredentialProvider } from './exec-provider.ts';
import { Keyring } from './keyring.ts';
import { parseProviderConfig } from './provider-config.ts';

const API = 'credentialprovider.kubelet.k8s.io/v1';
const response = {
  kind: 'CredentialProviderResponse',
  apiVersion: API,
  cacheKeyType: 'Image',
  auth: { 'r.local': { username: 'u', password: 'p' } },
};
const answer = (more: object): { stdout: string } => ({ stdout: JSON.stringify({ ...response, ...more }) });

function plugin(behave: FakeProgram) {
  const clock = new FakeClock();
  const processes = new FakeProcesses();
  processes.install('/plugins/helper', behave);
  const provider = new ExecCredentialProvider(
    { name: 'helper', matchImages: ['*.local', 'r.local'], defaultCacheMs: 0, apiVersion: API, args: [], env: {} },
    { binDir: '/plugins', processes, clock },
  );
  return { clock, processes, provider };
}

describe('an answer', () => {
  it('of another kind, too deep, or with fields of another type is refused briefly and without its content', async () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    const texts = [
      '',
      'null',
      '[]',
      '"x"',
      '7',
      deep,
      '['.repeat(500_000),
      `{"kind": ${deep}}`,
      '{"kind": "ExecCredential"}',
      '{"__proto__": {"kind": "CredentialProviderResponse"}}',
      `{"kind": "CredentialProviderResponse", "apiVersion": ${deep}}`,
      JSON.stringify({ ...response, cacheKeyType: 'x'.repeat(100_000) }),
      JSON.stringify({ ...response, cacheKeyType: ['Image'] }),
      JSON.stringify({ ...response, cacheKeyType: 'constructor' }),
      JSON.stringify({ ...response, auth: [] }),
      JSON.stringify({ ...response, auth: 'secret-text' }),
      JSON.stringify({ ...response, auth: { x: 'secret-text' } }),
      JSON.stringify({ ...response, auth: { x: { username: {}, password: 'secret-text' } } }),
    ];
    for (const stdout of texts) {
      const message = await plugin(() => ({ stdout }))
        .provider.provide('r.local/a')
        .then(() => 'worked', errorMessage);
      assert.match(message, /^credential provider plugin helper for image r\.local\/a: /, stdout.slice(0, 60));
      assert.ok(message.length < 300 && !message.includes('secret-text'), message);
    }
  });

  it('names registries like any other: none becomes a property that all objects inherit', async () => {
    const stdout = `{"kind": "CredentialProviderResponse", "apiVersion": "${API}", "cacheKeyType": "Image", "auth": {"__proto__": {"username": "u", "password": "p"}, "constructor": {"username": "c"}}}`;
    const config = await plugin(() => ({ stdout })).provider.provide('r.local/a');
    assert.deepEqual(Object.keys(config), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(config), Object.prototype);
    const keyring = new Keyring();
    keyring.add(config, undefined);
    assert.deepEqual(keyring.lookup('r.local/a'), []);
  });

  it('with thousands of registries and patterns has a linear cost', async () => {
    const auth = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`${'*'.repeat(30)}a${at}.local`, { username: 'u', password: 'p' }]),
    );
    const keyring = new Keyring();
    keyring.add(await plugin(() => answer({ auth })).provider.provide('r.local/a'), undefined);
    assert.deepEqual(keyring.lookup(`${'a'.repeat(60)}.local/x`), []);
  });

  it('is cached for a week at most, and not for a time that is negative or invalid', async () => {
    for (const [cacheDuration, afterMs, runs] of [
      ['2540400h', 7 * 24 * 3600_000, 1],
      ['2540400h', 7 * 24 * 3600_000 + 1, 2],
      ['-1h', 0, 2],
      ['9'.repeat(400) + 'h', 0, 2],
      ['Infinity', 0, 2],
      ['NaNs', 0, 2],
    ] as const) {
      const { provider, processes, clock } = plugin(() => answer({ cacheDuration }));
      await provider.provide('r.local/a');
      await clock.advance(afterMs);
      await provider.provide('r.local/a');
      assert.equal(processes.runs.length, runs, cacheDuration.slice(0, 20));
    }
  });

  it('is cached for a bounded number of images', async () => {
    const { provider } = plugin(() => answer({ cacheDuration: '24h' }));
    for (let image = 0; image < 1000; image += 1) await provider.provide(`r.local/${image}`);
    assert.equal(provider.cacheSize, 200);
  });
});

describe('a configuration', () => {
  it('names no program outside the folder of plugins', () => {
    const config = (name: string): string =>
      `{"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": [{"name": ${JSON.stringify(name)}, "matchImages": ["a.b"], "defaultCacheDuration": "1h", "apiVersion": "${API}"}]}`;
    for (const name of ['', '.', '..', 'a/b', '../a', '/bin/sh', 'a b', '/'])
      assert.notDeepEqual(parseProviderConfig(config(name), 'f', { allowsTokens: true }).errors, [], name);
    assert.deepEqual(parseProviderConfig(config('..a'), 'f', { allowsTokens: true }).errors, []);
  });
});
