import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { PodCertificateRequestStatus } from '../../../api/certificates/pod-certificate-request.ts';
import { nodes, podCertificateRequests, serviceAccounts } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { internalError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import { errorMessage } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { IssuedCertificate } from '../../ports/pod-credentials.ts';
import { createPodCredentials } from './create-pod-credentials.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const pod = buildPod({ 'metadata.name': 'p', 'metadata.uid': 'pod-1', 'spec.serviceAccountName': 'sa' });
const source = { signerName: 'example.com/foo', keyType: 'ED25519', credentialBundlePath: 'bundle' };
const pem = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const events: string[] = [];
  const changes: string[] = [];
  const log = recordingLog();
  let keys = 0;
  api.seed(nodes, { metadata: { name: 'n1', namespace: '', uid: 'node-uid' }, spec: {} });
  api.seed(serviceAccounts, { metadata: { name: 'sa', namespace: 'default', uid: 'sa-uid' } });
  const made = createPodCredentials({
    client: api,
    gates: { enabled: () => true },
    nodeName: 'n1',
    makeKey: (keyType) => Promise.resolve({ key: `${keyType} ${++keys}`, stub: 'MQ==' }),
    recorder: { event: (_pod, type, reason, message) => events.push(`${type} ${reason} ${message}`) },
    clock,
    random: seededRandom(1),
    log,
  });
  made.onChange(({ kind, name }) => changes.push(`${kind} ${name}`));
  const { certificates } = made;
  assert.ok(certificates);
  /** Returns the result without its key, or the error. */
  const get = (): Promise<IssuedCertificate | string> =>
    certificates.get({ pod, volume: 'v', sourceIndex: 0, source }).catch(errorMessage);
  const names = (): readonly string[] => api.all(podCertificateRequests).map(({ metadata }) => metadata.name);
  const answer = (status: PodCertificateRequestStatus, name = names().at(-1) ?? ''): void => {
    api.change(podCertificateRequests, { namespace: 'default', name }, (request) => ({ ...request, status }));
  };
  const verdict = (type: string): NonNullable<PodCertificateRequestStatus['conditions']>[number] => ({
    type,
    status: 'True',
    reason: 'Because',
    message: 'of "this"',
    lastTransitionTime: formatTime(clock.nowMs()),
  });
  const issue = (text: string, refreshMs = HOUR_MS, lifeMs = 2 * HOUR_MS): void =>
    answer({
      conditions: [verdict('Issued')],
      certificateChain: `words\n${pem(text)}`,
      notBefore: formatTime(clock.nowMs()),
      beginRefreshAt: formatTime(clock.nowMs() + refreshMs),
      notAfter: formatTime(clock.nowMs() + lifeMs),
    });
  /** Returns the result of a call that waits for the signer, while `act` answers. */
  const getWhile = async (act: () => void): Promise<IssuedCertificate | string> => {
    const got = get();
    await clock.settle();
    act();
    await clock.advance(3_000);
    return got;
  };
  return {
    ...made,
    certificates,
    api,
    clock,
    events,
    changes,
    log,
    get,
    getWhile,
    names,
    answer,
    issue,
    verdict,
  };
}

const chainOf = (got: IssuedCertificate | string): string => (typeof got === 'string' ? got : got.chain);

