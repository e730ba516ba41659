import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { mainFamilies } from '../../features/metrics/agent-metrics.ts';
import type { MetricFamily } from '../../features/metrics/families/metric-family.ts';
import { probeFamilies, sliFamilies } from '../../features/metrics/families/probe-families.ts';
import { cadvisorFamilyNames } from '../../features/stats/cadvisor-text.ts';
import { resourceFamilies } from '../../features/stats/resource-text.ts';
import type { MetricGroup } from '../../model/parity/metric-groups.ts';
import { metricGroups, namesIn } from '../../model/parity/metric-groups.ts';

const kubelet = path.resolve(import.meta.dirname, '../..');
/** The files that define families instead of setting them. */
const definitions = /(?:families-\w+|probe-families|process-families|metric-groups)\.ts$/;

function listed(endpoint: MetricGroup['endpoint']): string[] {
  const groups = metricGroups.filter((group) => group.endpoint === endpoint && group.absent === undefined);
  return groups
    .flatMap(({ stable, beta, alpha }) => [
      ...namesIn(stable).map((name) => `STABLE ${name}`),
      ...namesIn(beta).map((name) => `BETA ${name}`),
      ...namesIn(alpha).map((name) => `ALPHA ${name}`),
    ])
    .sort();
}

function registered(families: Readonly<Record<string, MetricFamily>>): string[] {
  return Object.entries(families)
    .map(([name, { stability = 'ALPHA' }]) => `${stability} ${name}`)
    .sort();
}

/** Returns the code of the agent without its tests and its definitions of families. */
function sources(): string {
  const files = readdirSync(kubelet, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.includes('testing/') && !definitions.test(file),
  );
  return files.map((file) => readFileSync(path.join(kubelet, file), 'utf8')).join('\n');
}

describe('the families of each endpoint are those of the list, with their stability', () => {
  it('/metrics, /metrics/probes and /metrics/slis', () => {
    assert.deepEqual(registered(mainFamilies), listed('/metrics'));
    assert.deepEqual(registered(probeFamilies), listed('/metrics/probes'));
    assert.deepEqual(registered(sliFamilies), listed('/metrics/slis'));
  });

  it('/metrics/resource and /metrics/cadvisor', () => {
    assert.deepEqual(
      resourceFamilies.map(({ name, help }) => `${/^\[(\w+)\]/.exec(help)?.[1] ?? ''} ${name}`).sort(),
      listed('/metrics/resource'),
    );
    assert.deepEqual(cadvisorFamilyNames.map((name) => `ALPHA ${name}`).sort(), listed('/metrics/cadvisor'));
  });
});

describe('what is registered is set', () => {
  it('every family is named by code that sets it', () => {
    const code = sources();
    // `kubelet_volume_stats_${field}` names several.
    const prefixes = [...code.matchAll(/`([a-z][a-z0-9_]{8,}_)\$\{/g)].map(([, prefix]) => prefix ?? '');
    const isSet = (name: string): boolean =>
      code.includes(`'${name}'`) ||
      new RegExp(`\\b${name}:`).test(code) ||
      prefixes.some((prefix) => name.startsWith(prefix));
    assert.deepEqual(
      Object.keys({ ...mainFamilies, ...probeFamilies, ...sliFamilies }).filter((name) => !isSet(name)),
      [],
    );
  });

  it('no family is both absent and registered', () => {
    const all: Readonly<Record<string, MetricFamily>> = { ...mainFamilies, ...probeFamilies, ...sliFamilies };
    const absent = metricGroups
      .filter((group) => group.absent !== undefined)
      .flatMap(({ stable, beta, alpha }) => [...namesIn(stable), ...namesIn(beta), ...namesIn(alpha)]);
    assert.ok(absent.length > 10, String(absent.length));
    assert.deepEqual(
      absent.filter((name) => all[name] !== undefined),
      [],
    );
  });
});
