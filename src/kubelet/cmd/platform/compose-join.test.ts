import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { extendedUsages, noNames } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { createAgentMetrics } from '../../features/metrics/agent-metrics.ts';
import { CertificateFigures } from '../../features/metrics/certificate-figures.ts';
import type { Join } from './compose-join.ts';
import { composeJoin } from './compose-join.ts';
import { observeCertificates } from '../../features/metrics/certificate-figures.ts';

const DAY_MS = 86_400_000;

function groundOf(t: TestContext) {
  const folder = mkdtempSync(path.join(tmpdir(), 'join-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = new FakeClock();
  const log = recordingLog();
  const figures = new CertificateFigures(clock);
  const inFolder = (name: string): string => path.join(folder, name);
  const write = (name: string, user: object, server = 'https://192.0.2.1'): void =>
    writeFileSync(
      inFolder(name),
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server } }],
        users: [{ name: 'u', user }],
      }),
    );
  const join = (given: {
    readonly kubeconfig?: string;
    readonly bootstrapKubeconfig?: string;
    readonly rotates?: boolean;
  }): Promise<Join | undefined> => {
    const { kubeconfig = inFolder('kubelet.conf'), bootstrapKubeconfig = '', rotates = false } = given;
    return composeJoin({
      flags: { kubeconfig, bootstrapKubeconfig, certDir: inFolder('pki') },
      rotates,
      nodeName: 'n1',
      figures,
      clock,
      random: seededRandom(1),
      log,
    });
  };
  /** Writes a certificate for the node that expires in this number of days, with its key. */
  const certificate = (endsInDays: number): object => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const subject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
    const [notBeforeMs, notAfterMs] = [clock.nowMs() - 365 * DAY_MS, clock.nowMs() + endsInDays * DAY_MS];
    const text = writeCertificate(
      {
        subject,
        publicKey: createPublicKey(privateKey),
        notBeforeMs,
        notAfterMs,
        keyUsages: ['digitalSignature'],
        extendedKeyUsages: [extendedUsages.clientAuth],
        altNames: noNames,
      },
      { selfSignedBy: privateKey },
    );
    writeFileSync(inFolder('node.pem'), text + privateKey.export({ type: 'sec1', format: 'pem' }).toString());
    return { 'client-certificate': inFolder('node.pem'), 'client-key': inFolder('node.pem') };
  };
  const errors = (): string[] =>
    log.lines
      .filter(({ level }) => level === 'error')
      .map(({ message, fields }) => `${message}: ${String(fields['error'])}`);
  return { clock, log, figures, inFolder, write, join, certificate, errors };
}

async function joined(join: Promise<Join | undefined>): Promise<Join> {
  const found = await join;
  assert.ok(found !== undefined);
  return found;
}

