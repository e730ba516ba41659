// Projected volumes of certificates.k8s.io: certificates that a signer issues for a pod, and trust bundles. The signer
// is its own process, with permissions for its signer name only.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { clusterTrustBundles, events, podCertificateRequests, pods } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { makeAuthority } from '../../src/pki/testing/pod-certificates.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { NODE } from './support/agent.ts';
import { clusterFixture } from './support/cluster-agent.ts';
import { container, pod, thenSleep } from './support/manifests.ts';
import type { PodSignerSetting } from './support/pod-signer-process.ts';

const SIGNER = 'example.com/test';
const fixture = clusterFixture({
  name: 'podcerts',
  agent: {
    config: {
      featureGates: { ClusterTrustBundle: true, ClusterTrustBundleProjection: true, PodCertificateRequest: true },
    },
  },
});
const folder = mkdtempSync(path.join(tmpdir(), 'kts-signer-'));
const nowMs = Date.now();
const validity = { notBeforeMs: nowMs - 60_000, notAfterMs: nowMs + 24 * 3_600_000 };
const [authority, nextAuthority] = [makeAuthority('one', validity), makeAuthority('two', validity)];
const bundle = (trustBundle: string) => ({
  apiVersion: 'certificates.k8s.io/v1beta1',
  kind: 'ClusterTrustBundle',
  metadata: { name: 'example.com:test:v1', labels: { live: 'yes' } },
  spec: { signerName: SIGNER, trustBundle },
});
let signer: ChildProcess | undefined;

const apply = (manifest: object): Promise<string> =>
  fixture.cluster.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
/** The pod's container has checked the files at its start; after that they are read on the node. */
async function read(name: string, file: string): Promise<string> {
  const { metadata } = await fixture.cluster.client().get(pods, { namespace: 'default', name });
  const volume = path.join('pods', metadata.uid, 'volumes', 'kubernetes.io~projected', 'certificates');
  return readFileSync(path.join(fixture.agent.rootDir, volume, file), 'utf8');
}

/** Called by the first test, because the cluster does not exist before. */
async function startSigner(): Promise<void> {
  const { cluster } = fixture;
  await cluster.kubectl(['create', 'serviceaccount', 'signer']);
  const rules = [
    ['--verb=get,list,watch', '--resource=podcertificaterequests.certificates.k8s.io'],
    ['--verb=update', '--resource=podcertificaterequests.certificates.k8s.io/status'],
    ['--verb=sign', '--resource=signers.certificates.k8s.io', `--resource-name=${SIGNER}`],
  ];
  for (const [index, rule] of rules.entries()) {
    await apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `signer-${index}` },
      rules: [
        {
          apiGroups: ['certificates.k8s.io'],
          verbs: (rule[0] ?? '').slice('--verb='.length).split(','),
          resources: [(rule[1] ?? '').slice('--resource='.length).replace('.certificates.k8s.io', '')],
          ...(index === 2 && { resourceNames: [SIGNER] }),
        },
      ],
    });
    await cluster.kubectl([
      'create',
      'clusterrolebinding',
      `signer-${index}`,
      `--clusterrole=signer-${index}`,
      '--serviceaccount=default:signer',
    ]);
  }
  const token = (await cluster.kubectl(['create', 'token', 'signer'])).trim();
  const at = (name: string): string => path.join(folder, name);
  writeFileSync(at('ca.crt'), authority.certificate);
  writeFileSync(at('ca.key'), authority.key.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(
    at('kubeconfig'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'c',
          cluster: {
            server: `https://127.0.0.1:${cluster.port}`,
            'certificate-authority': path.join(cluster.folder, 'pki', 'ca.crt'),
          },
        },
      ],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const setting: PodSignerSetting = {
    kubeconfig: at('kubeconfig'),
    signerName: SIGNER,
    certificate: at('ca.crt'),
    key: at('ca.key'),
  };
  const program = path.join(import.meta.dirname, 'support', 'pod-signer-process.ts');
  signer = spawn(process.execPath, [program, JSON.stringify(setting)], { stdio: ['ignore', 'inherit', 'inherit'] });
}
after(() => {
  signer?.kill();
  rmSync(folder, { recursive: true });
});

const withSources = (name: string, sources: readonly object[]) =>
  pod(name, {
    nodeName: NODE,
    containers: [
      container('main', {
        command: thenSleep('grep -q "BEGIN PRIVATE KEY" /certificates/bundle.pem || exit 1'),
        volumeMounts: [{ name: 'certificates', mountPath: '/certificates' }],
      }),
    ],
    volumes: [{ name: 'certificates', projected: { sources } }],
  });
