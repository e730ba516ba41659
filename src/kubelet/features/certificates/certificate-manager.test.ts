import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { keyPair } from '../../../pki/key-pair.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import { CertificateManager } from './certificate-manager.ts';
import { clientNames, issueClientCertificate } from './client-certificate.ts';
import type { CertificateNamesWanted } from './decide-rotation.ts';
import { FakeSigner } from './testing/fake-signer.ts';

const hour = 3_600_000;
const day = 24 * hour;

function setUp({
  bootstrap = true,
  stored,
}: {
  readonly bootstrap?: boolean;
  readonly stored?: (signer: FakeSigner) => KeyPair;
} = {}) {
  const clock = new FakeClock();
  const [api, bootstrapApi] = [new FakeApiClient({ clock }), new FakeApiClient({ clock })];
  const [signer, bootstrapSigner] = [new FakeSigner(api, clock), new FakeSigner(bootstrapApi, clock)];
  const disk: { pair: KeyPair | undefined; key: string | undefined } = { pair: stored?.(signer), key: undefined };
  const seen = { failures: 0, ages: [] as number[], changes: 0, closed: 0 };
  const wanted: { names: CertificateNamesWanted | undefined } = { names: clientNames('n1') };
  const pendingKey = {
    read: () => Promise.resolve(disk.key),
    write: (key: string) => Promise.resolve(void (disk.key = key)),
    remove: () => Promise.resolve(void (disk.key = undefined)),
  };
  const open = () => Promise.resolve({ client: bootstrapApi, close: () => (seen.closed += 1) });
  const make = (): CertificateManager => {
    const random = seededRandom(7);
    const store = {
      current: () => Promise.resolve(disk.pair),
      update: (pair: Pick<KeyPair, 'certificate' | 'key'>) => {
        disk.pair = keyPair(pair.certificate, pair.key);
        disk.key = undefined;
        return Promise.resolve(disk.pair);
      },
    };
    const issue = issueClientCertificate({
      client: api,
      bootstrap: bootstrap ? open : undefined,
      pendingKey,
      clock,
      random,
      log: silentLogger,
    });
    const manager = new CertificateManager({
      name: 'client',
      store,
      wanted: () => wanted.names,
      issue,
      renewFailed: () => (seen.failures += 1),
      rotated: (age) => seen.ages.push(age),
      clock,
      random,
      log: silentLogger,
    });
    manager.onChange(() => (seen.changes += 1));
    return manager;
  };
  return { clock, api, bootstrapApi, signer, bootstrapSigner, disk, seen, wanted, make };
}

/** File access and key generation take turns of the real event loop, but no time. */
async function until(clock: FakeClock, done: () => boolean | Promise<boolean>, limitMs = 0): Promise<void> {
  for (let i = 0; i < 500; i += 1) {
    if (await done()) return;
    await clock.advance(limitMs / 500);
  }
  assert.fail('it did not come to pass');
}

