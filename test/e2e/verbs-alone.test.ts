// What each verb of a role gives when it is the only one, on every kind, over the wire.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allResources } from '../../src/control-plane/resources/all.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { certificateRequest, everyKind, otherVersions } from './support/every-kind.ts';
import type { KindManifest } from './support/every-kind.ts';
import { attemptsOn, attemptsOnParts, collectionPath, missingName, verbs } from './support/every-verb.ts';
import type { Attempt, KindUnderTest, Verb } from './support/every-verb.ts';
import { http2Admin } from './support/http2-admin.ts';
import type { Http2Admin } from './support/http2-admin.ts';

const namespace = 'verbs';
const rbac = 'rbac.authorization.k8s.io';
const definitions = allResources.filter(({ review }) => review === undefined);

/** Roles and bindings without permissions: writing others requires the permissions that they grant. */
function givesNothing(kind: KindManifest): KindManifest {
  const { kind: name } = kind.manifest;
  if (name === 'Role' || name === 'ClusterRole') return { ...kind, manifest: { ...kind.manifest, rules: [] } };
  if (name === 'RoleBinding' || name === 'ClusterRoleBinding')
    return {
      ...kind,
      manifest: { ...kind.manifest, roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'nothing' } },
    };
  return kind;
}

let cluster: TestCluster;
let admin: Http2Admin;
let kinds: readonly KindUnderTest[];

