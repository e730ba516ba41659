import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { readAdmissionSettings } from './read-admission-settings.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'admission-settings-'));
after(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string): string => {
  writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};
const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n';

test('without a file nothing is limited or exempt', async () => {
  const { podSecurity, limitedResources, eventLimits } = await readAdmissionSettings(undefined);
  assert.deepEqual([podSecurity.defaults.enforce.level, limitedResources, eventLimits], ['privileged', [], undefined]);
});

test('settings stand in the file, or in files beside it', async () => {
  write(
    'events.yaml',
    'apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits:\n- {type: Server, qps: 5, burst: 10}\n',
  );
  const file = write(
    'all.yaml',
    `${head}plugins:
- name: EventRateLimit
  path: events.yaml
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
    exemptions: {namespaces: [kube-system]}
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - {resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [system-cluster-critical]}]}
`,
  );
  const { podSecurity, limitedResources, eventLimits } = await readAdmissionSettings(file);
  assert.deepEqual(
    [podSecurity.defaults.enforce, podSecurity.exemptions.namespaces],
    [{ level: 'baseline', minor: Infinity }, ['kube-system']],
  );
  assert.deepEqual(
    limitedResources.map(({ resource, matchScopes }) => [resource, matchScopes[0]?.values]),
    [['pods', ['system-cluster-critical']]],
  );
  assert.deepEqual(eventLimits, [{ type: 'Server', qps: 5, burst: 10, cacheSize: 4096 }]);
});

test('what is wrong keeps the server from starting, and is named', async () => {
  const refused = (text: string, why: RegExp) => assert.rejects(readAdmissionSettings(write('wrong.yaml', text)), why);
  await assert.rejects(
    readAdmissionSettings(path.join(folder, 'none.yaml')),
    /--admission-control-config-file .*none.yaml cannot be read/,
  );
  await refused('a: [', /is not YAML/);
  await refused(`${head}kind: AdmissionConfiguration\n`, /wrong.yaml: .*kind/);
  await refused(`${head}plugins: [{name: Nope}]\n`, /there is no admission plugin "Nope"$/);
  await refused(`${head}plugins: [{name: EventRateLimit, path: none.yaml}]\n`, /none.yaml cannot be read/);
  await refused(
    `${head}plugins: [{name: PodSecurity, configuration: {kind: X}}]\n`,
    /PodSecurity: Object 'apiVersion' is missing$/,
  );
});