const certificate = (more: object = {}) => ({
  podCertificate: { signerName: SIGNER, keyType: 'ECDSAP256', credentialBundlePath: 'bundle.pem', ...more },
});

async function ready(name: string): Promise<Pod> {
  return eventually(async () => {
    const found = await fixture.cluster.client().get(pods, { namespace: 'default', name });
    assert.ok(
      found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
      JSON.stringify(found.status),
    );
    return found;
  }, 30_000);
}

/** The first certificate of a bundle, after checking that it belongs to the key before it and to the authority. */
function leafOf(bundleText: string): X509Certificate {
  const leaf = new X509Certificate(bundleText.slice(bundleText.indexOf('-----BEGIN CERTIFICATE')));
  assert.ok(leaf.publicKey.equals(createPublicKey(createPrivateKey(bundleText))));
  assert.ok(leaf.verify(createPublicKey(authority.key)));
  return leaf;
}

test('a container finds a certificate of its own with its key, and the authorities that it trusts', async () => {
  await startSigner();
  await apply(bundle(authority.certificate));
  await apply(
    withSources('web', [
      certificate({ keyPath: 'key.pem', certificateChainPath: 'chain.pem', maxExpirationSeconds: 7200 }),
      { clusterTrustBundle: { signerName: SIGNER, labelSelector: { matchLabels: { live: 'yes' } }, path: 'ca.pem' } },
      { clusterTrustBundle: { name: 'none', optional: true, path: 'none.pem' } },
    ]),
  );
  await ready('web');
  const text = await read('web', 'bundle.pem');
  const leaf = leafOf(text);
  assert.equal(leaf.subject, 'CN=default/web');
  assert.equal(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), 7_200_000);
  assert.equal((await read('web', 'key.pem')) + (await read('web', 'chain.pem')), text);
  assert.equal(await read('web', 'ca.pem'), authority.certificate);
  assert.equal(await read('web', 'none.pem'), '');
  const requests = (await fixture.cluster.client().list(podCertificateRequests, 'default')).items;
  assert.deepEqual(
    requests.map(({ spec, metadata }) => [spec.podName, spec.nodeName, metadata.ownerReferences?.[0]?.kind]),
    [['web', NODE, 'Pod']],
  );
});

test('a changed bundle reaches the container at once', async () => {
  const both = nextAuthority.certificate + authority.certificate;
  await apply(bundle(both));
  await eventually(async () => {
    const found = await read('web', 'ca.pem');
    assert.deepEqual([found.length, found.includes(nextAuthority.certificate)], [both.length, true]);
  }, 10_000);
});

test('the API server publishes the authority of its own certificate as a bundle', async () => {
  const all = (await fixture.cluster.client().list(clusterTrustBundles, '')).items;
  const own = all.filter(({ spec }) => spec.signerName === 'kubernetes.io/kube-apiserver-serving');
  assert.equal(own.length, 1);
  assert.match(own[0]?.metadata.name ?? '', /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/);
});

test('after a restart of the agent the pod gets a new certificate, and its container goes on', async () => {
  const before = await ready('web');
  const old = leafOf(await read('web', 'bundle.pem'));
  await fixture.agent.restart();
  await eventually(async () => {
    assert.notEqual(leafOf(await read('web', 'bundle.pem')).serialNumber, old.serialNumber);
  }, 30_000);
  const [now] = (await ready('web')).status?.containerStatuses ?? [];
  const [then] = before.status?.containerStatuses ?? [];
  assert.deepEqual([now?.containerID, now?.restartCount], [then?.containerID, then?.restartCount]);
});

test('a pod whose request is denied, or whose trust bundle is missing, has an event with the reason', async () => {
  await apply(
    withSources('refused', [
      certificate({ userAnnotations: { 'example.com/deny': 'yes' } }),
      { clusterTrustBundle: { name: 'none', path: 'ca.pem' } },
    ]),
  );
  await eventually(async () => {
    const found = (await fixture.cluster.client().list(events, 'default')).items
      .filter(({ involvedObject }) => involvedObject.name === 'refused')
      .map(({ reason, message }) => `${reason} ${message}`);
    assert.ok(
      found.some((each) => /^Denied PodCertificateRequest default\/req-\w+ was denied, reason="Test"/.test(each)),
      found.join('\n'),
    );
    assert.ok(
      found.some((each) =>
        /^FailedMount .*PodCertificateRequest was permanently denied: reason="Test" message="by the test", while getting ClusterTrustBundle: .*"none" not found\]/.test(
          each,
        ),
      ),
      found.join('\n'),
    );
  }, 30_000);
});