/** Creates the object, unless a controller has already created it. */
async function make(path: string, body: object): Promise<void> {
  const { status, text } = await admin.send({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.ok(status === 201 || status === 409, text);
}

/** Creates a user with one role: `resources` are plurals, with the subresource if there is one. */
async function makeUser(
  name: string,
  rule: {
    readonly verbs: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
  },
): Promise<void> {
  await make(`/apis/${rbac}/v1/clusterroles`, {
    metadata: { name },
    rules: [{ apiGroups: [...new Set(definitions.map(({ type }) => type.group))], ...rule }],
  });
  await make(`/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: rbac, name }],
  });
}

const plurals = [...new Set(definitions.map(({ type }) => type.plural))];

interface Trial {
  readonly as: string;
  readonly isAllowed: (attempt: Attempt) => boolean;
  /** Whether forbidden requests are tried as dry runs too: dry runs require the same permissions. */
  readonly triesDryRuns?: boolean;
}

/** Allowed requests are dry runs, so that each of them finds the same state. */
async function statusesOf(
  attempts: readonly Attempt[],
  { as, isAllowed, triesDryRuns = false }: Trial,
): Promise<readonly string[]> {
  return Promise.all(
    attempts.map(async (attempt) => {
      const { path, writes, what, answers } = attempt;
      const dry = writes ? `${path}${path.includes('?') ? '&' : '?'}dryRun=All` : path;
      const tried = isAllowed(attempt) ? [dry] : triesDryRuns && writes ? [dry, path] : [path];
      for (const at of tried) {
        const { status, text } = await admin.send({ ...attempt, path: at, as });
        if (isAllowed(attempt) ? !answers.includes(status) : status !== 403) return `${what}: ${status} ${text}`;
      }
      return said(attempt, isAllowed);
    }),
  );
}

const said = (attempt: Attempt, isAllowed: (attempt: Attempt) => boolean): string =>
  `${attempt.what}: ${isAllowed(attempt) ? 'allowed' : 'forbidden'}`;

async function assertNothingWasMade(): Promise<void> {
  for (const { path, definition } of kinds) {
    const { status, text } = await admin.send({ method: 'GET', path });
    assert.equal(status, 200);
    assert.ok(!text.includes(`"name":"${missingName(definition)}`), `one of ${definition.type.plural} was made`);
  }
}

before(async () => {
  cluster = await startCluster();
  admin = http2Admin(cluster);
  const preferred = everyKind(await certificateRequest(cluster.folder), namespace);
  const manifests = [...preferred, ...otherVersions].map(givesNothing);
  kinds = definitions.map((definition) => {
    const { group, version, kind: name } = definition.type;
    const kind = manifests.find(
      ({ manifest }) =>
        manifest['kind'] === name && manifest['apiVersion'] === (group === '' ? version : `${group}/${version}`),
    );
    assert.ok(kind !== undefined, `${group} ${name} has no manifest`);
    return { definition, kind, path: collectionPath(definition, namespace) };
  });
  await make('/api/v1/namespaces', { metadata: { name: namespace } });
  await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
  await make(`/apis/${rbac}/v1/clusterroles`, { metadata: { name: 'nothing' }, rules: [] });
  for (const { kind, path } of kinds) await make(path, kind.manifest);
});
after(async () => {
  admin.close();
  await cluster.stop();
});

describe('a role', () => {
  const users: readonly { readonly name: string; readonly verbs: readonly Verb[] }[] = [
    ...verbs.map((verb) => ({ name: `only-${verb}`, verbs: [verb] })),
    { name: 'patch-and-create', verbs: ['patch', 'create'] },
    { name: 'update-and-create', verbs: ['update', 'create'] },
  ];

  for (const user of users) {
    it(`with ${user.verbs.join(' and ')} gives exactly that, on every kind`, async () => {
      await makeUser(user.name, { verbs: user.verbs, resources: plurals });
      const isAllowed = ({ needs }: Attempt): boolean => needs.every((verb) => user.verbs.includes(verb));
      for (const each of kinds) {
        const attempts = attemptsOn(each);
        assert.deepEqual(
          // With get alone, no write is allowed: each is tried with and without dry run.
          await statusesOf(attempts, { as: user.name, isAllowed, triesDryRuns: user.name === 'only-get' }),
          attempts.map((attempt) => said(attempt, isAllowed)),
          `${user.name} on ${each.definition.type.kind}`,
        );
      }
      await assertNothingWasMade();
    });
  }

  it('with every verb on objects gives nothing on their parts', async () => {
    await makeUser('objects-only', { verbs: ['*'], resources: plurals });
    for (const each of kinds) {
      const attempts = attemptsOnParts(each);
      assert.deepEqual(
        await statusesOf(attempts, { as: 'objects-only', isAllowed: () => false, triesDryRuns: true }),
        attempts.map(({ what }) => `${what}: forbidden`),
        each.definition.type.kind,
      );
    }
  });

  it('with every verb on parts gives nothing on objects, and creates none', async () => {
    await makeUser('parts-only', {
      verbs: ['*'],
      resources: [
        '*/status',
        '*/scale',
        '*/approval',
        '*/finalize',
        '*/resize',
        '*/ephemeralcontainers',
        '*/binding',
        '*/eviction',
        '*/token',
        '*/proxy',
        '*/exec',
        '*/attach',
        '*/portforward',
        '*/log',
      ],
    });
    for (const each of kinds) {
      const objects = attemptsOn(each);
      assert.deepEqual(
        await statusesOf(objects, { as: 'parts-only', isAllowed: () => false }),
        objects.map(({ what }) => `${what}: forbidden`),
        each.definition.type.kind,
      );
      const parts = attemptsOnParts(each).filter(({ path }) => path.includes(missingName(each.definition)));
      for (const attempt of parts) {
        const { status, text } = await admin.send({ ...attempt, as: 'parts-only' });
        assert.ok(attempt.answers.includes(status), `${each.definition.type.kind}: ${attempt.what}: ${status} ${text}`);
      }
    }
    await assertNothingWasMade();
  });

  it('that names the objects it is about creates those by their path, and none by a collection, which names no object', async () => {
    await makeUser('named', {
      verbs: ['create', 'update', 'patch'],
      resources: plurals,
      resourceNames: [...new Set(kinds.map(({ definition }) => missingName(definition)))],
    });
    for (const each of kinds) {
      const attempts = attemptsOn(each).filter(({ writes }) => writes);
      const isAllowed = ({ path, needs }: Attempt): boolean =>
        path.includes(`/${missingName(each.definition)}`) &&
        needs.every((verb) => verb === 'update' || verb === 'patch' || verb === 'create');
      assert.deepEqual(
        await statusesOf(attempts, { as: 'named', isAllowed }),
        attempts.map((attempt) => said(attempt, isAllowed)),
        each.definition.type.kind,
      );
    }
    await assertNothingWasMade();
  });
});
