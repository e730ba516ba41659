// Each way of authentication and authorization, audit and the limits of a running server, with the configuration that
// docs/seeds.md gives it. What each of them decides in detail is tested beside its code.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { tokenCommand } from '../../src/control-plane/cmd/token/token-command.ts';
import type { AuditEvent, Posted } from './support/auth-services.ts';
import { OidcIssuer, Webhook } from './support/auth-services.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const seeds = path.join(import.meta.dirname, '..', '..', 'docs', 'seeds');
const PODS = '/api/v1/namespaces/default/pods';
const basic = (userAndPassword: string): string => `Basic ${Buffer.from(userAndPassword).toString('base64')}`;

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

/** Sends one request with these credentials over its own connection. */
function ask(
  cluster: TestCluster,
  [method, target]: readonly [string, string],
  authorization?: string,
  body?: object,
): Promise<Answer> {
  const ca = readFileSync(path.join(cluster.folder, 'pki', 'ca.crt'));
  const headers = {
    'content-type': 'application/json',
    ...(authorization !== undefined && { authorization }),
  };
  return new Promise((resolve, reject) => {
    const url = `https://127.0.0.1:${cluster.port}${target}`;
    const sent = request(url, { method, ca, headers, agent: false }, (response) => {
      const { statusCode = 0, headers: answered } = response;
      text(response).then(
        (said) => resolve({ status: statusCode, body: said, retryAfter: answered['retry-after'] }),
        reject,
      );
    });
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const whoamiReview = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

/** The name and the groups of the caller according to the server; the status if it is not authenticated. */
async function whoami(cluster: TestCluster, authorization: string): Promise<readonly string[] | number> {
  const target = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const { status, body } = await ask(cluster, ['POST', target], authorization, whoamiReview);
  if (status !== 201) return status;
  const { userInfo } = (JSON.parse(body) as { status: { userInfo: { username: string; groups: string[] } } }).status;
  return [userInfo.username, ...userInfo.groups.filter((group) => group !== 'system:authenticated')];
}

function judgeToken({ spec }: Posted): object {
  if (spec.token !== 'token-of-carol') return { authenticated: false };
  return { authenticated: true, user: { username: 'carol', groups: ['readers'] } };
}

const judgeAccess = ({ spec }: Posted): object => ({
  allowed: spec.user === 'carol' && spec.resourceAttributes?.['verb'] === 'list',
});

describe('a server with every way of authentication and authorization', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-auth-'));
  const [tokens, access, audit] = [new Webhook(judgeToken), new Webhook(judgeAccess), new Webhook(() => ({}))];
  let issuer: OidcIssuer;
  let cluster: TestCluster;
  const logFile = path.join(folder, 'audit.log');

  before(async () => {
    issuer = await OidcIssuer.start(folder);
    cluster = await startCluster({
      flags: [
        `--token-auth-file=${path.join(seeds, 'tokens.csv')}`,
        `--basic-auth-file=${path.join(seeds, 'passwords.csv')}`,
        `--authentication-token-webhook-config-file=${await tokens.listen(path.join(folder, 'tokens.conf'))}`,
        `--oidc-issuer-url=${issuer.url}`,
        '--oidc-client-id=kubernetes',
        '--oidc-username-claim=email',
        '--oidc-groups-claim=groups',
        '--oidc-groups-prefix=oidc:',
        `--oidc-ca-file=${issuer.caFile}`,
        '--authorization-mode=Node,RBAC,ABAC,Webhook',
        `--authorization-policy-file=${path.join(seeds, 'abac.jsonl')}`,
        `--authorization-webhook-config-file=${await access.listen(path.join(folder, 'access.conf'))}`,
        `--audit-policy-file=${path.join(seeds, 'audit-policy.yaml')}`,
        `--audit-log-path=${logFile}`,
        `--audit-webhook-config-file=${await audit.listen(path.join(folder, 'audit.conf'))}`,
        '--audit-webhook-batch-max-wait=200ms',
      ],
    });
  });

  after(async () => {
    await cluster.stop();
    issuer.stop();
    for (const hook of [tokens, access, audit]) hook.close();
    rmSync(folder, { recursive: true });
  });

  it('knows a client certificate', async () => {
    assert.match(await cluster.kubectl(['auth', 'whoami']), /kubernetes-super-admin[\s\S]*system:masters/);
  });

  it('knows the tokens of its file, and no others', async () => {
    assert.deepEqual(await whoami(cluster, 'Bearer token-of-alice'), ['alice', 'developers']);
    assert.equal(await whoami(cluster, 'Bearer token-of-alic'), 401);
  });

  it('knows the passwords of its file, and no others', async () => {
    assert.deepEqual(await whoami(cluster, basic('bob:password-of-bob')), ['bob', 'developers']);
    assert.equal(await whoami(cluster, basic('bob:password-of-alice')), 401);
  });

  it('authenticates users of an OpenID Connect issuer', async () => {
    const claims = { email: 'dora@example.com', groups: ['testers'] };
    const bearer = async (...how: Parameters<OidcIssuer['token']>): Promise<string> =>
      `Bearer ${await issuer.token(...how)}`;
    assert.deepEqual(await whoami(cluster, await bearer(claims)), ['dora@example.com', 'oidc:testers']);
    for (const wrong of [
      bearer(claims, { forged: true }),
      bearer(claims, { endsInSeconds: -60 }),
      bearer({ ...claims, aud: 'another' }),
      bearer({ ...claims, email_verified: false }),
    ])
      assert.equal(await whoami(cluster, await wrong), 401);
  });

  it('asks the webhook about tokens that nothing else knows', async () => {
    assert.deepEqual(await whoami(cluster, 'Bearer token-of-carol'), ['carol', 'readers']);
    assert.ok(!tokens.posted.some(({ spec }) => spec.token === 'token-of-alice'), 'the file knows it');
  });

  it('knows service accounts, as long as they exist', async () => {
    await cluster.kubectl(['create', 'serviceaccount', 'robot']);
    const bearer = `Bearer ${(await cluster.kubectl(['create', 'token', 'robot'])).trim()}`;
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:default'];
    assert.deepEqual(await whoami(cluster, bearer), ['system:serviceaccount:default:robot', ...groups]);
    await cluster.kubectl(['delete', 'serviceaccount', 'robot']);
    await eventually(async () => assert.equal(await whoami(cluster, bearer), 401));
  });

  it('knows bootstrap tokens', async () => {
    let said = '';
    const write = (line: string): void => void (said += line);
    const args = ['create', '--data-dir', cluster.folder];
    assert.equal(await tokenCommand(args, { write, defaultDataDir: '', nowMs: Date.now() }), 0, said);
    const token = said.trim();
    const [name, ...groups] = (await whoami(cluster, `Bearer ${token}`)) as readonly string[];
    assert.equal(name, `system:bootstrap:${token.split('.')[0]}`);
    assert.ok(groups.includes('system:bootstrappers'));
  });

  it('lets anonymous clients read only the version', async () => {
    assert.equal((await ask(cluster, ['GET', '/version'])).status, 200);
    const { status, body } = await ask(cluster, ['GET', PODS]);
    assert.equal(status, 403);
    assert.match(body, /system:anonymous/);
  });

  it('allows the users, resources and namespaces of an ABAC policy', async () => {
    const status = async (method: string, target: string, user = 'alice'): Promise<number> =>
      (await ask(cluster, [method, target], `Bearer token-of-${user}`)).status;
    assert.equal(await status('GET', PODS), 200);
    assert.equal(await status('DELETE', `${PODS}/none`), 403);
    assert.equal(await status('GET', '/api/v1/namespaces/kube-system/pods'), 403);
    assert.equal(await status('GET', '/api/v1/namespaces/default/services'), 403);
  });

  it('allows what the webhook allows, and sends it the attributes of the request', async () => {
    const services = '/api/v1/namespaces/default/services';
    assert.equal((await ask(cluster, ['GET', services], 'Bearer token-of-carol')).status, 200);
    assert.equal((await ask(cluster, ['DELETE', `${services}/kubernetes`], 'Bearer token-of-carol')).status, 403);
    const asked = access.posted.filter(({ spec }) => spec.user === 'carol').map(({ spec }) => spec);
    assert.deepEqual(
      asked.map(({ groups, resourceAttributes }) => [
        groups?.includes('readers'),
        resourceAttributes?.['verb'],
        resourceAttributes?.['namespace'],
        resourceAttributes?.['resource'],
      ]),
      [
        [true, 'list', 'default', 'services'],
        [true, 'delete', 'default', 'services'],
      ],
    );
  });

  it('allows what a role of RBAC allows, as soon as it is bound', async () => {
    const asBob = async (): Promise<number> => (await ask(cluster, ['GET', PODS], basic('bob:password-of-bob'))).status;
    assert.equal(await asBob(), 403);
    await cluster.kubectl(['create', 'rolebinding', 'developers', '--clusterrole=view', '--group=developers']);
    await eventually(async () => assert.equal(await asBob(), 200));
  });

  it('records each request that the policy names in the log and for the webhook, and no other', async () => {
    await ask(cluster, ['GET', `${PODS}?limit=7`], 'Bearer token-of-alice');
    const find = (events: readonly AuditEvent[]): AuditEvent | undefined =>
      events.find(({ requestURI }) => requestURI === `${PODS}?limit=7`);
    const lines = (): AuditEvent[] =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as AuditEvent);
    const written = await eventually(() => {
      const event = find(lines());
      assert.ok(event);
      return Promise.resolve(event);
    });
    assert.deepEqual(
      [written.user.username, written.verb, written.stage, written.responseStatus?.code],
      ['alice', 'list', 'ResponseComplete', 200],
    );
    assert.equal(written.annotations?.['authorization.k8s.io/decision'], 'allow');
    await eventually(() =>
      Promise.resolve(assert.deepEqual(find(audit.posted.flatMap(({ items }) => items)), written)),
    );
    assert.ok(audit.posted.every(({ kind }) => kind === 'EventList'));
    assert.deepEqual(
      lines().filter(({ requestURI }) => requestURI.includes('/services')),
      [],
    );
  });
});

describe('a server with narrow limits', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-limits-'));
  const held: (() => void)[] = [];
  const release = (): void => held.splice(0).forEach((each) => each());
  const slow = new Webhook(async ({ spec }) => {
    if (spec.user === 'alice') await new Promise<void>((resolve) => held.push(resolve));
    return { allowed: true };
  });
  let cluster: TestCluster;

  before(async () => {
    cluster = await startCluster({
      flags: [
        `--token-auth-file=${path.join(seeds, 'tokens.csv')}`,
        `--basic-auth-file=${path.join(seeds, 'passwords.csv')}`,
        '--enable-priority-and-fairness=false',
        '--max-requests-inflight=1',
        '--max-mutating-requests-inflight=2',
        '--client-qps=1',
        '--client-burst=3',
        '--authorization-mode=RBAC,Webhook',
        `--authorization-webhook-config-file=${await slow.listen(path.join(folder, 'slow.conf'))}`,
        '--enable-admission-plugins=EventRateLimit',
        `--admission-control-config-file=${path.join(seeds, 'admission.yaml')}`,
      ],
    });
  });

  after(async () => {
    release();
    await cluster.stop();
    slow.close();
    rmSync(folder, { recursive: true });
  });

  it('rejects requests beyond the limit, except those of administrators, and accepts them again when requests end', async () => {
    const reading = ask(cluster, ['GET', PODS], 'Bearer token-of-alice');
    await eventually(() => Promise.resolve(assert.ok(slow.posted.some(({ spec }) => spec.user === 'alice'))));
    const asBob = (): Promise<Answer> => ask(cluster, ['GET', PODS], basic('bob:password-of-bob'));
    const refused = await asBob();
    assert.deepEqual([refused.status, refused.retryAfter], [429, '1']);
    assert.equal((await ask(cluster, ['GET', PODS], 'Bearer token-of-admin')).status, 200);
    // Writes have places of their own.
    const write = (authorization: string): Promise<Answer> =>
      ask(cluster, ['POST', `${PODS.replace('pods', 'configmaps')}`], authorization, {
        metadata: { generateName: 'a-' },
      });
    const writing = [write('Bearer token-of-alice'), write('Bearer token-of-alice')];
    await eventually(() => Promise.resolve(assert.equal(held.length, 3)));
    assert.equal((await write(basic('bob:password-of-bob'))).status, 429);
    release();
    assert.equal((await reading).status, 200);
    assert.deepEqual(
      (await Promise.all(writing)).map(({ status }) => status),
      [201, 201],
    );
    assert.equal((await asBob()).status, 200);
  });

  it('rejects requests of a client beyond its rate', async () => {
    const answers: number[] = [];
    for (let turn = 0; turn < 12; turn++)
      answers.push((await ask(cluster, ['GET', '/version'], basic('bob:password-of-bob'))).status);
    assert.ok(answers.includes(429), answers.join(' '));
  });

  it('limits events of one source about one object to the burst of EventRateLimit', async () => {
    const event = {
      metadata: { generateName: 'many-' },
      involvedObject: { kind: 'Pod', name: 'noisy', namespace: 'default' },
      reason: 'Noise',
      type: 'Normal',
      source: { component: 'noise' },
    };
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const target = '/api/v1/namespaces/default/events';
        return (await ask(cluster, ['POST', target], 'Bearer token-of-admin', event)).status;
      }),
    );
    const created = statuses.filter((status) => status === 201).length;
    // The burst is 20, and one more each second.
    assert.ok(created >= 20 && created < 50, `${created} of 60`);
    assert.ok(statuses.every((status) => status === 201 || status === 429));
  });
});
