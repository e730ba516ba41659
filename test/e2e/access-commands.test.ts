// auth, tokens and certificates: permissions, and getting an identity.
import assert from 'node:assert/strict';
import { writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../../src/up/commands.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';

describe('kubectl and access', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster.stop());

  /** A kubeconfig for the same server with other credentials. Returns the flag for it. */
  async function as(name: string, user: object): Promise<string> {
    const config = JSON.parse(await cluster.kubectl(['config', 'view', '--raw', '--minify', '-o', 'json'])) as {
      users: unknown[];
      contexts: { context: { user: string } }[];
    };
    const file = path.join(cluster.folder, `${name}.conf`);
    writeFileSync(
      file,
      JSON.stringify({
        ...config,
        users: [{ name, user }],
        contexts: config.contexts.map((each) => ({ ...each, context: { ...each.context, user: name } })),
      }),
    );
    return `--kubeconfig=${file}`;
  }

  it('answers can-i for oneself and for others, with names, subresources and paths', async () => {
    const { run, try: tried } = await scopedKubectl(cluster, 'can-i');
    const answers = async (words: string): Promise<string> => {
      const { code, stdout, stderr } = await tried(`auth can-i ${words}`);
      assert.equal(code, stdout.trim().startsWith('yes') ? 0 : 1, stderr);
      return stdout.trim().split(' ')[0] ?? '';
    };
    await run('create role reader --verb=get,list --resource=pods,pods/log --resource-name=one');
    await run('create rolebinding reader --role=reader --user=jane --group=readers');
    const asked = [
      'create pods',
      '* *',
      'get pods --as=jane',
      'get pods/one --as=jane',
      'get pods/two --as=jane',
      'get pods/one --subresource=log --as=jane',
      'get pods/one --subresource=exec --as=jane',
      'get pods/one --as=joe --as-group=readers',
      'get /healthz --as=joe',
      'get /metrics --as=joe',
      'list deployments.apps --as=jane',
      'get pods --as=joe --as-group=system:masters',
      'get nodes --as=system:kube-scheduler',
      'create pods/eviction --as=system:kube-scheduler',
    ];
    const answered: string[] = [];
    for (const words of asked) answered.push(await answers(words));
    assert.deepEqual(answered, [
      'yes',
      'yes',
      'no',
      'yes',
      'no',
      'yes',
      'no',
      'yes',
      'yes',
      'no',
      'no',
      'yes',
      'yes',
      'no',
    ]);
    assert.equal((await tried('auth can-i list secrets --as=jane -q')).stdout, '');
  });

  it('lists what one may do, and refuses the rest', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'rules');
    await run('create role keeper --verb=get,update --resource=configmaps --resource-name=one');
    await run('create rolebinding keeper --role=keeper --user=jane');
    const rules = (await run('auth can-i --list --as=jane'))
      .split('\n')
      .map((line) => line.trim().replace(/\s+/g, ' '));
    for (const rule of [
      'configmaps [] [one] [get update]',
      'selfsubjectreviews.authentication.k8s.io [] [] [create]',
      '[/healthz] [] [get]',
    ])
      assert.ok(rules.includes(rule), `${rule} is among ${rules.join('\n')}`);
    await run('create configmap one --from-literal=a=b');
    assert.match(await run('get configmap one --as=jane'), /one/);
    assert.match(
      await refused('get configmaps --as=jane'),
      /\(Forbidden\): configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "rules"$/,
    );
    assert.match(
      await refused('get nodes --as=jane'),
      /\(Forbidden\): nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope$/,
    );
    assert.match(
      await refused('create role more --verb=get --resource=secrets --as=jane'),
      /cannot create resource "roles"/,
    );
    // Users cannot grant rights that they do not have.
    await run('create role granter --verb=create --resource=roles');
    await run('create rolebinding granter --role=granter --user=jane');
    assert.match(
      await refused('create role more --verb=get --resource=secrets --as=jane'),
      /attempting to grant RBAC permissions not currently held/,
    );
    assert.match(await run('auth reconcile -f -', reconciled), /reconciled/);
    assert.match(await run('get configmaps --as=jane'), /one/);
  });

  it('shows the current user', async () => {
    const { run } = await scopedKubectl(cluster, 'whoami');
    assert.match(await run('auth whoami'), /^Username\s+kubernetes-super-admin$/m);
    const whoami = JSON.parse(await run('auth whoami --as=jane --as-group=devs --as-uid=7 --as-group=ops -o json')) as {
      kind: string;
      status: unknown;
    };
    assert.deepEqual(
      [whoami.kind, whoami.status],
      [
        'SelfSubjectReview',
        { userInfo: { username: 'jane', uid: '7', groups: ['devs', 'ops', 'system:authenticated'] } },
      ],
    );
  });

  it('creates tokens that are valid for their audiences, as long as the bound object exists', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'tokens');
    const claims = (token: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;
    await run('create serviceaccount robot');
    await run('create secret generic anchor --from-literal=a=b');
    await run('create rolebinding robot --clusterrole=view --serviceaccount=tokens:robot');
    const plain = await run('create token robot --duration=20m');
    const { sub, exp, iat } = claims(plain) as { sub: string; exp: number; iat: number };
    assert.deepEqual([sub, exp - iat], ['system:serviceaccount:tokens:robot', 1200]);
    const robot = await as('robot', { token: plain });
    assert.match(
      await run(`${robot} auth whoami`),
      /^Username\s+system:serviceaccount:tokens:robot$[\s\S]*^Groups\s+\[system:serviceaccounts system:serviceaccounts:tokens system:authenticated\]$/m,
    );
    assert.match(await run(`${robot} get serviceaccounts`), /robot/);
    assert.match(
      await refused(`${robot} get secrets`),
      /Forbidden.*User "system:serviceaccount:tokens:robot" cannot list resource "secrets"/,
    );
    const foreign = await as('foreign', { token: await run('create token robot --audience=vault') });
    assert.match(await refused(`${foreign} get serviceaccounts`), /Unauthorized|must be logged in/);
    const bound = await as('bound', {
      token: await run('create token robot --bound-object-kind=Secret --bound-object-name=anchor'),
    });
    const boundToo = await as('bound-too', {
      token: await run('create token robot --bound-object-kind=Secret --bound-object-name=anchor'),
    });
    assert.match(await run(`${bound} get serviceaccounts`), /robot/);
    await run('delete secret anchor');
    // As upstream, results for known users are cached for ten more seconds; new users are refused at once.
    assert.match(await refused(`${boundToo} get serviceaccounts`), /Unauthorized|must be logged in/);
    assert.match(await refused('create token robot --duration=1m'), /may not specify a duration less than 10 minutes/);
    assert.match(await refused('create token nobody'), /serviceaccounts "nobody" not found/);
    assert.match(
      await refused('create token robot --bound-object-kind=Pod --bound-object-name=nobody'),
      /pods "nobody" not found/,
    );
    const late = await as('late', { token: await run('create token robot') });
    await run('delete serviceaccount robot');
    assert.match(await refused(`${late} get serviceaccounts`), /Unauthorized|must be logged in/);
    const forged = await as('forged', { token: `${plain.slice(0, -8)}AAAAAAAA` });
    assert.match(await refused(`${forged} get pods`), /Unauthorized|must be logged in/);
  });

  it('approves and denies certificates; an issued certificate identifies its user', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'certificates');
    const at = (name: string): string => path.join(cluster.folder, name);
    await runCommand([
      'openssl',
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      at('jane.key'),
      '-out',
      at('jane.csr'),
      '-subj',
      '/O=devs/CN=jane',
    ]);
    const request = readFileSync(at('jane.csr')).toString('base64');
    const manifest = (name: string): string => `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: ${name}}
spec: {request: ${request}, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth], expirationSeconds: 3600}`;
    await run('create -f -', manifest('e2e-jane'));
    await run('create -f -', manifest('e2e-denied'));
    assert.match(
      await run('get csr e2e-jane'),
      /kubernetes.io\/kube-apiserver-client\s+kubernetes-super-admin\s+60m\s+Pending/,
    );
    await run('certificate deny e2e-denied');
    assert.match(await refused('certificate approve e2e-denied'), /already Denied/);
    assert.match(await refused('certificate approve e2e-nobody'), /NotFound/);
    await run('certificate approve e2e-jane');
    await run('certificate approve e2e-jane');
    assert.match(await refused('certificate deny e2e-jane'), /already Approved/);
    await eventually(async () => assert.match(await run('get csr e2e-jane'), /Approved,Issued/));
    assert.match(await run('get csr e2e-denied'), /Denied/);
    const certificate = await run('get csr e2e-jane -o jsonpath={.status.certificate}');
    assert.equal(await run('get csr e2e-denied -o jsonpath={.status.certificate}'), '');
    writeFileSync(at('jane.crt'), Buffer.from(certificate, 'base64'));
    const jane = await as('jane', { 'client-certificate': at('jane.crt'), 'client-key': at('jane.key') });
    assert.match(await run(`${jane} auth whoami`), /^Username\s+jane$[\s\S]*^Groups\s+\[devs system:authenticated\]$/m);
    assert.match(await refused(`${jane} get pods`), /User "jane" cannot list resource "pods"/);
    await run('create rolebinding devs --clusterrole=edit --group=devs');
    assert.match(await run(`${jane} auth can-i create deployments`), /yes/);
    assert.match(
      await refused(['create', '-f', '-'], manifest('e2e-broken').replace(request, 'bm8=')),
      /PEM block type must be CERTIFICATE REQUEST/,
    );
  });
});

const reconciled = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: keeper, namespace: rules}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [list]}
`;
