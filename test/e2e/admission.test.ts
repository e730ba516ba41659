// What admission accepts, changes and rejects, as seen with kubectl: quotas, limits, the Pod Security Standards, and a
// webhook over HTTPS.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { configMaps } from '../../src/api/client/resource-types.ts';
import { makeWebhookCertificate } from '../../src/control-plane/admission/testing/webhook-certificate.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { waitUntil } from '../../src/up/processes.ts';

interface Review {
  readonly request: {
    readonly uid: string;
    readonly name?: string;
    readonly operation: string;
    readonly object: { readonly data?: Record<string, string> } | null;
  };
}

describe('admission', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster.stop());

  /** The output of a kubectl command that must fail. */
  const refusal = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await cluster.tryKubectl(args, input);
    assert.notEqual(code, 0, `${args.join(' ')} should have failed: ${stdout}`);
    return stderr.trim();
  };
  const pod = (name: string, container: object = {}, spec: object = {}) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'a', image: 'nginx', ...container }], ...spec },
    });
  const resources = (requests: object, limits: object) => ({ resources: { requests, limits } });
  const used = (space: string) => cluster.kubectl(['-n', space, 'get', 'quota', 'q', '-o', 'jsonpath={.status.used}']);
  const usedBecomes = async (space: string, what: string): Promise<void> => {
    assert.ok(
      await waitUntil(async () => (await used(space)) === what, 10_000, 50),
      `${await used(space)} should be ${what}`,
    );
  };

  it('says first that a namespace is not there', async () => {
    assert.equal(
      await refusal(['-n', 'nope', 'run', 'a', '--image=nginx']),
      'Error from server (NotFound): namespaces "nope" not found',
    );
  });

  it('keeps a namespace within its quota, and frees the quota of deleted objects', async () => {
    await cluster.kubectl(['create', 'namespace', 'quota']);
    await cluster.kubectl([
      '-n',
      'quota',
      'create',
      'quota',
      'q',
      '--hard=pods=2,requests.cpu=1,count/deployments.apps=1',
    ]);
    await usedBecomes('quota', '{"count/deployments.apps":"0","pods":"0","requests.cpu":"0"}');
    const create = ['-n', 'quota', 'create', '-f', '-'];
    assert.equal(
      await refusal(create, pod('a')),
      'Error from server (Forbidden): error when creating "STDIN": pods "a" is forbidden: failed quota: q: must specify requests.cpu for: a',
    );
    await cluster.kubectl(create, pod('a', resources({ cpu: '600m' }, {})));
    assert.equal(
      await refusal(create, pod('b', resources({ cpu: '500m' }, {}))),
      'Error from server (Forbidden): error when creating "STDIN": pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    await cluster.kubectl(
      ['-n', 'quota', 'create', '--dry-run=server', '-f', '-'],
      pod('b', resources({ cpu: '400m' }, {})),
    );
    assert.match(await cluster.kubectl(['-n', 'quota', 'describe', 'quota', 'q']), /requests.cpu +600m +1/);
    await cluster.kubectl(['-n', 'quota', 'delete', 'pod', 'a', '--now']);
    await usedBecomes('quota', '{"count/deployments.apps":"0","pods":"0","requests.cpu":"0"}');
    await cluster.kubectl(create, pod('b', resources({ cpu: '500m' }, {})));
    await cluster.kubectl(['-n', 'quota', 'create', 'deployment', 'd', '--image=nginx', '--replicas=0']);
    assert.match(
      await refusal(['-n', 'quota', 'create', 'deployment', 'e', '--image=nginx']),
      /deployments.apps "e" is forbidden: exceeded quota: q, requested: count\/deployments.apps=1, used: count\/deployments.apps=1, limited: count\/deployments.apps=1$/,
    );
  });

  it('never goes over a quota, however many ask at once', async () => {
    await cluster.kubectl(['create', 'namespace', 'crowd']);
    await cluster.kubectl(['-n', 'crowd', 'create', 'quota', 'q', '--hard=count/configmaps=21']);
    await usedBecomes('crowd', '{"count/configmaps":"1"}');
    const clients = Array.from({ length: 4 }, () => cluster.client());
    const outcomes = await Promise.allSettled(
      Array.from({ length: 80 }, (_, index) =>
        clients[index % 4]?.create(configMaps, { metadata: { name: `c${index}`, namespace: 'crowd', uid: '' } }),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 20);
    assert.equal(
      (await cluster.kubectl(['-n', 'crowd', 'get', 'configmaps', '-o', 'name'])).trim().split('\n').length,
      21,
    );
    assert.equal(await used('crowd'), '{"count/configmaps":"21"}');
  });

  it('fills in limits, and keeps to them', async () => {
    await cluster.kubectl(['create', 'namespace', 'limits']);
    const range = {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'l' },
      spec: {
        limits: [{ type: 'Container', default: { cpu: '200m' }, defaultRequest: { cpu: '100m' }, max: { cpu: '1' } }],
      },
    };
    await cluster.kubectl(['-n', 'limits', 'create', '-f', '-'], JSON.stringify(range));
    await cluster.kubectl(['-n', 'limits', 'run', 'a', '--image=nginx']);
    assert.equal(
      await cluster.kubectl([
        '-n',
        'limits',
        'get',
        'pod',
        'a',
        '-o',
        'jsonpath={.spec.containers[0].resources} {.metadata.annotations}',
      ]),
      '{"limits":{"cpu":"200m"},"requests":{"cpu":"100m"}} {"kubernetes.io/limit-ranger":"LimitRanger plugin set: cpu request for container a; cpu limit for container a"}',
    );
    assert.match(
      await refusal(['-n', 'limits', 'create', '-f', '-'], pod('b', resources({ cpu: '1' }, { cpu: '2' }))),
      /pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 2$/,
    );
  });

  it('holds pods to the level of their namespace, and warns of templates and of pods there are', async () => {
    await cluster.kubectl(['create', 'namespace', 'secure']);
    await cluster.kubectl(['-n', 'secure', 'run', 'early', '--image=nginx']);
    const labelled = await cluster.tryKubectl([
      'label',
      'namespace',
      'secure',
      'pod-security.kubernetes.io/enforce=restricted',
    ]);
    assert.equal(
      labelled.stderr,
      'Warning: existing pods in namespace "secure" violate the new PodSecurity enforce level "restricted:latest"\n' +
        'Warning: early: allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile\n',
    );
    const violations =
      'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), ' +
      'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';
    assert.equal(
      await refusal(['-n', 'secure', 'run', 'a', '--image=nginx']),
      `Error from server (Forbidden): pods "a" is forbidden: violates PodSecurity "restricted:latest": ${violations}`,
    );
    const deployed = await cluster.tryKubectl(['-n', 'secure', 'create', 'deployment', 'a', '--image=a']);
    assert.equal(deployed.stderr, `Warning: would violate PodSecurity "restricted:latest": ${violations}\n`);
    const safe = {
      securityContext: {
        allowPrivilegeEscalation: false,
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
        capabilities: { drop: ['ALL'] },
      },
    };
    await cluster.kubectl(['-n', 'secure', 'create', '-f', '-'], pod('safe', safe));
    assert.match(
      await refusal(['label', 'namespace', 'secure', 'pod-security.kubernetes.io/warn=high']),
      /metadata.labels\[pod-security.kubernetes.io\/warn\]: Invalid value: "high": must be one of privileged, baseline, restricted$/,
    );
  });

  it('refuses to start with plugins or configurations there are none of', async () => {
    const configuration = path.join(cluster.folder, 'admission.yaml');
    writeFileSync(
      configuration,
      'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: PodSecurity\n  configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: high}}\n',
    );
    await assert.rejects(
      startCluster({ flags: ['--enable-admission-plugins=Nope'] }),
      /enable-admission-plugins plugin "Nope" is unknown/,
    );
    await assert.rejects(
      startCluster({ flags: [`--admission-control-config-file=${configuration}`] }),
      /defaults.enforce: Invalid value: "high": must be one of privileged, baseline, restricted/,
    );
  });

  describe('by webhooks', () => {
    const { key, cert } = makeWebhookCertificate(['IP:127.0.0.1']);
    let server: Server;
    let answer: (review: Review) => Promise<object> | object = () => ({ allowed: true });
    const configuration = (kind: 'Mutating' | 'Validating', more: object = {}) => {
      const { port } = server.address() as AddressInfo;
      const webhook = {
        name: 'check.example.com',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(cert).toString('base64') },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 5,
        rules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        namespaceSelector: { matchLabels: { hooked: 'yes' } },
        ...more,
      };
      return JSON.stringify({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: `${kind}WebhookConfiguration`,
        metadata: { name: 'hooks' },
        webhooks: [webhook],
      });
    };
    before(async () => {
      server = createServer({ key, cert }, (request, response) => {
        const chunks: Buffer[] = [];
        request
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
            void Promise.resolve(answer(review)).then((verdict) =>
              response.end(
                JSON.stringify({
                  kind: 'AdmissionReview',
                  apiVersion: 'admission.k8s.io/v1',
                  response: { uid: review.request.uid, ...verdict },
                }),
              ),
            );
          });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      await cluster.kubectl(['create', 'namespace', 'hooked']);
      await cluster.kubectl(['label', 'namespace', 'hooked', 'hooked=yes']);
    });
    after(() => {
      server.closeAllConnections();
      server.close();
    });
    const create = (name: string, ...more: string[]) => [
      '-n',
      'hooked',
      'create',
      'configmap',
      name,
      '--from-literal=k=v',
      ...more,
    ];

    it('is called for objects only where its rules match', async () => {
      await cluster.kubectl(['apply', '-f', '-'], configuration('Validating'));
      answer = ({ request }) =>
        request.name === 'bad'
          ? { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'not that one' } }
          : { allowed: true, warnings: ['watch out'] };
      assert.equal(
        await refusal(create('bad')),
        'error: failed to create configmap: admission webhook "check.example.com" denied the request: not that one',
      );
      assert.equal((await cluster.tryKubectl(create('good'))).stderr, 'Warning: watch out\n');
      await cluster.kubectl(['create', 'configmap', 'bad', '--from-literal=k=v']);
    });

    it('serves other requests while a webhook is slow', async () => {
      let release: () => void = () => undefined;
      const thinking = new Promise<void>((resolve) => (release = resolve));
      let arrived: () => void = () => undefined;
      const asked = new Promise<void>((resolve) => (arrived = resolve));
      answer = () => {
        arrived();
        return thinking.then(() => ({ allowed: true }));
      };
      const slow = cluster.kubectl(create('slow'));
      await asked;
      await cluster.kubectl(['create', 'configmap', 'meanwhile']);
      assert.match(await refusal(['-n', 'hooked', 'get', 'configmap', 'slow']), /NotFound/);
      release();
      assert.match(await slow, /configmap\/slow created/);
      await cluster.kubectl(['delete', 'validatingwebhookconfiguration', 'hooks']);
    });

    it('mutates objects, and rejects a result that is not an object', async () => {
      const patch = (operations: object[]) => ({
        allowed: true,
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
      });
      await cluster.kubectl(['apply', '-f', '-'], configuration('Mutating'));
      answer = () => patch([{ op: 'add', path: '/data/added', value: 'yes' }]);
      await cluster.kubectl(create('changed'));
      assert.equal(
        await cluster.kubectl(['-n', 'hooked', 'get', 'configmap', 'changed', '-o', 'jsonpath={.data}']),
        '{"added":"yes","k":"v"}',
      );
      answer = () => patch([{ op: 'add', path: '/data/bad key', value: 'x' }]);
      assert.match(await refusal(create('spoilt')), /ConfigMap "spoilt" is invalid: data\[bad key\]: Invalid value/);
      answer = () => patch([{ op: 'remove', path: '/nowhere' }]);
      assert.match(await refusal(create('spoilt')), /Internal error occurred/);
    });

    it('fails closed or open when a webhook is not there', async () => {
      const gone = { clientConfig: { url: 'https://127.0.0.1:1/' } };
      await cluster.kubectl(['apply', '-f', '-'], configuration('Mutating', gone));
      assert.equal(
        await refusal(create('lost')),
        'error: failed to create configmap: Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://127.0.0.1:1/?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
      );
      await cluster.kubectl(['apply', '-f', '-'], configuration('Mutating', { ...gone, failurePolicy: 'Ignore' }));
      await cluster.kubectl(create('lost'));
      await cluster.kubectl(['apply', '-f', '-'], configuration('Mutating', { ...gone, sideEffects: 'NoneOnDryRun' }));
      await cluster.kubectl(['delete', 'mutatingwebhookconfiguration', 'hooks']);
    });
  });
});
