// Commands that reach through the API server to a kubelet, and those that look at the cluster as a whole.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { after, before, describe, it } from 'node:test';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { machineEnvironment } from '../../src/up/commands.ts';
import { startCluster, kubectlHome } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';
import { machineAddress, registerStreamingNode, startStreamingKubelet } from './support/streaming-kubelet.ts';
import type { StreamingKubelet } from './support/streaming-kubelet.ts';

describe('kubectl through the API server', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  let kubelet: StreamingKubelet;
  before(async () => {
    kubelet = await startStreamingKubelet();
    cluster = await startCluster({ nodes: 1 });
    await cluster.kubectl(['create', 'namespace', 'streams']);
    await registerStreamingNode(cluster, { node: 'streaming', namespace: 'streams', pod: 'talks', port: kubelet.port });
  });
  after(async () => {
    await cluster.stop();
    await kubelet.stop();
  });
  const kubectl = (words: string, input?: string): ReturnType<TestCluster['tryKubectl']> =>
    cluster.tryKubectl(['--namespace=streams', ...words.split(' ')], input);

  it('logs and node proxies reach the kubelet, which sees the user', async () => {
    assert.equal((await kubectl('logs talks')).stdout, 'first\nsecond\n');
    assert.equal((await kubectl('logs talks -c main --tail=1')).stdout, 'second\n');
    assert.match((await kubectl('logs talks -c nobody')).stderr, /container nobody is not valid for pod talks/);
    assert.equal(
      (await kubectl('get --raw /api/v1/nodes/streaming/proxy/stats/summary')).stdout,
      'you asked for /stats/summary',
    );
    assert.deepEqual(
      kubelet.requests.find(({ path }) => path.startsWith('/containerLogs')),
      { path: '/containerLogs/streams/talks/main', by: 'kube-apiserver-kubelet-client' },
    );
  });

  it('commands run over WebSocket, with their streams and their exit code', async (test) => {
    const { minor } = (
      JSON.parse((await kubectl('version --client -o json')).stdout) as { clientVersion: { minor: string } }
    ).clientVersion;
    // Before 1.31 kubectl only speaks SPDY, which the kubelet of this test does not.
    if (parseInt(minor, 10) < 31) return void test.diagnostic(`kubectl 1.${minor} has no WebSockets`);
    const hello = await kubectl('exec talks -- hello');
    assert.deepEqual([hello.code, hello.stdout, hello.stderr], [0, 'hello\n', 'warned\n']);
    assert.equal((await kubectl('exec talks -- fail')).code, 3);
    assert.deepEqual((await kubectl('exec -i talks -- cat', 'said and repeated')).stdout, 'said and repeated');
    assert.match(
      (await kubectl('exec talks -c nobody -- hello')).stderr,
      /container nobody|container not found|nobody/,
    );
  });

  it('other protocols pass as they are, in both directions', async () => {
    const { ca, certificate: cert, key } = readKubeconfig(cluster.kubeconfig);
    for (const [path, protocol] of [
      ['exec?command=ls&stdout=1', 'v4.channel.k8s.io'],
      ['portforward', 'portforward.k8s.io'],
    ] as const) {
      const socket = connect({ host: '127.0.0.1', port: cluster.port, ca, cert, key, ALPNProtocols: ['http/1.1'] });
      await once(socket, 'secureConnect');
      let heard = '';
      socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
      socket.write(
        `POST /api/v1/namespaces/streams/pods/talks/${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\nx-stream-protocol-version: ${protocol}\r\n\r\n`,
      );
      await eventually(() => Promise.resolve(assert.match(heard, /^HTTP\/1\.1 101 /)));
      socket.write(Buffer.from([0x80, 0x03, 0x00, 0x01, 0xff, 0x0d, 0x0a]));
      await eventually(() => Promise.resolve(assert.ok(heard.endsWith('\x80\x03\x00\x01\xff\r\n'))));
      socket.destroy();
    }
    assert.ok(kubelet.requests.some(({ path }) => path === '/portForward/streams/talks'));
    assert.ok(kubelet.requests.some(({ path }) => path.startsWith('/exec/streams/talks/main?')));
  });

  it('unreachable nodes are reported as in upstream', async () => {
    await registerStreamingNode(cluster, { node: 'dead', namespace: 'streams', pod: 'dead', port: 1 });
    const refused = `dial tcp ${machineAddress()}:1: connect: connection refused`;
    const says = async (words: string, expected: string): Promise<void> => {
      const { stderr } = await kubectl(words);
      assert.ok(stderr.includes(expected), `${words}: ${stderr}`);
    };
    await says(
      'logs dead',
      `Error from server: Get "https://${machineAddress()}:1/containerLogs/streams/dead/main": ${refused}`,
    );
    for (const words of ['exec dead -- ls', 'attach dead', 'port-forward dead :80'])
      await says(words, `error dialing backend: ${refused}`);
    await says(
      'get --raw /api/v1/nodes/dead/proxy/healthz',
      `Error from server (ServiceUnavailable): error trying to reach service: ${refused}`,
    );
    assert.match((await kubectl('logs nobody')).stderr, /pods "nobody" not found/);
    await cluster.kubectl(['--namespace=streams', 'create', 'service', 'clusterip', 'empty', '--tcp=80']);
    assert.match(
      (await kubectl('get --raw /api/v1/namespaces/streams/services/empty/proxy/')).stderr,
      /\(ServiceUnavailable\): no endpoints available for service "empty"/,
    );
  });

  it('nodes on the API server’s own machine are not proxied to, while logs of their pods are read', async () => {
    await registerStreamingNode(cluster, {
      node: 'own',
      namespace: 'streams',
      pod: 'own',
      port: 1,
      address: '127.0.0.1',
    });
    assert.match(
      (await kubectl('get --raw /api/v1/nodes/own/proxy/healthz')).stderr,
      /^Error from server \(BadRequest\): address not allowed$/m,
    );
    assert.match((await kubectl('logs own')).stderr, /dial tcp 127\.0\.0\.1:1: connect: connection refused/);
  });

  it('top reports kubelets without metrics, and names them', async () => {
    assert.match((await kubectl('top nodes')).stderr, /^error: metrics not available yet$/m);
    // kubectl names a pod that is older than two minutes.
    assert.match(
      (await kubectl('top pods')).stderr,
      /^error: (?:metrics not available yet|Metrics not available for pod streams\/\w+, age: \S+)$/m,
    );
    assert.match(
      (await kubectl('top node streaming')).stderr,
      /^Error from server \(NotFound\): nodemetrics\.metrics\.k8s\.io "streaming" not found$/m,
    );
    assert.match(
      (await kubectl('top pod talks')).stderr,
      /^Error from server \(NotFound\): podmetrics\.metrics\.k8s\.io "streams\/talks" not found$/m,
    );
    assert.match(
      (await kubectl('top node nowhere')).stderr,
      /^Error from server \(NotFound\): node "nowhere" not found$/m,
    );
    assert.match(
      (await kubectl('top pod nobody')).stderr,
      /^Error from server \(NotFound\): pods "nobody" not found$/m,
    );
    assert.equal(
      (await cluster.tryKubectl(['--namespace=kube-public', 'top', 'pods'])).stderr,
      'No resources found in kube-public namespace.\n',
    );
  });

  it('version, api-versions, api-resources and cluster-info tell what there is', async () => {
    assert.match((await kubectl('version')).stdout, /^Server Version: v1\.36\.0/m);
    const { stdout } = await kubectl('api-versions');
    for (const version of [
      'v1',
      'apps/v1',
      'batch/v1',
      'policy/v1',
      'events.k8s.io/v1',
      'rbac.authorization.k8s.io/v1',
    ])
      assert.ok(stdout.split('\n').includes(version), version);
    assert.match(
      (await kubectl('api-resources --api-group=apps --namespaced=true -o wide')).stdout,
      /deployments\s+deploy\s+apps\/v1\s+true\s+Deployment\s+create,delete,deletecollection,get,list,patch,update,watch\s+all/,
    );
    assert.match((await kubectl('cluster-info')).stdout, /is running at/);
    const dump = await kubectl('cluster-info dump --namespaces=kube-public');
    for (const kind of ['NodeList', 'EventList', 'ReplicationControllerList', 'PodList'])
      assert.ok(dump.stdout.includes(`"kind": "${kind}"`), `${kind} is in the dump`);
  });

  it('events are shown, chosen and watched, by both commands', async () => {
    const { run, namespace } = await scopedKubectl(cluster, 'events');
    await run(['run', 'chosen', '--image=x']);
    await run(['run', 'stuck', '--image=x', '--overrides={"spec":{"nodeSelector":{"no":"where"}}}']);
    await eventually(async () =>
      assert.match(
        await run('events --for pod/chosen'),
        /Normal\s+Scheduled\s+Pod\/chosen\s+Successfully assigned events\/chosen to fake-0/,
      ),
    );
    await eventually(async () =>
      assert.match(
        await run('events --types=Warning'),
        /Warning\s+FailedScheduling\s+Pod\/stuck\s+0\/\d+ nodes are available: /,
      ),
    );
    assert.match(
      await run('get events --field-selector=involvedObject.name=stuck,type=Warning'),
      /FailedScheduling\s+pod\/stuck/,
    );
    assert.match(
      await run('get events.events.k8s.io --sort-by=.metadata.creationTimestamp'),
      /Scheduled\s+pod\/chosen/,
    );
    assert.match(await run('describe pod stuck'), /Warning\s+FailedScheduling\s+\S+\s+default-scheduler/);
    for (const [index, command] of [
      ['events', '--watch'],
      ['get', 'events', '--watch-only'],
    ].entries()) {
      const watching = spawn(
        'kubectl',
        [
          `--server=https://127.0.0.1:${cluster.port}`,
          `--kubeconfig=${cluster.kubeconfig}`,
          `--namespace=${namespace}`,
          ...command,
        ],
        { stdio: ['ignore', 'pipe', 'ignore'], env: { ...machineEnvironment(), HOME: kubectlHome } },
      );
      let seen = '';
      watching.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text));
      // It is not known when the watch has begun, so there is something new until it is seen.
      let made = 0;
      await eventually(async () => {
        await run(['run', `later-${index}-${made++}`, '--image=x']);
        assert.match(seen, new RegExp(`Scheduled.*later-${index}-`));
      });
      const exited = once(watching, 'exit');
      watching.kill();
      await exited;
    }
  });

  it('proxy serves the API on a local port without credentials', async () => {
    const proxy = spawn(
      'kubectl',
      [`--server=https://127.0.0.1:${cluster.port}`, `--kubeconfig=${cluster.kubeconfig}`, 'proxy', '--port=0'],
      { stdio: ['ignore', 'pipe', 'ignore'], env: { ...machineEnvironment(), HOME: kubectlHome } },
    );
    const exited = once(proxy, 'exit');
    try {
      let said = '';
      proxy.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
      const port = await eventually(() => {
        const [, found] = /127\.0\.0\.1:(\d+)/.exec(said) ?? [];
        assert.ok(found !== undefined);
        return Promise.resolve(found);
      });
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces/streams/pods/talks`);
      assert.equal(((await answer.json()) as { metadata: { name: string } }).metadata.name, 'talks');
      const logs = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces/streams/pods/talks/log`);
      assert.equal(await logs.text(), 'first\nsecond\n');
    } finally {
      proxy.kill();
      await exited;
    }
  });
});
