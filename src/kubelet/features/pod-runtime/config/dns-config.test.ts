import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import { computePodDns, nodeResolverProblem, parseResolvConf } from './dns-config.ts';
import { aPod } from '../testing/builders.ts';

describe('DNS', () => {
  const host = parseResolvConf(
    '# c\nnameserver 1.1.1.1\nnameserver 2.2.2.2\nsearch old\nsearch corp.example. .\noptions ndots:1 rotate\noptions ndots:2\n',
  );
  const dns = (spec: Partial<Pod['spec']>, clusterDns: string[] = ['10.96.0.10']): ReturnType<typeof computePodDns> =>
    computePodDns(aPod(spec), { clusterDomain: 'cluster.local', clusterDns, host, hostIps: [] });

  test('resolv.conf is parsed as the resolver parses it', () =>
    assert.deepEqual(host, {
      servers: ['1.1.1.1', '2.2.2.2'],
      searches: ['corp.example'],
      options: ['ndots:2', 'rotate'],
    }));

  test('a node whose own file exceeds the limits for any pod is reported, in upstream’s words', () => {
    const problem = (searches: string[], clusterDomain = 'cluster.local'): string | undefined =>
      nodeResolverProblem({ servers: [], searches, options: [] }, { path: '/r', clusterDomain });
    const many = (count: number, length = 2): string[] =>
      Array.from({ length: count }, (_, index) => String(index).padStart(length, 'x'));
    assert.deepEqual(
      [problem(many(29)), problem(many(30)), problem(many(32), ''), problem(many(33), '')],
      [
        undefined,
        "Resolv.conf file '/r' contains search line consisting of more than 29 domains!",
        undefined,
        "Resolv.conf file '/r' contains search line consisting of more than 32 domains!",
      ],
    );
    assert.equal(
      problem(['x'.repeat(254)]),
      'Resolv.conf file "/r" contains a search path which length is more than allowed 253 chars!',
    );
    assert.deepEqual(
      [problem(many(9, 226)), problem(many(9, 228))],
      [undefined, "Resolv.conf file '/r' contains search line which length is more than allowed 2048 chars!"],
    );
  });

  test('each policy has its base, and dnsConfig goes on top', () => {
    const cluster = {
      servers: ['10.96.0.10'],
      searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example'],
      options: ['ndots:5'],
    };
    assert.deepEqual(
      [
        dns({}).dns,
        dns({ dnsPolicy: 'Default' }).dns,
        dns({ hostNetwork: true }).dns,
        dns({ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }).dns,
        dns({ dnsPolicy: 'None', dnsConfig: { nameservers: ['9.9.9.9'], options: [{ name: 'ndots', value: '3' }] } })
          .dns,
      ],
      [cluster, host, host, cluster, { servers: ['9.9.9.9'], searches: [], options: ['ndots:3'] }],
    );
  });

  test('reports a cluster without DNS and values that limits cut off', () => {
    assert.deepEqual(
      dns({}, []).remarks.map(({ about, reason }) => `${about} ${reason}`),
      ['node MissingClusterDNS', 'pod MissingClusterDNS'],
    );
    const cut = dns({
      dnsConfig: { nameservers: ['a', 'b', 'c'], searches: Array.from({ length: 40 }, (_, index) => `s${index}`) },
    });
    assert.deepEqual(
      [cut.dns.servers.length, cut.dns.searches.length, cut.remarks.map(({ reason }) => reason)],
      [3, 32, ['DNSConfigForming', 'DNSConfigForming']],
    );
  });
});