describe('a node without a certificate', () => {
  it('requests one with the bootstrap credentials, and has it as soon as it is signed', async () => {
    const { clock, bootstrapSigner, bootstrapApi, api, disk, seen, make } = setUp();
    const manager = make();
    await manager.load();
    manager.start();
    await until(clock, async () => (await bootstrapSigner.requests()).length === 1);
    const [request] = await bootstrapSigner.requests();
    assert.match(request?.metadata.name ?? '', /^node-csr-[\w-]{43}$/);
    assert.deepEqual(
      [request?.spec.signerName, request?.spec.usages],
      ['kubernetes.io/kube-apiserver-client-kubelet', ['digital signature', 'client auth']],
    );
    assert.equal(manager.current(), undefined);
    await bootstrapSigner.signAll();
    await until(clock, () => manager.current() !== undefined);
    assert.deepEqual(
      [manager.current()?.facts.commonName, manager.current()?.facts.organizations],
      ['system:node:n1', ['system:nodes']],
    );
    assert.deepEqual([disk.pair, seen.changes, seen.closed, api.calls.length], [manager.current(), 1, 1, 0]);
    assert.ok(bootstrapApi.calls.length > 0);
    await manager.stop();
    assert.equal(clock.armedTimers, 0);
  });

  it('continues the same request after a restart', async () => {
    const { clock, bootstrapSigner, make } = setUp();
    const first = make();
    await first.load();
    first.start();
    await until(clock, async () => (await bootstrapSigner.requests()).length === 1);
    await first.stop();
    await bootstrapSigner.signAll();
    const second = make();
    await second.load();
    second.start();
    await until(clock, () => second.current() !== undefined);
    assert.equal((await bootstrapSigner.requests()).length, 1);
    await second.stop();
  });

  it('makes another request, with another key, when the stored one of that name cannot be read', async () => {
    const { clock, bootstrapSigner, bootstrapApi, disk, make } = setUp();
    const first = make();
    await first.load();
    first.start();
    await until(clock, async () => (await bootstrapSigner.requests()).length === 1);
    await first.stop();
    const [own] = await bootstrapSigner.requests();
    const { certificateSigningRequests } = await import('../../../api/client/resource-types.ts');
    assert.ok(own !== undefined);
    await bootstrapApi.update(certificateSigningRequests, {
      ...own,
      spec: { ...own.spec, request: 'cnViYmlzaA==' },
      status: { conditions: [{ type: 'Denied', status: 'True' }] },
    });
    const key = disk.key;
    const second = make();
    await second.load();
    second.start();
    await until(clock, async () => (await bootstrapSigner.signAll()) === 1, 60_000);
    await until(clock, () => second.current() !== undefined);
    assert.notEqual(second.current()?.key, key);
    await second.stop();
  });

  it('that is denied reports so, keeps its request, and has its certificate when a new request is approved', async () => {
    const { clock, bootstrapSigner, bootstrapApi, seen, make } = setUp();
    const manager = make();
    await manager.load();
    manager.start();
    await until(clock, async () => (await bootstrapSigner.requests()).length === 1);
    const [request] = await bootstrapSigner.requests();
    const name = request?.metadata.name ?? '';
    await bootstrapSigner.refuse(name, 'Denied');
    await until(clock, () => manager.problem() !== undefined);
    assert.equal(manager.problem(), 'certificate signing request is denied, reason: Because, message: no');
    await until(clock, () => seen.failures >= 3, 60_000);
    assert.deepEqual(
      (await bootstrapSigner.requests()).map(({ metadata }) => metadata.name),
      [name],
    );
    const { certificateSigningRequests } = await import('../../../api/client/resource-types.ts');
    await bootstrapApi.delete(certificateSigningRequests, { namespace: '', name });
    await until(clock, async () => (await bootstrapSigner.signAll()) === 1, 60_000);
    await until(clock, () => manager.current() !== undefined);
    assert.equal(manager.problem(), undefined);
    await manager.stop();
  });

  it('that is denied uses a certificate that an operator places there', async () => {
    const { clock, bootstrapSigner, disk, make } = setUp();
    const manager = make();
    await manager.load();
    manager.start();
    await until(clock, async () => (await bootstrapSigner.requests()).length === 1);
    await bootstrapSigner.refuse((await bootstrapSigner.requests())[0]?.metadata.name ?? '', 'Denied');
    await until(clock, () => manager.problem() !== undefined);
    disk.pair = bootstrapSigner.pair('system:node:n1');
    await until(clock, () => manager.current() !== undefined, 60_000);
    await until(clock, () => manager.problem() === undefined);
    await manager.stop();
  });

  it('requests the names that are wanted when the pause after a failure ends, not the earlier ones', async () => {
    const { clock, bootstrapApi, bootstrapSigner, wanted, make } = setUp();
    bootstrapApi.fail('create', 'certificatesigningrequests', new ApiStatusError('Forbidden', 'not yet'));
    const manager = make();
    await manager.load();
    manager.start();
    await until(clock, () => manager.problem() !== undefined);
    wanted.names = clientNames('n2');
    manager.wake();
    await until(clock, async () => (await bootstrapSigner.signAll()) > 0, 60_000);
    await until(clock, () => manager.current() !== undefined);
    assert.deepEqual(
      [(await bootstrapSigner.requests()).length, manager.current()?.facts.commonName],
      [1, 'system:node:n2'],
    );
    await manager.stop();
  });

  it('whose request cannot be signed makes another, with another key', async () => {
    const { clock, bootstrapSigner, make } = setUp();
    const manager = make();
    await manager.load();
    manager.start();
    await until(clock, async () => (await bootstrapSigner.requests()).length === 1);
    await bootstrapSigner.refuse((await bootstrapSigner.requests())[0]?.metadata.name ?? '', 'Failed');
    await until(clock, async () => (await bootstrapSigner.requests()).length === 2, 60_000);
    await bootstrapSigner.signAll();
    await until(clock, () => manager.current() !== undefined);
    await manager.stop();
  });

  it('retries while the API cannot be reached, for ever and not often', async () => {
    const { clock, bootstrapApi, bootstrapSigner, seen, make } = setUp();
    const heal = bootstrapApi.script(() => new ApiStatusError('ServiceUnavailable', 'connect ECONNREFUSED'));
    const manager = make();
    await manager.load();
    manager.start();
    await until(clock, () => seen.failures > 5, 3_600_000);
    const before = seen.failures;
    await clock.advance(3_600_000);
    assert.ok(seen.failures - before > 80 && seen.failures - before < 130, String(seen.failures - before));
    heal();
    await until(clock, async () => (await bootstrapSigner.signAll()) === 1, 60_000);
    await until(clock, () => manager.current() !== undefined);
    await manager.stop();
  });
});

