// Certificate requests that parsers may read differently, sent with a bootstrap token, as a node, and as approvers.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { tokenCommand } from '../../src/control-plane/cmd/token/token-command.ts';
import { toPem } from '../../src/pki/pem.ts';
import {
  altNames,
  attribute,
  certificateDer,
  constructed,
  dnsName,
  extensionRequest,
  ids,
  plainSubject,
  requestPem,
  set,
  subject,
  tags,
} from '../../src/pki/testing/der-builder.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const keyPem = key.export({ type: 'sec1', format: 'pem' }).toString();

interface Reply {
  readonly status: number;
  readonly body: Body;
}

interface Body {
  readonly message?: string;
  readonly metadata?: { readonly name?: string };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
    readonly userInfo?: { readonly username: string; readonly groups: readonly string[] };
  };
}

/** The requester: a token, a certificate, or the administrator, possibly impersonating another user. */
type Asker = { readonly token: string } | { readonly certificate: string } | { readonly as?: string };

function ask(cluster: TestCluster, asker: Asker, method: string, at: string, body?: object): Promise<Reply> {
  const admin = readKubeconfig(cluster.kubeconfig);
  const own =
    'token' in asker
      ? {}
      : 'certificate' in asker
        ? { cert: asker.certificate, key: keyPem }
        : { cert: admin.certificate, key: admin.key };
  const headers = {
    'content-type': 'application/json',
    ...('token' in asker && { authorization: `Bearer ${asker.token}` }),
    ...('as' in asker && { 'impersonate-user': asker.as }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: cluster.port, ca: admin.ca, method, path: at, headers, agent: false, ...own },
      (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (text += chunk))
          .on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Body }));
      },
    );
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

interface RequestOptions {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly signer: 'kube-apiserver-client' | 'kube-apiserver-client-kubelet' | 'kubelet-serving';
  readonly names?: readonly Uint8Array[];
}

const usages = {
  'kube-apiserver-client': ['client auth'],
  'kube-apiserver-client-kubelet': ['digital signature', 'client auth'],
  'kubelet-serving': ['digital signature', 'server auth'],
} as const;

const manifest = ({ name, subject: asked, signer, names }: RequestOptions): object => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: {
    request: Buffer.from(
      requestPem({
        subject: asked,
        key,
        attributes: names === undefined ? [] : [extensionRequest(altNames(...names))],
      }),
    ).toString('base64'),
    signerName: `kubernetes.io/${signer}`,
    usages: usages[signer],
  },
});

const submit = (cluster: TestCluster, asker: Asker, options: RequestOptions): Promise<Reply> =>
  ask(cluster, asker, 'POST', requests, manifest(options));

async function approve(cluster: TestCluster, name: string, asker: Asker = {}): Promise<Reply> {
  const { body } = await ask(cluster, {}, 'GET', `${requests}/${name}`);
  return ask(cluster, asker, 'PUT', `${requests}/${name}/approval`, {
    ...body,
    status: { conditions: [{ type: 'Approved', status: 'True', reason: 'test' }] },
  });
}

const answered = (cluster: TestCluster, name: string): Promise<NonNullable<Body['status']>> =>
  eventually(async () => {
    const { status = {} } = (await ask(cluster, {}, 'GET', `${requests}/${name}`)).body;
    assert.ok(
      status.certificate !== undefined || (status.conditions ?? []).some(({ type }) => type === 'Failed'),
      JSON.stringify(status),
    );
    return status;
  });

const [nodes, joiner] = [attribute(ids.o, 'system:nodes'), attribute(ids.cn, 'system:node:joiner')];
const beside = attribute(ids.unknown, 'x');
const own = plainSubject(nodes, joiner);

/** The result of a review, and the signer of the certificate. */
const attacks: readonly RequestOptions[] = [
  {
    name: 'hidden-rdns',
    subject: subject(set(attribute(ids.cn, 'system:kube-controller-manager')), set(nodes, beside), set(joiner, beside)),
    signer: 'kube-apiserver-client-kubelet',
  },
  {
    name: 'numeric-masters',
    subject: plainSubject(attribute(ids.o, 'system:masters', tags.numeric), attribute(ids.cn, 'jane')),
    signer: 'kube-apiserver-client',
  },
  {
    name: 'masters-in-pieces',
    subject: plainSubject(constructed(ids.o, 'system:', 'masters'), attribute(ids.cn, 'jane')),
    signer: 'kube-apiserver-client',
  },
];

async function bootstrapToken({ folder }: TestCluster): Promise<{ readonly token: string }> {
  let said = '';
  await eventually(async () => {
    said = '';
    assert.equal(
      await tokenCommand(['create', '--data-dir', folder], {
        write: (text) => (said += text),
        defaultDataDir: '',
        nowMs: Date.now(),
      }),
      0,
      said,
    );
  });
  return { token: said.trim() };
}

