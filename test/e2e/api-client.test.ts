// The agent's API client with a real server: one connection, authentication, and what happens when the server ends,
// hangs or returns.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createInformer } from '../../src/api/client/informer.ts';
import type { OwnInformer } from '../../src/api/client/informer.ts';
import { withoutManagedFields } from '../../src/api/client/reflector.ts';
import { configMaps } from '../../src/api/client/resource-types.ts';
import type { ConfigMap } from '../../src/api/core/config-map.ts';
import { isApiError } from '../../src/api/status/api-status-error.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ClusterAccess } from '../../src/client/cluster-access.ts';
import { HttpApiClient } from '../../src/client/http-api-client.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import { KubeconfigSource } from '../../src/client/kubeconfig-source.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

/**
 * With one write for each at the same time, this is below the number of streams that a server accepts on one
 * connection.
 */
const WATCHES = 40;

describe('the API client', () => {
  let cluster: TestCluster;
  const ends: (() => void | Promise<void>)[] = [];
  before(async () => (cluster = await startCluster()));
  after(async () => {
    for (const end of ends) await end();
    await cluster.stop();
  });

  const keep = (transport: HttpTransport): HttpTransport => {
    ends.push(() => transport.close());
    return transport;
  };
  const whoIs = async (transport: HttpTransport): Promise<string> => {
    const review = await transport.send({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' },
    });
    return (review as { status: { userInfo: { username: string } } }).status.userInfo.username;
  };
  /** A kubeconfig for the server of the test. */
  const kubeconfig = (name: string, user: object): string => {
    const { server, ca } = access();
    const file = path.join(cluster.folder, name);
    const authority = Buffer.from(ca ?? '').toString('base64');
    writeFileSync(
      file,
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': authority } }],
        users: [{ name: 'u', user }],
      }),
    );
    return file;
  };
  const access = (): ClusterAccess => ({
    ...readKubeconfig(cluster.kubeconfig),
    server: `https://127.0.0.1:${cluster.port}`,
  });

  describe('with a watch for each of many objects', () => {
    let transport: HttpTransport;
    let client: HttpApiClient;
    let informers: OwnInformer<ConfigMap>[];
    const change = (value: string): Promise<unknown> =>
      Promise.all(
        informers.map((_, at) =>
          client.patch(
            configMaps,
            { namespace: 'default', name: `each-${at}` },
            { type: 'apply', body: { metadata: { name: `each-${at}` }, data: { value } } },
            { fieldManager: 'e2e', force: true },
          ),
        ),
      );
    const seen = (value: string): Promise<void> =>
      until(
        () => informers.every((informer) => informer.list()[0]?.data?.['value'] === value),
        `all watches show ${value}`,
      );

    before(async () => {
      transport = keep(new HttpTransport(access(), { userAgent: 'e2e', readIdleMs: 500, pingTimeoutMs: 1_000 }));
      client = new HttpApiClient(transport);
      informers = Array.from({ length: WATCHES }, (_, at) =>
        createInformer({
          client,
          clock: systemClock,
          random: systemRandom,
          log: silentLogger,
          type: configMaps,
          namespace: 'default',
          fieldSelector: `metadata.name=each-${at}`,
          transform: withoutManagedFields,
        }),
      );
      for (const informer of informers) {
        informer.start();
        ends.push(() => informer.stop());
      }
      await change('first');
      await seen('first');
    });

    it('all share one connection', () => {
      assert.equal(connectionsTo(cluster.port), 1);
    });

    it('all go on when the server was killed and started again', async () => {
      await cluster.kill();
      await until(() => transport.problem() !== undefined, 'the outage is noticed');
      await assert.rejects(client.list(configMaps, 'default'), (error) => isApiError(error, 'ServiceUnavailable'));
      await cluster.start();
      await change('second');
      await seen('second');
      assert.deepEqual([transport.problem(), connectionsTo(cluster.port)], [undefined, 1]);
    });

    it('a server that hangs is noticed by pings, and everything goes on when it is back', async () => {
      process.kill(cluster.pid(), 'SIGSTOP');
      try {
        await until(
          () => informers.every((informer) => informer.problem() !== undefined),
          'the silence is noticed by all',
        );
      } finally {
        process.kill(cluster.pid(), 'SIGCONT');
      }
      await change('third');
      await seen('third');
    });
  });

  it("signs in by a program, which gets the cluster's data", async () => {
    const { certificate, key } = readKubeconfig(path.join(cluster.folder, 'scheduler.conf'));
    const credential = {
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      status: { clientCertificateData: certificate, clientKeyData: key },
    };
    writeFileSync(path.join(cluster.folder, 'credential.json'), JSON.stringify(credential));
    const script =
      'if (!JSON.parse(process.env.KUBERNETES_EXEC_INFO).spec.cluster.server.includes(process.argv[1])) process.exit(1); process.stdout.write(require("fs").readFileSync(process.env.FROM, "utf8"))';
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', script, String(cluster.port)],
      env: [{ name: 'FROM', value: path.join(cluster.folder, 'credential.json') }],
      interactiveMode: 'Never',
      provideClusterInfo: true,
    };
    assert.equal(
      await whoIs(
        keep(new HttpTransport(new KubeconfigSource(kubeconfig('exec.conf', { exec })), { userAgent: 'e2e' })),
      ),
      'system:kube-scheduler',
    );
  });

  it('is another user as soon as its certificate files change', async () => {
    const put = (from: string): void => {
      const { certificate = '', key = '' } = readKubeconfig(path.join(cluster.folder, from));
      for (const [name, text] of [
        ['tls.crt', certificate],
        ['tls.key', key],
      ] as const) {
        writeFileSync(path.join(cluster.folder, `${name}.new`), text);
        renameSync(path.join(cluster.folder, `${name}.new`), path.join(cluster.folder, name));
      }
    };
    put('scheduler.conf');
    const transport = keep(
      new HttpTransport(
        new KubeconfigSource(kubeconfig('files.conf', { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' })),
        { userAgent: 'e2e' },
      ),
    );
    assert.equal(await whoIs(transport), 'system:kube-scheduler');
    put('controller-manager.conf');
    await until(
      async () => (await whoIs(transport)) === 'system:kube-controller-manager',
      'the new certificate counts',
    );
  });

  it('impersonates another user where the kubeconfig says so', async () => {
    const { certificate = '', key = '' } = access();
    const user = {
      'client-certificate-data': Buffer.from(certificate).toString('base64'),
      'client-key-data': Buffer.from(key).toString('base64'),
      as: 'ann',
      'as-groups': ['dev', 'ops'],
    };
    assert.equal(
      await whoIs(keep(new HttpTransport(new KubeconfigSource(kubeconfig('as.conf', user)), { userAgent: 'e2e' }))),
      'ann',
    );
  });
});

const until = (check: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  eventually(async () => assert.ok(await check(), what));

/** The number of this machine's established connections to the port. */
function connectionsTo(port: number): number {
  const remote = port.toString(16).toUpperCase().padStart(4, '0');
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => {
      const [, , to = '', state] = line.trim().split(/\s+/);
      return state === '01' && to.endsWith(`:${remote}`);
    }).length;
}
