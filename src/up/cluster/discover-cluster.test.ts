import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { publicKeyHash } from '../../control-plane/cmd/token/token-command.ts';
import { ensureAuthority } from '../../control-plane/pki/authority-files.ts';
import { ensureIssuedFiles } from '../../control-plane/pki/issued-files.ts';
import { isKind } from '../../base/errors.ts';
import { discoverAuthority } from './discover-cluster.ts';

describe('the authority of a cluster that a machine joins', () => {
  let folder = '';
  let ca = '';
  let host = '';
  let answer: (response: ServerResponse) => void = (response) => response.end();
  let seen: (string | undefined)[] = [];
  let stop = (): void => undefined;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kts-discover-'));
    const nowMs = systemClock.nowMs();
    const authority = await ensureAuthority(folder, nowMs);
    ca = readFileSync(join(folder, 'ca.crt'), 'utf8');
    const spec = { commonName: 'x', organizations: [], dnsNames: [], ipAddresses: ['127.0.0.1'] };
    const context = { authority, nowMs, log: silentLogger };
    const issued = await ensureIssuedFiles(folder, 'server', { ...spec, purpose: 'server' }, context);
    const server = createServer({ cert: issued.certificatePem, key: issued.keyPem }, (request, response) => {
      seen.push(request.headers.authorization);
      answer(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    stop = () => {
      server.close();
      server.closeAllConnections();
    };
  });
  after(() => {
    stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const clusterInfo = (authority: string): string =>
    JSON.stringify({
      data: {
        kubeconfig: JSON.stringify({
          clusters: [{ cluster: { 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
        }),
      },
    });

  it('is accepted when its key has the hash of the command, and no credentials are sent before that', async () => {
    answer = (response) => response.end(clusterInfo(ca));
    seen = [];
    assert.equal(await discoverAuthority(host, publicKeyHash(ca)), ca);
    assert.deepEqual(seen, [undefined]);
  });

  it('is refused with another key, and when there is none', async () => {
    answer = (response) => response.end(clusterInfo(ca));
    await assert.rejects(discoverAuthority(host, `sha256:${'0'.repeat(64)}`), /has another authority/);
    for (const body of ['', '{}', clusterInfo('no certificate')]) {
      answer = (response) => response.end(body);
      await assert.rejects(discoverAuthority(host, publicKeyHash(ca)), /is no Kubernetes cluster/);
    }
  });

  it('an endless answer is not read to its end, and a missing answer gives an error that says what to check', async () => {
    answer = (response) => {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        response.once('drain', write);
      };
      write();
    };
    await assert.rejects(discoverAuthority(host, publicKeyHash(ca)), /its answer is too long/);
    await assert.rejects(
      discoverAuthority('127.0.0.1:1', publicKeyHash(ca)),
      (error) => isKind(error, 'Unavailable') && error instanceof Error && /started with --listen/.test(error.message),
    );
  });
});