const certificateOf = (status: Body['status']): string => Buffer.from(status?.certificate ?? '', 'base64').toString();

describe('a certificate request that can be read in two ways', () => {
  let cluster: TestCluster;
  let token: { readonly token: string };
  before(async () => {
    cluster = await startCluster();
    token = await bootstrapToken(cluster);
  });
  after(() => cluster.stop());

  for (const attack of attacks) {
    it(`is rejected from a holder of a bootstrap token: ${attack.name}`, async () => {
      const { status, body } = await submit(cluster, token, attack);
      assert.ok(status === 422 || status === 403, `${status} ${JSON.stringify(body)}`);
      assert.match(body.message ?? '', /attributes of several types|tag 0x12|tag 0x2c/);
      assert.equal((await ask(cluster, {}, 'GET', `${requests}/${attack.name}`)).status, 404);
    });
  }

  it('is not taken from a node, which gets certificates for itself alone', async () => {
    assert.equal(
      (await submit(cluster, token, { name: 'own', subject: own, signer: 'kube-apiserver-client-kubelet' })).status,
      201,
    );
    const certificate = certificateOf(await answered(cluster, 'own'));
    assert.equal(new X509Certificate(certificate).subject, 'O=system:nodes\nCN=system:node:joiner');
    const node: Asker = { certificate };
    const { body } = await ask(cluster, node, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    assert.deepEqual(
      [body.status?.userInfo?.username, body.status?.userInfo?.groups],
      ['system:node:joiner', ['system:nodes', 'system:authenticated']],
    );
    for (const attack of [
      ...attacks,
      { ...attacks[0], name: 'served', signer: 'kubelet-serving', names: [dnsName('joiner')] } as RequestOptions,
      {
        name: 'other',
        subject: plainSubject(nodes, attribute(ids.cn, 'system:node:other')),
        signer: 'kube-apiserver-client-kubelet',
      } as RequestOptions,
    ]) {
      const reply = await submit(cluster, node, attack);
      assert.ok(
        reply.status === 422 || reply.status === 403,
        `${attack.name}: ${reply.status} ${JSON.stringify(reply.body)}`,
      );
    }
  });

  it('names no path: names with slashes, dots or line breaks are refused', async () => {
    for (const name of ['a/b', '..', '.', 'a%2fb', 'a\nb', '../../nodes/n1']) {
      const { status, body } = await submit(cluster, token, {
        name,
        subject: own,
        signer: 'kube-apiserver-client-kubelet',
      });
      assert.equal(status, 422, name);
      assert.match(body.message ?? '', /metadata\.name: Invalid value/);
    }
  });

  it('is no way in as a certificate either, even one that the authority signed', async () => {
    const pki = path.join(cluster.folder, 'pki');
    const authority = {
      certificate: readFileSync(path.join(pki, 'ca.crt'), 'utf8'),
      key: createPrivateKey(readFileSync(path.join(pki, 'ca.key'))),
    };
    const now = Date.now();
    const whoIs = async (name: Uint8Array): Promise<string> => {
      const certificate = toPem(
        'CERTIFICATE',
        certificateDer({ subject: name, key, authority, fromMs: now - 60_000, toMs: now + 3_600_000 }),
      );
      const { status, body } = await ask(
        cluster,
        { certificate },
        'POST',
        '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      );
      return status === 201 ? (body.status?.userInfo?.username ?? '') : String(status);
    };
    assert.equal(await whoIs(plainSubject(attribute(ids.cn, 'jane'), attribute(ids.email, 'a@b', tags.ia5))), 'jane');
    for (const attack of attacks) assert.equal(await whoIs(attack.subject), '401', attack.name);
    assert.equal(await whoIs(plainSubject(attribute(ids.cn, 'jane'), attribute(ids.cn, 'kubernetes-admin'))), '401');
  });
});

describe('an approver', () => {
  let cluster: TestCluster;
  let token: { readonly token: string };
  before(async () => {
    // Requests can be made that no plugin has looked at, as they could be before a plugin was turned on.
    cluster = await startCluster({
      flags: ['--disable-admission-plugins=CertificateSubjectRestriction,CertificateRequestSignature,NodeRestriction'],
    });
    token = await bootstrapToken(cluster);
    const group = 'certificates.k8s.io';
    const rules: readonly object[] = [
      {
        apiGroups: [group],
        resources: ['certificatesigningrequests/approval', 'certificatesigningrequests/status'],
        verbs: ['update', 'patch'],
      },
      {
        apiGroups: [group],
        resources: ['signers'],
        resourceNames: ['kubernetes.io/kube-apiserver-client'],
        verbs: ['approve'],
      },
    ];
    for (const [user, granted] of [
      ['approver', rules],
      ['clerk', rules.slice(0, 1)],
    ] as const) {
      const rbac = 'rbac.authorization.k8s.io';
      const meta = { apiVersion: `${rbac}/v1`, metadata: { name: user } };
      await ask(cluster, {}, 'POST', `/apis/${rbac}/v1/clusterroles`, { ...meta, kind: 'ClusterRole', rules: granted });
      await ask(cluster, {}, 'POST', `/apis/${rbac}/v1/clusterrolebindings`, {
        ...meta,
        kind: 'ClusterRoleBinding',
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: user },
        subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
      });
    }
  });
  after(() => cluster.stop());

  it('gets nothing signed that the signer does not sign, though no plugin looked at the request', async () => {
    const masters: RequestOptions = {
      name: 'plain-masters',
      subject: plainSubject(attribute(ids.o, 'system:masters'), attribute(ids.cn, 'jane')),
      signer: 'kube-apiserver-client',
    };
    for (const options of [...attacks, masters]) {
      assert.equal((await submit(cluster, token, options)).status, 201, options.name);
      assert.equal((await approve(cluster, options.name)).status, 200, options.name);
      const { certificate, conditions = [] } = await answered(cluster, options.name);
      assert.equal(
        certificate,
        undefined,
        `${options.name}: ${certificate === undefined ? '' : new X509Certificate(certificateOf({ certificate })).subject}`,
      );
      assert.match(
        conditions.find(({ type }) => type === 'Failed')?.message ?? '',
        /cannot be read|system:masters is not allowed/,
      );
    }
  });

  it('of the cluster approves none of them', async () => {
    for (const options of attacks) await submit(cluster, token, { ...options, name: `${options.name}-left` });
    assert.equal(
      (await submit(cluster, token, { name: 'after', subject: own, signer: 'kube-apiserver-client-kubelet' })).status,
      201,
    );
    await answered(cluster, 'after');
    for (const { name } of attacks)
      assert.deepEqual((await ask(cluster, {}, 'GET', `${requests}/${name}-left`)).body.status ?? {}, {}, name);
  });

  it('needs the right for the signer, cannot sign, and changes nothing of the request', async () => {
    const jane: RequestOptions = {
      name: 'jane',
      subject: plainSubject(attribute(ids.cn, 'jane')),
      signer: 'kube-apiserver-client',
    };
    const created = (await submit(cluster, token, jane)).body;
    assert.match(
      (await approve(cluster, 'jane', { as: 'clerk' })).body.message ?? '',
      /user not permitted to approve requests with signerName/,
    );
    await submit(cluster, token, {
      name: 'serving',
      subject: own,
      signer: 'kubelet-serving',
      names: [dnsName('joiner')],
    });
    assert.equal((await approve(cluster, 'serving', { as: 'approver' })).status, 403);
    const certificate = Buffer.from(readFileSync(path.join(cluster.folder, 'pki', 'ca.crt'))).toString('base64');
    const { resourceVersion: _, ...metadata } = (await ask(cluster, {}, 'GET', `${requests}/jane`)).body
      .metadata as Readonly<Record<string, unknown>>;
    const current = { ...created, metadata };
    const signed = await ask(cluster, { as: 'approver' }, 'PUT', `${requests}/jane/status`, {
      ...current,
      status: { certificate },
    });
    assert.match(signed.body.message ?? '', /user not permitted to sign requests with signerName/);
    const changed = {
      ...current,
      spec: {
        ...current.spec,
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        username: 'kubernetes-admin',
        request: (manifest(attacks[0] as RequestOptions) as Body).spec?.['request'],
      },
    };
    for (const part of ['', '/status', '/approval'])
      assert.deepEqual(
        (await ask(cluster, {}, 'PUT', `${requests}/jane${part}`, changed)).body.spec,
        created.spec,
        part,
      );
    const forged = await ask(cluster, { as: 'approver' }, 'PUT', `${requests}/jane/approval`, {
      ...current,
      status: { certificate, conditions: [{ type: 'Approved', status: 'True', reason: 'test' }] },
    });
    assert.deepEqual([forged.status, forged.body.status?.certificate], [200, undefined]);
    assert.equal(new X509Certificate(certificateOf(await answered(cluster, 'jane'))).subject, 'CN=jane');
  });

  it('finds no certificate in invalid data', async () => {
    await submit(cluster, token, {
      name: 'rubbish',
      subject: plainSubject(attribute(ids.cn, 'jane')),
      signer: 'kube-apiserver-client',
    });
    const current = (await ask(cluster, {}, 'GET', `${requests}/rubbish`)).body;
    for (const text of ['rubbish', '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n', keyPem]) {
      assert.equal(
        (
          await ask(cluster, {}, 'PUT', `${requests}/rubbish/status`, {
            ...current,
            status: { certificate: Buffer.from(text).toString('base64') },
          })
        ).status,
        422,
      );
    }
  });
});
