import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { makeSelfSigned } from '../../../pki/self-signed.ts';
import type { SecurityConfig } from '../../model/config/kubelet-config.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { applyDefaults } from '../../model/config/defaults.ts';
import { CertificateFigures } from '../../features/metrics/certificate-figures.ts';
import { composeServing } from './compose-serving.ts';

const day = 86_400_000;

describe('what the secure server shows', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'serving-'));
  after(() => rmSync(root, { recursive: true }));
  let count = 0;

  function setUp(security: Partial<SecurityConfig> = {}, hostname = 'n1', gates: Record<string, boolean> = {}) {
    const clock = new FakeClock();
    const certDir = path.join(root, String((count += 1)));
    const figures = new CertificateFigures(clock);
    const whole = {
      tlsCertFile: '',
      tlsPrivateKeyFile: '',
      clientCaFile: '',
      requestServingCertificate: false,
      ...security,
    } as SecurityConfig;
    const make = (name = hostname) =>
      composeServing({
        security: whole,
        gates: computeFeatureGates(gates).gates,
        certDir,
        nodeName: name,
        hostname: name,
        addresses: () => [],
        onAddresses: () => () => undefined,
        cluster: undefined,
        figures,
        clock,
        random: seededRandom(1),
        log: silentLogger,
      });
    return { clock, certDir, make };
  }
  const subjectOf = (serving: ReturnType<ReturnType<typeof setUp>['make']>): string | undefined => {
    const identity = serving.identity();
    return identity === undefined ? undefined : new X509Certificate(identity.certificate).subjectAltName;
  };

  it('the serving certificate is a certificate of its own making where nothing is configured, whose key is for root alone (CIS 4.2.9)', async () => {
    const { certDir, make } = setUp();
    const serving = make();
    await serving.start();
    assert.equal(subjectOf(serving), 'DNS:n1');
    assert.deepEqual(
      ['kubelet.crt', 'kubelet.key'].map((name) => statSync(path.join(certDir, name)).mode & 0o777),
      [0o644, 0o600],
    );
    await serving.stop();
    const first = readFileSync(path.join(certDir, 'kubelet.crt'), 'utf8');
    const again = make();
    await again.start();
    assert.equal(readFileSync(path.join(certDir, 'kubelet.crt'), 'utf8'), first, 'it is used again');
    await again.stop();
    const renamed = make('n2');
    await renamed.start();
    assert.equal(subjectOf(renamed), 'DNS:n2', 'another name has another certificate');
    await renamed.stop();
  });

  it('the serving certificate is renewed before it ends, if it is of its own making', async () => {
    const { clock, certDir, make } = setUp();
    const serving = make();
    await serving.start();
    const first = readFileSync(path.join(certDir, 'kubelet.crt'), 'utf8');
    await serving.stop();
    clock.stepWall(350 * day);
    const later = make();
    await later.start();
    assert.notEqual(readFileSync(path.join(certDir, 'kubelet.crt'), 'utf8'), first);
    await later.stop();
  });

  it('and whose clients it trusts stay as first read with the gates of reloading off', async () => {
    const folder = path.join(root, 'fixed');
    mkdirSync(folder);
    const files = { tlsCertFile: 'own.crt', tlsPrivateKeyFile: 'own.key', clientCaFile: 'ca.crt' };
    const [tlsCertFile, tlsPrivateKeyFile, clientCaFile] = Object.values(files).map((file) => path.join(folder, file));
    assert.ok(tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined && clientCaFile !== undefined);
    const put = async (name: string, nowMs: number): Promise<string> => {
      const { certificate, key } = await makeSelfSigned(name, nowMs);
      writeFileSync(tlsPrivateKeyFile, key);
      writeFileSync(tlsCertFile, certificate);
      writeFileSync(clientCaFile, certificate);
      return certificate;
    };
    for (const [on, name] of [
      [false, 'DNS:first'],
      [true, 'DNS:second'],
    ] as const) {
      const { clock, make } = setUp({ tlsCertFile, tlsPrivateKeyFile, clientCaFile }, 'n1', {
        ReloadKubeletServerCertificateFile: on,
        ReloadKubeletClientCAFile: on,
      });
      const first = await put('first', clock.nowMs());
      const serving = make();
      await serving.start();
      assert.equal(subjectOf(serving), 'DNS:first');
      const second = await put('second', clock.nowMs());
      await clock.advance(61_000);
      assert.deepEqual([subjectOf(serving), serving.clientAuthorities?.()], [name, on ? second : first]);
      await serving.stop();
    }
  });

  it('the serving certificate is what tlsCertFile and tlsPrivateKeyFile name, and another when they are replaced by a pair that fits', async () => {
    const [tlsCertFile, tlsPrivateKeyFile] = [path.join(root, 'own.crt'), path.join(root, 'own.key')];
    const { clock, certDir, make } = setUp({ tlsCertFile, tlsPrivateKeyFile });
    const put = async (name: string): Promise<void> => {
      const { certificate, key } = await makeSelfSigned(name, clock.nowMs());
      writeFileSync(tlsPrivateKeyFile, key);
      writeFileSync(tlsCertFile, certificate);
    };
    const serving = make();
    let changes = 0;
    serving.onChange(() => (changes += 1));
    await serving.start();
    assert.equal(serving.identity(), undefined);
    assert.match(serving.problems()[0]?.message ?? '', /own\.crt cannot be used: .*ENOENT/);
    await put('first');
    await clock.advance(5001);
    assert.deepEqual([subjectOf(serving), changes, serving.problems()], ['DNS:first', 1, []]);
    await put('second');
    writeFileSync(tlsPrivateKeyFile, 'no key');
    await clock.advance(61_000);
    assert.equal(subjectOf(serving), 'DNS:first', 'half a pair counts for nothing');
    await put('third');
    await clock.advance(61_000);
    assert.equal(subjectOf(serving), 'DNS:third');
    await serving.stop();
    assert.ok(!existsSync(path.join(certDir, 'kubelet.crt')));
  });

  it('trusts the authorities of clients as their file has them now', async () => {
    const clientCaFile = path.join(root, 'clients.crt');
    const { clock, make } = setUp({ clientCaFile });
    const serving = make();
    await serving.start();
    assert.equal(serving.clientAuthorities?.(), undefined);
    const { certificate } = await makeSelfSigned('authority', clock.nowMs());
    writeFileSync(clientCaFile, certificate);
    await clock.advance(5001);
    assert.equal(serving.clientAuthorities?.(), certificate);
    writeFileSync(clientCaFile, '');
    await clock.advance(61_000);
    assert.equal(serving.clientAuthorities?.(), certificate, 'an empty file locks no client out');
    await serving.stop();
  });
});

describe('what a configuration file leaves unsaid (CIS 4.2.1, 4.2.2, 4.2.4, 4.2.5)', () => {
  it('lets no unknown client in, and asks the API server about the rest', () => {
    const { authentication, authorization, readOnlyPort, streamingConnectionIdleTimeout } = applyDefaults(
      {},
      () => true,
    );
    assert.deepEqual(
      [
        authentication.anonymous?.enabled,
        authentication.webhook?.enabled,
        authorization.mode,
        readOnlyPort ?? 0,
        streamingConnectionIdleTimeout,
      ],
      [false, true, 'Webhook', 0, '4h0m0s'],
    );
  });
});
