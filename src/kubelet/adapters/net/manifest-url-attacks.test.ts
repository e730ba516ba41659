// Tests what the server of the manifest URL, or an attacker on the network path, can make the agent do. What it serves
// becomes static pods.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { errorMessage } from '../../../base/errors.ts';
import { extendedUsages, noNames } from '../../../pki/certificate-template.ts';
import { privateKeyPem } from '../../../pki/pem.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { netDial } from './net-dial.ts';

interface Seen {
  readonly server: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
}

const seen: Seen[] = [];
const servers: Server[] = [];
const origin = { first: '', other: '', secure: '' };
const limits = { timeoutMs: 2000, limitBytes: 1000 };
const SECRETS = [
  { name: 'Authorization', value: 'Bearer t0ken' },
  { name: 'X-Config-Key', value: 'k3y' },
  { name: 'Cookie', value: 'c00kie' },
];

function answer(name: string): http.RequestListener {
  return (request, response) => {
    seen.push({ server: name, url: request.url ?? '', headers: request.headers });
    const target = new URL(request.url ?? '/', 'http://x').searchParams.get('to');
    if (request.url === '/endless') {
      const more = (): void => void (response.destroyed || (response.write('x'.repeat(500)), setImmediate(more)));
      more();
    } else if (request.url === '/drip') response.write('x');
    else if (request.url === '/loop') response.writeHead(302, { location: '/loop' }).end();
    else if (target !== null) response.writeHead(302, { location: target }).end();
    else response.end('pods');
  };
}

/** A certificate that this process trusts. */
function trustedIdentity(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const dates = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const cert = writeCertificate(
    {
      subject: { commonName: 'config' },
      publicKey,
      ...dates,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: [extendedUsages.serverAuth],
      altNames: { ...noNames, ipAddresses: ['127.0.0.1'] },
    },
    { selfSignedBy: privateKey },
  );
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  return { cert, key: privateKeyPem(privateKey) };
}

before(async () => {
  const identity = trustedIdentity();
  for (const [name, server] of [
    ['first', http.createServer(answer('first'))],
    ['other', http.createServer(answer('other'))],
    ['secure', https.createServer(identity, answer('secure'))],
  ] as const) {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin[name] = `${name === 'secure' ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});
after(() => {
  for (const server of servers) (server as http.Server).closeAllConnections();
  for (const server of servers) server.close();
});

const failure = (url: string, headers = SECRETS): Promise<string> =>
  netDial.fetch(url, headers, limits).then(() => 'no failure', errorMessage);
const to = (from: string, target: string): string => `${from}/?to=${encodeURIComponent(target)}`;

describe('a manifest URL', () => {
  for (const url of ['file:///etc/passwd', 'ftp://127.0.0.1/x', 'data:text/plain,x', 'unix:/run/x.sock']) {
    it(`of another scheme is rejected, not requested from this machine by HTTP: ${url}`, async () =>
      assert.match(await failure(url), /unsupported protocol scheme/));
  }

  it('with a password sends it to its server, and shows it in no message', async () => {
    const withPassword = origin.first.replace('http://', 'http://me:s3cret%21@');
    assert.deepEqual(await netDial.fetch(withPassword, [], limits), { status: 200, body: 'pods' });
    assert.equal(seen.at(-1)?.headers.authorization, `Basic ${Buffer.from('me:s3cret!').toString('base64')}`);
    for (const url of [
      `${withPassword}/endless`,
      `${withPassword}/loop`,
      to(withPassword, 'ftp://x/'),
      'http://me:s3cret%21@127.0.0.1:1/',
      'http://me:s3cret%21@nowhere.invalid/',
      'ftp://me:s3cret%21@x/',
    ]) {
      const message = await failure(url, []);
      assert.match(message, /xxxxx/, url);
      assert.doesNotMatch(message, /s3cret/, url);
    }
  });
});

describe('its server, by a redirect', () => {
  it('to another port, host or scheme gets none of the headers: any of them may be a secret', async () => {
    for (const target of [origin.other, origin.first.replace('127.0.0.1', 'localhost')]) {
      await netDial
        .fetch(to(origin.first.replace('http://', 'http://me:pw@'), `${target}/x`), SECRETS, limits)
        .catch(() => undefined);
      const last = seen.at(-1);
      if (last?.url !== '/x') continue;
      assert.deepEqual(
        [last.headers.authorization, last.headers['x-config-key'], last.headers.cookie],
        [undefined, undefined, undefined],
        target,
      );
    }
    assert.ok(
      seen.some(({ server, url }) => server === 'other' && url === '/x'),
      'it was followed',
    );
  });

  it('to itself gets them', async () => {
    await netDial.fetch(to(origin.first, '/again'), SECRETS, limits);
    assert.deepEqual([seen.at(-1)?.url, seen.at(-1)?.headers['x-config-key']], ['/again', 'k3y']);
  });

  it('from TLS to plain HTTP is not followed: an attacker on the network path would control what runs here', async () => {
    assert.deepEqual(await netDial.fetch(`${origin.secure}/`, [], limits), { status: 200, body: 'pods' });
    const before = seen.length;
    assert.match(await failure(to(origin.secure, `${origin.first}/x`)), /plain HTTP is not followed/);
    assert.deepEqual(
      seen.slice(before).map(({ server }) => server),
      ['secure'],
    );
  });

  it('without end, or to another scheme, fails', async () => {
    assert.match(await failure(`${origin.first}/loop`), /stopped after 10 redirects/);
    assert.match(await failure(to(origin.first, 'file:///etc/shadow')), /unsupported protocol scheme/);
  });
});

describe('its server, by a body', () => {
  it('a manifest server that sends a body without end fails at the limit, a slow one at the deadline', async () => {
    assert.match(await failure(`${origin.first}/endless`), /larger than 1000 bytes/);
    assert.match(
      await netDial.fetch(`${origin.first}/drip`, [], { ...limits, timeoutMs: 200 }).then(() => '', errorMessage),
      /deadline exceeded/,
    );
  });
});
