import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { defaultPolicy } from '../../authz/rbac/bootstrap/default-policy.ts';
import { controlPlaneGates } from '../../model/control-plane-gates.ts';
import { selectControllers } from './compose-controllers.ts';
import { controllersTable } from './controllers-table.ts';

const names = controllersTable.map(({ name }) => name);

it('every controller acts as an account that the default policy gives a role, under a name of its own', () => {
  const { clusterRoleBindings, roleBindings } = defaultPolicy(new Set(controlPlaneGates));
  const bound = [...clusterRoleBindings, ...roleBindings]
    .flatMap(({ subjects = [] }) => subjects)
    .filter(({ kind, namespace }) => kind === 'ServiceAccount' && namespace === 'kube-system');
  const accounts = new Set(bound.map(({ name }) => name));
  assert.deepEqual(
    controllersTable.filter(({ account }) => account !== undefined && !accounts.has(account)).map(({ name }) => name),
    [],
  );
  assert.deepEqual([new Set(names).size, names.filter((name) => !name.endsWith('-controller'))], [names.length, []]);
});

const choices: readonly [wanted: readonly string[], chosen: readonly string[]][] = [
  [['*'], names],
  [[], []],
  [['*', '-job-controller'], names.filter((name) => name !== 'job-controller')],
  [['-job-controller', '*'], names.filter((name) => name !== 'job-controller')],
  [
    ['deployment-controller', 'replicaset-controller'],
    ['replicaset-controller', 'deployment-controller'],
  ],
  [['-job-controller'], []],
];
for (const [wanted, chosen] of choices) {
  it(`--controllers=${wanted.join(',')} means ${chosen.length} of them, in the order of the table`, () => {
    assert.deepEqual(
      selectControllers(wanted, controllersTable).map(({ name }) => name),
      chosen,
    );
  });
}

it('a controller there is none of is refused, be it wanted or not, and those there are are named', () => {
  const refused = (error: unknown): boolean =>
    isKind(error, 'Invalid') &&
    String(error).includes('there is no cronjob, -jobs; there are ') &&
    names.every((name) => String(error).includes(name));
  assert.throws(() => selectControllers(['*', 'cronjob', '-jobs'], controllersTable), refused);
});