describe('how a node joins', () => {
  it('not at all without a kubeconfig: it is one of its own', async (t) => {
    assert.equal(await groundOf(t).join({ kubeconfig: '' }), undefined);
  });

  it('is refused at start where there is nothing to join by', async (t) => {
    const { join, inFolder } = groundOf(t);
    await assert.rejects(
      join({}),
      (error) =>
        isKind(error, 'Invalid') && /^unable to load kubeconfig: .*ENOENT/.test(String((error as Error).message)),
    );
    await assert.rejects(
      join({ bootstrapKubeconfig: inFolder('bootstrap.conf') }),
      (error) =>
        isKind(error, 'Invalid') &&
        /^unable to load bootstrap kubeconfig: .*ENOENT/.test(String((error as Error).message)),
    );
  });

  it('is refused for a bootstrap kubeconfig that cannot be read, whose content is not quoted', async (t) => {
    const { join, inFolder } = groundOf(t);
    writeFileSync(inFolder('bootstrap.conf'), 'users: [{user: {token: CANARY-1234}}\n  broken');
    await assert.rejects(
      join({ bootstrapKubeconfig: inFolder('bootstrap.conf') }),
      (error) =>
        isKind(error, 'Invalid') &&
        !JSON.stringify([error, (error as Error).message, String((error as Error).cause)]).includes('CANARY'),
    );
  });

  it('goes on with a kubeconfig that is broken, says so without quoting it, and takes it as soon as it is put right', async (t) => {
    const { join, write, inFolder, errors } = groundOf(t);
    writeFileSync(inFolder('kubelet.conf'), '{"users": CANARY-1234');
    const { access } = await joined(join({}));
    await assert.rejects(access.current(), /the node has not joined a cluster yet/);
    assert.match(
      errors().join('\n'),
      /^the API server cannot be reached until this is fixed; pods continue to run: unable to load kubeconfig: /,
    );
    assert.ok(!errors().join('\n').includes('CANARY'));
    write('kubelet.conf', { token: 'good' });
    assert.equal((await access.current()).token, 'good');
  });

  it('says once that a kubeconfig has gone bad, and goes on with what stood in it', async (t) => {
    const { clock, join, write, inFolder, errors } = groundOf(t);
    write('kubelet.conf', { token: 'good' });
    const { access } = await joined(join({}));
    assert.equal((await access.current()).token, 'good');
    writeFileSync(inFolder('kubelet.conf'), '{"users": CANARY-1234');
    for (let look = 0; look < 3; look += 1) {
      await clock.advance(2000);
      assert.equal((await access.current()).token, 'good');
    }
    assert.equal(errors().length, 1);
    assert.match(errors()[0] ?? '', /^the kubeconfig can no longer be used; its previous content stays in effect: /);
    assert.ok(!errors().join().includes('CANARY'));
  });

  it('begins with the bootstrap kubeconfig where the kubeconfig’s certificate has expired, and without one goes on and says so', async (t) => {
    const { join, write, certificate, inFolder, log } = groundOf(t);
    write('kubelet.conf', certificate(-3));
    write('bootstrap.conf', { token: 'abcdef.0123456789abcdef' });
    const again = await joined(join({ bootstrapKubeconfig: inFolder('bootstrap.conf') }));
    assert.match(
      String(log.lines.find(({ message }) => message.startsWith('Using bootstrap kubeconfig'))?.fields['why']),
      /client certificate is expired/,
    );
    assert.ok(!JSON.stringify(log.lines).includes('0123456789abcdef'), 'a token is in no line');
    assert.equal(again.problems().length, 1);
    const alone = await joined(join({ rotates: true }));
    assert.match(alone.problems()[0]?.message ?? '', /^the client certificate of the node has expired 3 days ago/);
  });

  it('has joined when there is something to sign in with: with a kubeconfig at once, with a bootstrap kubeconfig not before it led to a certificate', async (t) => {
    const { join, write, inFolder } = groundOf(t);
    const hasJoined = (node: Join): Promise<boolean> =>
      Promise.race([
        node.whenJoined().then(() => true),
        new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
      ]);
    write('bootstrap.conf', { token: 'abcdef.0123456789abcdef' });
    assert.equal(
      await hasJoined(await joined(join({ rotates: true, bootstrapKubeconfig: inFolder('bootstrap.conf') }))),
      false,
    );
    write('kubelet.conf', { token: 'a' });
    for (const rotates of [true, false]) assert.equal(await hasJoined(await joined(join({ rotates }))), true);
  });

  it('shows in metrics how long its certificate lives, and which exchanges failed', async (t) => {
    const { join, write, certificate, figures } = groundOf(t);
    const metrics = createAgentMetrics();
    observeCertificates(metrics, figures);
    assert.match(await metrics.main.text(), /^kubelet_certificate_manager_client_ttl_seconds \+Inf$/m);
    write('kubelet.conf', certificate(10));
    await joined(join({ rotates: true }));
    figures.clientRenewFailed();
    figures.serverRotated(7200);
    const text = await metrics.main.text();
    assert.match(text, /^kubelet_certificate_manager_client_ttl_seconds 864000$/m);
    assert.match(text, /^kubelet_certificate_manager_server_ttl_seconds \+Inf$/m);
    assert.match(text, /^kubelet_certificate_manager_client_expiration_renew_errors 1$/m);
    assert.match(text, /^kubelet_server_expiration_renew_errors 0$/m);
    assert.match(text, /^kubelet_certificate_manager_server_rotation_seconds_bucket\{le="14400"\} 1$/m);
  });
});
