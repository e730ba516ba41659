// A node that joins with a token: it requests its certificates and renews them, and clients of its server must
// authenticate.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { certificateSigningRequests } from '../../src/api/client/resource-types.ts';
import { readKubeconfigEntry } from '../../src/client/kubeconfig.ts';
import { tokenCommand } from '../../src/control-plane/cmd/token/token-command.ts';
import { freePort } from '../../src/up/agent.ts';
import type { TestCluster } from '../e2e/support/cluster.ts';
import { startCluster } from '../e2e/support/cluster.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { NODE, TestAgent } from './support/agent.ts';
import { nodeReady } from './support/cluster-agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import { container, pod } from './support/manifests.ts';
import { startTogether } from './support/start-together.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-join-'));
const [controlPlane, kubeconfig, bootstrap] = [
  join(folder, 'control-plane'),
  join(folder, 'kubelet.conf'),
  join(folder, 'bootstrap.conf'),
];
let [containerd, cluster, agent, port]: [TestContainerd?, TestCluster?, TestAgent?, number?] = [];
const fixture = (): { cluster: TestCluster; agent: TestAgent; certDir: string; port: number } => {
  assert.ok(cluster !== undefined && agent !== undefined && port !== undefined);
  return { cluster, agent, certDir: join(folder, 'pki'), port };
};

before(async () => {
  mkdirSync(controlPlane);
  // Certificates expire as soon as they are issued, so they are renewed repeatedly.
  const flags = [
    '--advertise-address=127.0.0.1',
    '--cluster-signing-duration=30s',
    '--approve-kubelet-serving',
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-certificate-authority=${join(controlPlane, 'pki', 'ca.crt')}`,
  ];
  port = await freePort(0);
  [containerd, cluster] = await startTogether(
    startContainerd({ name: 'join' }),
    startCluster({ folder: controlPlane, flags }),
  );
  let said = '';
  assert.equal(
    await tokenCommand(['create', '--data-dir', cluster.folder, '--bootstrap-kubeconfig', bootstrap], {
      write: (text) => (said += text),
      defaultDataDir: '',
      nowMs: Date.now(),
    }),
    0,
    said,
  );
  agent = await TestAgent.prepare(containerd, {
    args: ['--kubeconfig', kubeconfig, '--bootstrap-kubeconfig', bootstrap, '--cert-dir', join(folder, 'pki')],
    config: {
      port,
      address: '0.0.0.0',
      rotateCertificates: true,
      logging: { verbosity: 10 },
      serverTLSBootstrap: true,
      tlsMinVersion: 'VersionTLS12',
      tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'],
      tlsCurvePreferences: [29],
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true, cacheTTL: '2m' },
        x509: { clientCAFile: join(cluster.folder, 'pki', 'ca.crt') },
      },
      authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '1s', cacheUnauthorizedTTL: '1s' } },
    },
  });
  await agent.start();
});
after(async () => {
  await agent?.stop();
  await containerd?.stop();
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly issuer: string;
}

function ask(path: string, token?: string, tls: ConnectionOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const outgoing = request(
      { host: '127.0.0.1', port: fixture().port, path, headers, rejectUnauthorized: false, agent: false, ...tls },
      (response) => {
        const issuer = (response.socket as TLSSocket).getPeerX509Certificate()?.issuer ?? '';
        let body = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (body += chunk))
          .on('end', () => resolve({ status: response.statusCode, body, issuer }));
      },
    );
    outgoing.on('error', reject).end();
  });
}

test('a node joins by a token, as itself from then on', async () => {
  const { cluster: members, certDir } = fixture();
  await nodeReady(members);
  const { access, files } = readKubeconfigEntry(kubeconfig);
  assert.deepEqual(
    [access.server, files.certificate, files.key],
    [
      `https://127.0.0.1:${members.port}`,
      join(certDir, 'kubelet-client-current.pem'),
      join(certDir, 'kubelet-client-current.pem'),
    ],
  );
  assert.deepEqual(
    [kubeconfig, join(certDir, 'kubelet-client-current.pem')].map((file) => statSync(file).mode & 0o777),
    [0o600, 0o600],
  );
  const whoami = await members.kubectl([
    'auth',
    'whoami',
    '-o',
    'jsonpath={.status.userInfo.username} {.status.userInfo.groups}',
    '--kubeconfig',
    kubeconfig,
  ]);
  assert.equal(whoami, `system:node:${NODE} ["system:nodes","system:authenticated"]`);
  assert.throws(() => readFileSync(join(certDir, 'kubelet-client.key.tmp')), /ENOENT/);
});

test('its certificate is replaced before it expires, without an interruption', async () => {
  const { cluster: members, certDir } = fixture();
  const current = (): string => readlinkSync(join(certDir, 'kubelet-client-current.pem'));
  const first = current();
  await eventually(async () => assert.notEqual(current(), first), 40_000);
  const { items } = await members.client().list(certificateSigningRequests, '');
  const own = items.filter(
    ({ spec }) =>
      spec.signerName === 'kubernetes.io/kube-apiserver-client-kubelet' && spec.username === `system:node:${NODE}`,
  );
  assert.ok(own.length > 0, 'asked for by the node itself');
  await nodeReady(members);
});

