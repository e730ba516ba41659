import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allResources } from '../../resources/all.ts';
import { isServed, parseGates, parseRuntimeConfig } from './runtime-config.ts';

function optionalKinds(gates: string, config: string): readonly string[] {
  const errors: string[] = [];
  const choice = {
    gates: parseGates(gates.split(','), errors),
    served: parseRuntimeConfig(config.split(','), allResources, errors),
  };
  assert.deepEqual(errors, []);
  return allResources.filter((each) => each.gate !== undefined && isServed(each, choice)).map(({ type }) => type.kind);
}

const both = 'ClusterTrustBundle=true,PodCertificateRequest=true';
const version = 'certificates.k8s.io/v1beta1';
for (const [gates, config, ...kinds] of [
  ['ClusterTrustBundle=false', 'api/all=false'],
  [both, 'api/all=false'],
  ['ClusterTrustBundle=false', 'api/all=true'],
  ['ClusterTrustBundle=true', 'api/all=true', 'ClusterTrustBundle'],
  [both, version, 'ClusterTrustBundle', 'PodCertificateRequest'],
  [both, `${version}=true,api/all=false`, 'ClusterTrustBundle', 'PodCertificateRequest'],
  ['StorageVersionMigrator=true', 'storagemigration.k8s.io/v1beta1', 'StorageVersionMigration'],
  [both, `api/beta=true,${version}/clustertrustbundles=false`, 'PodCertificateRequest'],
] as const)
  it(`--feature-gates=${gates} --runtime-config=${config} serves ${kinds.join(', ') || 'no optional kind'}`, () => {
    assert.deepEqual(optionalKinds(gates, config), kinds);
  });

it('every stable kind without a gate is served, and no other, unless something is asked for', () => {
  const none = { gates: new Set<never>(), served: new Map<string, boolean>() };
  assert.deepEqual(
    allResources.filter((each) => isServed(each, none)),
    allResources.filter(({ gate, isAlpha }) => gate === undefined && isAlpha !== true),
  );
  const alpha = { ...none, served: new Map([['api/alpha', true]]) };
  assert.deepEqual(
    allResources.filter(({ isAlpha, ...each }) => isAlpha === true && isServed({ isAlpha, ...each }, alpha)).length,
    1,
  );
});

it('gates and versions that cannot be switched, and values that are none, are refused', () => {
  const errors: string[] = [];
  parseGates(['Nonsense=true', 'ClusterTrustBundle=yes'], errors);
  parseRuntimeConfig(['apps/v1=false'], allResources, errors);
  assert.deepEqual(errors, [
    '--feature-gates: Nonsense cannot be set; there are ClusterTrustBundle, PodCertificateRequest, StorageVersionMigrator',
    '--feature-gates: ClusterTrustBundle=yes is neither true nor false',
    '--runtime-config: apps/v1 cannot be turned off: the controllers and the nodes of this program need it',
  ]);
});

it('what is always served may be asked for in each of upstream’s forms', () => {
  const errors: string[] = [];
  const items = ['', 'api/v1', 'v1=true', 'apps/v1', 'apps/v1/deployments=true', 'api/ga=true', 'api/legacy=true'];
  parseRuntimeConfig([...items, 'api/alpha=false'], allResources, errors);
  assert.deepEqual(errors, []);
  parseRuntimeConfig(['api/legacy=false', 'policy/v1beta1=true'], allResources, errors);
  assert.equal(errors.length, 2);
  assert.match(errors[0] ?? '', /api\/legacy cannot be turned off/);
  assert.match(errors[1] ?? '', /policy\/v1beta1 cannot be set; there are api\/all, api\/ga, api\/beta, /);
});
