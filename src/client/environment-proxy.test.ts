import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKind } from '../base/errors.ts';
import { proxyOfEnvironment } from './environment-proxy.ts';

const proxy = 'http://proxy:3128';

test('the scheme of the server says which variable counts, in capitals or not; a bare address is an http: one', () => {
  const env = { HTTPS_PROXY: proxy, http_proxy: 'plain:80' };
  assert.equal(proxyOfEnvironment('https://api.example.com:6443', env), proxy);
  assert.equal(proxyOfEnvironment('http://api.example.com', env), 'http://plain:80');
  assert.equal(proxyOfEnvironment('https://api.example.com', {}), undefined);
});

const excepted: readonly [server: string, list: string, isDirect: boolean][] = [
  ['https://127.0.0.1:6443', '', true],
  ['https://localhost:6443', '', true],
  ['https://[::1]:6443', '', true],
  ['https://api.example.com', '*', true],
  ['https://api.example.com', 'example.com', true],
  ['https://api.example.com', ' other, .example.com', true],
  ['https://example.com', '.example.com', false],
  ['https://example.com', 'example.com', true],
  ['https://badexample.com', 'example.com', false],
  ['https://API.example.com:6443', 'api.example.com:6443', true],
  ['https://api.example.com:6443', 'api.example.com:443', false],
  ['https://10.1.2.3:6443', '10.0.0.0/8', true],
  ['https://11.1.2.3:6443', '10.0.0.0/8', false],
  ['https://10.1.2.3:6443', '10.1.2.3', true],
  ['https://10.1.2.3:6443', '2.3', false],
  ['https://[fd00::1]:6443', 'fd00::/8', true],
  ['https://[fd00::1]:6443', 'fd00::1', true],
  ['https://10.1.2.3:6443', '10.0.0.0/99,rubbish/x,,', false],
];
for (const [server, list, isDirect] of excepted) {
  test(`${server} with NO_PROXY=${list} is asked ${isDirect ? 'directly' : 'by way of the proxy'}`, () => {
    assert.equal(proxyOfEnvironment(server, { HTTPS_PROXY: proxy, NO_PROXY: list }), isDirect ? undefined : proxy);
  });
}

test('a proxy of another kind is refused, without what may be secret in it', () => {
  assert.throws(
    () => proxyOfEnvironment('https://api', { HTTPS_PROXY: 'socks5://ann:pw@proxy' }),
    (error) => isKind(error, 'Invalid') && !(error as Error).message.includes('pw'),
  );
});
