import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createDockerClient } from './docker-client.ts';
import type { DockerHttp } from './docker-http.ts';

it('credentials of a registry are sent as Docker expects them: base64 for URLs with padding', async () => {
  const sent: string[] = [];
  const http = {
    lines: ({ headers }: { headers?: Record<string, string> }) => {
      sent.push(headers?.['x-registry-auth'] ?? '');
      return (async function* () {})();
    },
  } as unknown as DockerHttp;
  const client = createDockerClient(http);
  const { signal } = new AbortController();
  for (const password of ['', '?', '??', '???', '>>>>~~~', 'naïve', '秘密']) {
    const auth = { username: 'anna', password, serveraddress: '', identitytoken: '', registrytoken: '' };
    client.pullImage('127.0.0.1:5000/a:1', auth, signal);
    const header = sent.at(-1) ?? '';
    assert.match(header, /^[A-Za-z0-9_-]+={0,2}$/);
    assert.equal(header.length % 4, 0, 'Docker takes an unpadded header for none');
    assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString('utf8')), auth);
  }
});
