import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import type { SubjectAccessReview } from '../../../../api/authorization/subject-access-review.ts';
import type { TokenReview } from '../../../../api/authentication/token-review.ts';
import type { ApiClient } from '../../../../api/client/api-client.ts';
import type { ApiObject } from '../../../../api/client/resource-type.ts';
import { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import { silentLogger } from '../../../../base/log.ts';
import { seededRandom } from '../../../../base/random.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { extendedUsages, noNames } from '../../../../pki/certificate-template.ts';
import { attribute, certificateDer, constructed, ids, plainSubject } from '../../../../pki/testing/der-builder.ts';
import { writeCertificate } from '../../../../pki/x509-writer.ts';
import { createAuthenticator } from './authenticators.ts';
import { allowAll, createReviewAuthorizer } from './authorizers.ts';
import type { GuardVerdict } from '../../../ports/request-guard.ts';
import { createRequestGuard } from './request-guard.ts';

const clock = new FakeClock();
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const day = 86_400_000;
const times = { notBeforeMs: clock.nowMs() - day, notAfterMs: clock.nowMs() + 100 * day };
const authority = writeCertificate(
  {
    subject: { commonName: 'ca' },
    publicKey: createPublicKey(key),
    ...times,
    isAuthority: true,
    keyUsages: ['certSign'],
    extendedKeyUsages: [],
    altNames: noNames,
  },
  { selfSignedBy: key },
);

function certificate(
  commonName: string,
  organizations: readonly string[],
  usage: string = extendedUsages.clientAuth,
  signer = key,
): Uint8Array {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const template = {
    subject: { commonName, organizations },
    publicKey,
    ...times,
    keyUsages: ['digitalSignature'] as const,
    extendedKeyUsages: [usage],
    altNames: noNames,
  };
  return new X509Certificate(writeCertificate(template, { certificate: authority, key: signer })).raw;
}

type Right = readonly [user: string, verb: string, subresource: string];

/** The API server's part: the users of tokens, and their rights. */
class FakeReviews {
  readonly tokens = new Map([['good', 'prometheus']]);
  rights: readonly Right[] = [];
  tokenReviews = 0;
  accessReviews: string[] = [];
  failure: ApiStatusError | undefined;
  readonly client = { create: (_: unknown, object: ApiObject) => this.#create(object) } as unknown as ApiClient;

  async #create(object: ApiObject): Promise<unknown> {
    await Promise.resolve();
    if (object.kind === 'TokenReview') this.tokenReviews += 1;
    if (this.failure !== undefined) throw this.failure;
    if (object.kind === 'TokenReview') {
      const { spec } = object as TokenReview;
      const name = this.tokens.get(spec.token ?? '');
      return {
        ...object,
        status:
          name === undefined
            ? { authenticated: false }
            : { authenticated: true, user: { username: name, groups: ['monitoring'] } },
      };
    }
    const { spec } = object as SubjectAccessReview;
    const { verb = '', subresource = '', resource, name } = spec.resourceAttributes ?? {};
    assert.deepEqual([resource, name], ['nodes', 'n1']);
    this.accessReviews.push(`${spec.user}: ${verb} ${subresource}`);
    return {
      ...object,
      status: {
        allowed: this.rights.some(([who, what, where]) => who === spec.user && what === verb && where === subresource),
      },
    };
  }
}

interface GuardOptions {
  readonly anonymous?: boolean;
  readonly tokens?: boolean;
  readonly certificates?: boolean;
  readonly mode?: 'AlwaysAllow' | 'Webhook';
}

function setUp({ anonymous = false, tokens = true, certificates = true, mode = 'Webhook' }: GuardOptions = {}) {
  const time = new FakeClock();
  const api = new FakeReviews();
  const asking = { clock: time, random: seededRandom(1) };
  const authenticator = createAuthenticator({
    clientAuthorities: certificates ? () => authority : undefined,
    tokens: tokens ? { client: api.client, holdsMs: 120_000 } : undefined,
    anonymous,
    asking,
  });
  const authorizer =
    mode === 'AlwaysAllow'
      ? allowAll
      : createReviewAuthorizer({
          client: api.client,
          nodeName: 'n1',
          allowedHoldsMs: 300_000,
          deniedHoldsMs: 30_000,
          asking,
        });
  const guard = createRequestGuard({ authenticator, authorizer, log: silentLogger });
  const ask = async (
    path: string,
    {
      method = 'GET',
      token,
      der,
      isUpgrade = false,
    }: { method?: string; token?: string; der?: Uint8Array; isUpgrade?: boolean } = {},
  ): Promise<GuardVerdict> => {
    const answer = guard.check({
      method,
      path,
      isUpgrade,
      clientCertificate: der,
      authorization: token === undefined ? undefined : `Bearer ${token}`,
    });
    let verdict: GuardVerdict | undefined;
    void answer.then((given) => (verdict = given));
    await time.advanceUntil(() => verdict !== undefined, 60_000);
    return answer;
  };
  return { api, ask, time };
}

const unauthorized = { outcome: 'refused', status: 401, body: 'Unauthorized' };
const status = (verdict: GuardVerdict): number => (verdict.outcome === 'allowed' ? 200 : verdict.status);

describe('the caller', () => {
  it('is identified by a certificate of the client CA, and is in system:authenticated', async () => {
    const { ask } = setUp({ mode: 'AlwaysAllow' });
    const verdict = await ask('/pods', {
      der: certificate('kube-apiserver-kubelet-client', ['kubeadm:cluster-admins']),
    });
    assert.ok(verdict.outcome === 'allowed');
    assert.deepEqual(
      [verdict.user.name, verdict.user.groups],
      ['kube-apiserver-kubelet-client', ['kubeadm:cluster-admins', 'system:authenticated']],
    );
  });

  it('is not read from a certificate with two common names, or with an organization in pieces', async () => {
    const { ask } = setUp({ mode: 'AlwaysAllow', anonymous: true });
    const jane = attribute(ids.cn, 'jane');
    const signedFor = (subject: Uint8Array): Uint8Array =>
      certificateDer({
        subject,
        key,
        authority: { certificate: authority, key },
        fromMs: times.notBeforeMs,
        toMs: times.notAfterMs,
      });
    assert.equal(status(await ask('/pods', { der: signedFor(plainSubject(jane)) })), 200);
    for (const subject of [
      plainSubject(jane, attribute(ids.cn, 'root')),
      plainSubject(constructed(ids.o, 'system:', 'masters'), jane),
    ])
      assert.deepEqual(await ask('/pods', { der: signedFor(subject) }), unauthorized);
  });

  it('is identified by a token the API server knows', async () => {
    const { ask } = setUp({ mode: 'AlwaysAllow' });
    assert.deepEqual(await ask('/metrics', { token: 'good' }), {
      outcome: 'allowed',
      user: { name: 'prometheus', groups: ['monitoring', 'system:authenticated'] },
    });
  });

  it('is anonymous, and rejected, by default', async () => {
    for (const path of ['/healthz', '/pods', '/metrics', '/exec/ns/p/c', '/nothing'])
      assert.deepEqual(await setUp({ mode: 'AlwaysAllow' }).ask(path), unauthorized, path);
  });

  it('is system:anonymous where that is enabled, but not with an invalid credential', async () => {
    const { ask } = setUp({ mode: 'AlwaysAllow', anonymous: true });
    assert.deepEqual(await ask('/pods'), {
      outcome: 'allowed',
      user: { name: 'system:anonymous', groups: ['system:unauthenticated'] },
    });
    assert.deepEqual(await ask('/pods', { token: 'bad' }), unauthorized);
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    assert.deepEqual(
      await ask('/pods', { der: certificate('system:masters', [], extendedUsages.clientAuth, stranger) }),
      unauthorized,
    );
  });

  it('is not identified by a server certificate, nor by any without a client CA', async () => {
    assert.deepEqual(
      await setUp({ mode: 'AlwaysAllow' }).ask('/pods', { der: certificate('x', [], extendedUsages.serverAuth) }),
      unauthorized,
    );
    assert.deepEqual(
      await setUp({ mode: 'AlwaysAllow', certificates: false }).ask('/pods', { der: certificate('x', []) }),
      unauthorized,
    );
  });

  it('may have a token in addition to an invalid certificate', async () => {
    const { ask } = setUp({ mode: 'AlwaysAllow' });
    assert.equal(
      status(await ask('/pods', { token: 'good', der: certificate('x', [], extendedUsages.serverAuth) })),
      200,
    );
  });

  it('is reviewed once for many requests, and again when the result is too old', async () => {
    const { ask, api, time } = setUp({ mode: 'AlwaysAllow' });
    await Promise.all([ask('/pods', { token: 'good' }), ask('/pods', { token: 'good' })]);
    await time.advance(119_000);
    await ask('/pods', { token: 'good' });
    assert.equal(api.tokenReviews, 1);
    api.tokens.clear();
    await time.advance(2000);
    assert.deepEqual(await ask('/pods', { token: 'good' }), unauthorized);
    api.tokens.set('good', 'prometheus');
    await time.advance(11_000);
    assert.equal(status(await ask('/pods', { token: 'good' })), 200, 'an unknown token is not cached for long');
  });

  it('is unknown while the API server does not respond, and known again when it does', async () => {
    const { ask, api } = setUp({ mode: 'AlwaysAllow' });
    api.failure = new ApiStatusError('ServiceUnavailable', 'down');
    assert.deepEqual(await ask('/pods', { token: 'good' }), unauthorized);
    assert.equal(api.tokenReviews, 5);
    api.failure = undefined;
    assert.equal(status(await ask('/pods', { token: 'good' })), 200);
  });

  it('may send countless tokens without exhausting memory or overloading the API server', async () => {
    const { ask, api } = setUp({ mode: 'AlwaysAllow' });
    const verdicts = await Promise.all(
      Array.from({ length: 500 }, (_, index) => ask('/pods', { token: `guess-${index}` })),
    );
    assert.ok(verdicts.every((verdict) => status(verdict) === 401));
    assert.ok(api.tokenReviews <= 64, String(api.tokenReviews));
  });
});

describe('may they', () => {
  /** Paths, each with the rights of which one is sufficient for GET. */
  const table: readonly (readonly [path: string, ...rights: (readonly [verb: string, subresource: string])[]])[] = [
    ['/healthz', ['get', 'healthz'], ['get', 'proxy']],
    ['/healthz/ping', ['get', 'healthz'], ['get', 'proxy']],
    ['/pods', ['get', 'pods'], ['get', 'proxy']],
    ['/runningpods/', ['get', 'pods'], ['get', 'proxy']],
    ['/configz', ['get', 'configz'], ['get', 'proxy']],
    ['/flagz', ['get', 'configz']],
    ['/statusz', ['get', 'statusz']],
    ['/stats/summary', ['get', 'stats']],
    ['/metrics', ['get', 'metrics']],
    ['/metrics/cadvisor', ['get', 'metrics']],
    ['/metrics/resource', ['get', 'metrics']],
    ['/metrics/probes', ['get', 'metrics']],
    ['/metrics/slis', ['get', 'metrics']],
    ['/logs/', ['get', 'log']],
    ['/checkpoint/ns/p/c', ['get', 'checkpoint']],
    ['/containerLogs/ns/p/c', ['get', 'proxy']],
    ['/exec/ns/p/c', ['create', 'proxy']],
    ['/attach/ns/p/c', ['create', 'proxy']],
    ['/portForward/ns/p', ['create', 'proxy']],
    ['/run/ns/p/c', ['create', 'proxy']],
    ['/debug/pprof/heap', ['get', 'proxy']],
    ['/debug/flags/v', ['get', 'proxy']],
    ['/anything/else', ['get', 'proxy']],
  ];
  const all = ['get', 'create', 'update', 'delete', 'patch'].flatMap((verb) =>
    ['healthz', 'pods', 'configz', 'statusz', 'stats', 'metrics', 'log', 'checkpoint', 'proxy', 'spec'].map(
      (subresource) => [verb, subresource] as const,
    ),
  );

  for (const [path, ...enough] of table) {
    it(`GET ${path} with ${enough.map(([verb, subresource]) => `${verb} nodes/${subresource}`).join(' or ')}, and nothing else`, async () => {
      for (const [verb, subresource] of all) {
        const { ask, api } = setUp();
        api.rights = [['prometheus', verb, subresource]];
        const isEnough = enough.some(([what, where]) => what === verb && where === subresource);
        assert.equal(status(await ask(path, { token: 'good' })), isEnough ? 200 : 403, `${verb} ${subresource}`);
        assert.equal(status(await ask(path)), 401);
      }
    });
  }

  it('exec over a WebSocket, which is a GET, with create alone (k8s.io issue 136550)', async () => {
    for (const path of ['/exec/ns/p/c', '/attach/ns/p/c', '/portForward/ns/p', '/run/ns/p/c']) {
      const { ask, api } = setUp();
      api.rights = [['prometheus', 'get', 'proxy']];
      assert.equal(status(await ask(path, { token: 'good', isUpgrade: true })), 403, path);
      api.rights = [['prometheus', 'create', 'proxy']];
      const other = setUp();
      other.api.rights = api.rights;
      assert.equal(status(await other.ask(path, { token: 'good', isUpgrade: true })), 200, path);
    }
  });

  it('is denied in upstream’s words', async () => {
    const { ask } = setUp();
    assert.deepEqual(await ask('/pods', { token: 'good' }), {
      outcome: 'refused',
      status: 403,
      body: 'Forbidden (user=prometheus, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    });
    assert.deepEqual(await ask('/metrics', { method: 'POST', token: 'good' }), {
      outcome: 'refused',
      status: 403,
      body: 'Forbidden (user=prometheus, verb=create, resource=nodes, subresource(s)=[metrics])\n',
    });
  });

  it('cannot be decided while the API server does not respond, which is not a denial', async () => {
    const { ask, api } = setUp();
    const der = certificate('apiserver', []);
    api.failure = new ApiStatusError('ServiceUnavailable', 'down');
    assert.deepEqual(await ask('/pods', { der }), {
      outcome: 'refused',
      status: 500,
      body: 'Authorization error (user=apiserver, verb=get, resource=nodes, subresource=pods)',
    });
  });

  it('is checked in order up to the first right that is allowed, and cached: five minutes, denials for half a minute', async () => {
    const { ask, api, time } = setUp();
    await ask('/pods', { token: 'good' });
    assert.deepEqual(api.accessReviews, ['prometheus: get pods', 'prometheus: get proxy']);
    api.rights = [['prometheus', 'get', 'pods']];
    await time.advance(29_000);
    assert.equal(status(await ask('/pods', { token: 'good' })), 403);
    await time.advance(2000);
    assert.equal(status(await ask('/pods', { token: 'good' })), 200);
    assert.deepEqual(api.accessReviews.slice(2), ['prometheus: get pods']);
    api.rights = [];
    await time.advance(299_000);
    assert.equal(status(await ask('/pods', { token: 'good' })), 200);
    await time.advance(2000);
    assert.equal(status(await ask('/pods', { token: 'good' })), 403);
  });
});