test('its server shows a certificate of the cluster, which the API server checks', async () => {
  const { cluster: members } = fixture();
  await eventually(async () => assert.equal((await ask('/healthz')).issuer, 'CN=kubernetes'), 20_000);
  assert.equal(
    await eventually(() => members.kubectl(['get', '--raw', `/api/v1/nodes/${NODE}/proxy/healthz`]), 20_000),
    'ok',
  );
});

test('its server speaks TLS as configured', async () => {
  assert.equal((await ask('/pods', undefined, { maxVersion: 'TLSv1.2' })).status, 401);
  await assert.rejects(ask('/pods', undefined, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }));
  await assert.rejects(
    ask('/pods', undefined, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' }),
  );
  await assert.rejects(ask('/pods', undefined, { ecdhCurve: 'P-256' }));
});

test('its server authenticates and authorizes clients', async () => {
  const { cluster: members } = fixture();
  assert.deepEqual([(await ask('/pods')).status, (await ask('/pods')).body], [401, 'Unauthorized']);
  assert.equal((await ask('/pods', 'nonsense')).status, 401);
  await members.kubectl(['create', 'serviceaccount', 'looker']);
  const token = (await members.kubectl(['create', 'token', 'looker'])).trim();
  const { status, body } = await ask('/pods', token);
  assert.deepEqual(
    [status, body],
    [
      403,
      'Forbidden (user=system:serviceaccount:default:looker, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    ],
  );
  await members.kubectl(['create', 'clusterrole', 'looker', '--verb=get', '--resource=nodes/healthz']);
  await members.kubectl([
    'create',
    'clusterrolebinding',
    'looker',
    '--clusterrole=looker',
    '--serviceaccount=default:looker',
  ]);
  await eventually(async () => assert.deepEqual((await ask('/healthz', token)).status, 200), 10_000);
  assert.equal((await ask('/exec/default/web/main?command=id', token)).status, 403);
  await members.kubectl(['delete', 'clusterrolebinding', 'looker']);
  await eventually(async () => assert.equal((await ask('/healthz', token)).status, 403), 10_000);
});

test('its log contains no secrets, even at the highest verbosity (CVE-2019-11250, CVE-2020-8563 to -8566)', async () => {
  const { cluster: members, agent: node, certDir } = fixture();
  const canary = 'cAnArY-5d1e';
  const encoded = Buffer.from(canary).toString('base64');
  await members.kubectl(['create', 'secret', 'generic', 'quiet', `--from-literal=key=${canary}`]);
  await members.kubectl([
    'create',
    'secret',
    'docker-registry',
    'pull',
    `--docker-password=${canary}`,
    '--docker-username=u',
    '--docker-server=127.0.0.1:1',
  ]);
  const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'quiet', key: 'key' } } }];
  const volumeMounts = [{ name: 'all', mountPath: '/all' }];
  const sources = [{ secret: { name: 'quiet' } }, { serviceAccountToken: { path: 'token', expirationSeconds: 600 } }];
  const manifest = pod('quiet', {
    nodeName: NODE,
    imagePullSecrets: [{ name: 'pull' }],
    volumes: [{ name: 'all', projected: { sources } }],
    containers: [container('main', { env, volumeMounts })],
  });
  await members.kubectl(['create', '-f', '-'], JSON.stringify(manifest));
  await members.kubectl(['wait', 'pod/quiet', '--for=condition=Ready', '--timeout=60s']);
  const token = await members.kubectl(['exec', 'quiet', '--', 'cat', '/all/token']);
  const asked = (await members.kubectl(['create', 'token', 'looker'])).trim();
  await ask('/pods', asked);
  await ask('/pods', `${canary}.${canary}.${canary}`);
  await members.kubectl(['delete', 'pod', 'quiet', '--grace-period=1']);
  const bootstrapToken = readKubeconfigEntry(bootstrap).access.token ?? '';
  const key = readFileSync(join(certDir, 'kubelet-client-current.pem'), 'utf8').split('\n').at(-3) ?? '';
  const { log } = node;
  assert.ok(bootstrapToken.length > 20 && key.length > 20 && token.length > 100 && log.length > 10_000);
  const secrets = {
    canary,
    encoded,
    bootstrapToken: bootstrapToken.split('.')[1] ?? '',
    key,
    token: token.split('.')[2] ?? '',
    asked: asked.split('.')[2] ?? '',
  };
  assert.deepEqual(
    Object.entries(secrets)
      .filter(([, secret]) => log.includes(secret))
      .map(([name]) => name),
    [],
  );
});

test('static pods run while the node has not joined, which it does as soon as there is an API server', async () => {
  const { cluster: members, agent: node, certDir } = fixture();
  const phaseHere = async (): Promise<string | undefined> =>
    (await node.pods()).find(({ metadata }) => metadata.name === 'early-node')?.status?.phase;
  await members.kill();
  await node.term();
  rmSync(kubeconfig);
  rmSync(certDir, { recursive: true });
  node.writeManifest('early', pod('early'));
  await node.start();
  await eventually(async () => assert.equal(await phaseHere(), 'Running'), 20_000);
  assert.match((await node.problems()).join('\n'), /there is no client certificate of the node yet/);
  await members.start();
  await eventually(
    async () =>
      assert.equal(await members.kubectl(['get', 'pod', 'early-node', '-o', 'jsonpath={.status.phase}']), 'Running'),
    40_000,
  );
  assert.equal(statSync(kubeconfig).mode & 0o777, 0o600);
  node.removeManifest('early');
  await eventually(async () => assert.equal(await phaseHere(), undefined), 20_000);
});