it('a volume waits a moment for the signer, and gets the key and the certificates without other words', async () => {
  const world = setUp();
  const got = await world.getWhile(() => world.issue('one'));
  assert.ok(typeof got !== 'string', String(got));
  assert.deepEqual([got.key, got.chain], ['ED25519 1', pem('one')]);
  const [request] = world.api.all(podCertificateRequests);
  assert.deepEqual(
    [request?.metadata.generateName, request?.metadata.ownerReferences],
    ['req-', [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod-1' }]],
  );
  assert.deepEqual(request?.spec, {
    stubPKCS10Request: 'MQ==',
    signerName: 'example.com/foo',
    podName: 'p',
    podUID: 'pod-1',
    serviceAccountName: 'sa',
    serviceAccountUID: 'sa-uid',
    nodeName: 'n1',
    nodeUID: 'node-uid',
  });
  assert.equal(chainOf(await world.get()), pem('one'));
  assert.equal(world.names().length, 1);
  await world.stop();
});

it('without an answer the volume fails, and succeeds when there is one', async () => {
  const world = setUp();
  assert.equal(await world.getWhile(() => undefined), 'credential bundle is not issued yet');
  assert.deepEqual(world.changes, []);
  const phases = () => world.certificates.phases().map(({ signerName, phase }) => `${signerName} ${phase}`);
  assert.deepEqual(phases(), ['example.com/foo not_yet_issued']);
  world.issue('late');
  await world.clock.settle();
  assert.deepEqual(world.changes, ['PodCertificateRequest pod-1']);
  assert.equal(chainOf(await world.get()), pem('late'));
  assert.deepEqual(phases(), ['example.com/foo fresh']);
  world.certificates.forget('pod-1');
  assert.deepEqual(phases(), []);
  await world.stop();
});

it('a request that is deleted before its answer is made again', async () => {
  const world = setUp();
  await world.getWhile(() => undefined);
  const [first = ''] = world.names();
  world.api.remove(podCertificateRequests, { namespace: 'default', name: first });
  await world.clock.settle();
  assert.deepEqual(world.changes, ['PodCertificateRequest pod-1']);
  assert.equal(await world.getWhile(() => undefined), 'credential bundle is not issued yet');
  assert.equal(world.names().length, 1);
  assert.notEqual(world.names()[0], first);
  await world.stop();
});

for (const [verdict, word] of [
  ['Denied', 'was denied'],
  ['Failed', 'failed'],
] as const)
  it(`a request that is ${verdict} is not made again, and the pod has an event`, async () => {
    const world = setUp();
    const got = await world.getWhile(() => world.answer({ conditions: [world.verdict(verdict)] }));
    const permanently = `PodCertificateRequest was permanently ${verdict.toLowerCase()}: reason="Because" message="of \\"this\\""`;
    assert.equal(got, permanently);
    const [name = ''] = world.names();
    assert.deepEqual(world.events, [
      `Warning ${verdict} PodCertificateRequest default/${name} ${word}, reason="Because", message="of \\"this\\""`,
    ]);
    assert.equal(await world.get(), permanently);
    assert.equal(world.names().length, 1);
    assert.equal(world.events.length, 1);
    await world.stop();
  });

it('a new certificate is requested when its signer says so, with the old one in use until then', async () => {
  const world = setUp();
  const first = await world.getWhile(() => world.issue('one'));
  assert.ok(typeof first !== 'string');
  assert.ok(first.againInMs >= HOUR_MS - 5_000 && first.againInMs < HOUR_MS + 5 * MINUTE_MS, String(first.againInMs));
  await world.clock.advance(first.againInMs);
  const second = await world.get();
  assert.equal(chainOf(second), pem('one'));
  assert.equal(world.names().length, 2);
  world.issue('two');
  await world.clock.settle();
  const third = await world.get();
  assert.ok(typeof third !== 'string' && typeof second !== 'string');
  assert.equal(third.chain, pem('two'));
  assert.notEqual(third.key, second.key);
  await world.stop();
});

it('a refresh that takes long, and a certificate that ends, are events, each once', async () => {
  const world = setUp();
  const first = await world.getWhile(() => world.issue('one'));
  let againInMs = typeof first === 'string' ? 0 : first.againInMs;
  for (let round = 0; round < 6; round++) {
    await world.clock.advance(againInMs);
    const got = await world.get();
    assert.equal(chainOf(got), pem('one'));
    againInMs = typeof got === 'string' ? 0 : got.againInMs;
  }
  assert.deepEqual(world.events, [
    'Warning CertificateOverdueForRefresh PodCertificate refresh overdue',
    'Warning CertificateExpired PodCertificate expired',
  ]);
  await world.stop();
});

it('while no request can be made a new volume fails with the reason, and one in use keeps its certificate', async () => {
  const world = setUp();
  const refuse = (): (() => void) =>
    world.api.script(({ verb, plural }) =>
      verb === 'create' && plural === 'podcertificaterequests' ? internalError('no store') : undefined,
    );
  const allow = refuse();
  assert.match(String(await world.get()), /^while creating initial PodCertificateRequest: .*no store/);
  allow();
  const first = await world.getWhile(() => world.issue('one'));
  await world.clock.advance(typeof first === 'string' ? 0 : first.againInMs);
  refuse();
  const again = await world.get();
  assert.ok(typeof again !== 'string', String(again));
  assert.deepEqual([again.chain, again.againInMs], [pem('one'), 30_000]);
  assert.equal(world.log.lines.filter(({ level }) => level === 'warn').length, 1);
  await world.stop();
});

it('a key is forgotten with its pod', async () => {
  const world = setUp();
  await world.getWhile(() => world.issue('one'));
  world.certificates.retain(new Set(['pod-1']));
  assert.equal(chainOf(await world.get()), pem('one'));
  world.certificates.forget('pod-1');
  assert.equal(await world.getWhile(() => undefined), 'credential bundle is not issued yet');
  assert.equal(world.names().length, 2);
  await world.stop();
});

it('without its gate, and on a node without a cluster, there is nothing', () => {
  const world = setUp();
  const parts = { ...world, nodeName: 'n1', random: seededRandom(1), recorder: { event: () => undefined } };
  const off = createPodCredentials({ ...parts, client: world.api, gates: { enabled: () => false } });
  const alone = createPodCredentials({ ...parts, client: undefined, gates: { enabled: () => true } });
  for (const { trust, certificates } of [off, alone]) assert.deepEqual([trust, certificates], [undefined, undefined]);
});