describe('rotation', () => {
  it('happens at 70 to 90 % of the life, as the node itself, and keeps the old certificate until the new one is on disk', async () => {
    const { clock, api, signer, bootstrapApi, seen, disk, make } = setUp({
      stored: (fake) => fake.pair('system:node:n1', 100 * hour),
    });
    const manager = make();
    await manager.load();
    const before = manager.current();
    manager.start();
    await clock.advance(69 * hour);
    assert.deepEqual([api.calls.length, manager.current()], [0, before]);
    await until(clock, async () => (await signer.requests()).length === 1, 21 * hour);
    assert.equal(manager.current(), before);
    await signer.signAll();
    await until(clock, () => manager.current() !== before);
    assert.deepEqual([disk.pair, bootstrapApi.calls.length, seen.ages.length], [manager.current(), 0, 1]);
    assert.ok((seen.ages[0] ?? 0) >= 69 * 3600 && (seen.ages[0] ?? 0) <= 91 * 3600);
    await manager.stop();
  });

  it('a rotation of a certificate that expired while asleep is a bootstrap again', async () => {
    const { clock, bootstrapSigner, make } = setUp({ stored: (fake) => fake.pair('system:node:n1', day) });
    clock.stepWall(2 * day);
    const manager = make();
    await manager.load();
    assert.equal(manager.current(), undefined);
    manager.start();
    await until(clock, async () => (await bootstrapSigner.signAll()) === 1);
    await until(clock, () => manager.current() !== undefined);
    await manager.stop();
  });

  it("ignores a clock that is before the certificate's start", async () => {
    const { clock, api, bootstrapApi, make } = setUp({ stored: (fake) => fake.pair('system:node:n1') });
    clock.stepWall(-clock.nowMs());
    const manager = make();
    await manager.load();
    manager.start();
    await clock.advance(day);
    assert.ok(manager.current() !== undefined);
    assert.deepEqual([api.calls.length, bootstrapApi.calls.length], [0, 0]);
    await manager.stop();
  });

  it('notices within a minute that the wall clock was stepped past the time', async () => {
    const { clock, signer, make } = setUp({ stored: (fake) => fake.pair('system:node:n1') });
    const manager = make();
    await manager.load();
    manager.start();
    await clock.advance(1000);
    clock.stepWall(95 * day);
    await until(clock, async () => (await signer.requests()).length === 1, 61_000);
    await manager.stop();
  });

  it('a rotation of the initial certificate happens at once', async () => {
    const { clock, signer, make } = setUp({ bootstrap: false });
    const manager = make();
    const given = signer.pair('system:node:n1');
    await manager.load(given);
    assert.equal(manager.current()?.certificate, given.certificate);
    manager.start();
    await until(clock, async () => (await signer.signAll()) === 1);
    await until(clock, () => manager.current()?.certificate !== given.certificate);
    await manager.stop();
  });

  it('a rotation to other names happens at once, and abandons a request for the earlier ones', async () => {
    const { clock, signer, wanted, make } = setUp({ stored: (fake) => fake.pair('system:node:n1') });
    const manager = make();
    await manager.load();
    wanted.names = undefined;
    manager.start();
    clock.stepWall(95 * day);
    await clock.advance(2 * hour);
    assert.equal((await signer.requests()).length, 0, 'its names are unknown');
    wanted.names = { ...clientNames('n1'), dnsNames: ['a'] };
    manager.wake();
    await until(clock, async () => (await signer.requests()).length === 1);
    wanted.names = { ...clientNames('n1'), dnsNames: ['b'] };
    manager.wake();
    await until(clock, async () => (await signer.requests()).length === 2);
    await signer.signAll();
    await until(clock, () => manager.current()?.facts.dnsNames.includes('b') === true);
    await manager.stop();
  });

  it('a rotation that returns an unusable certificate is retried later, not at once', async () => {
    const { clock, signer, wanted, make } = setUp({ stored: (fake) => fake.pair('system:node:n1') });
    const manager = make();
    await manager.load();
    wanted.names = { ...clientNames('n1'), ipAddresses: ['192.0.2.1'] };
    manager.start();
    let signed = 0;
    for (let second = 0; second < 600; second += 1) {
      await clock.advance(1000);
      signed += await signer.signAll();
    }
    assert.ok(
      signed > 5 && signed < 40,
      `the signer leaves addresses out, and was asked ${signed} times in ten minutes`,
    );
    await manager.stop();
  });
});
