import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { honouredFields } from '../../model/config/honoured-fields.ts';
import { formatConfigError } from './config-error.ts';
import type { ConfigFiles } from './config-file.ts';
import { loadKubeletConfig, allFlags } from './config-load.ts';
import type { LoadResult } from './config-load.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

/** A file tree given as path to text. */
function filesOf(tree: Readonly<Record<string, string>>): ConfigFiles {
  return {
    readFile: (path) => {
      const text = tree[path];
      if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
      return text;
    },
    listDir: (folder) => {
      const below = Object.keys(tree).filter((path) => path.startsWith(`${folder}/`));
      if (below.length === 0) throw new Error(`ENOENT: no such file or directory, scandir '${folder}'`);
      const names = new Map(
        below.map((path) => [
          path.slice(folder.length + 1).split('/')[0] ?? '',
          path.slice(folder.length + 1).includes('/'),
        ]),
      );
      return [...names].reverse().map(([name, isFolder]) => ({ name, isFolder }));
    },
  };
}

const load = (argv: readonly string[], tree: Readonly<Record<string, string>> = {}): LoadResult =>
  loadKubeletConfig(argv, filesOf(tree));

function run(
  argv: readonly string[],
  tree: Readonly<Record<string, string>> = {},
): Extract<LoadResult, { kind: 'run' }> {
  const result = load(argv, tree);
  if (result.kind === 'error') assert.fail(result.errors.map(formatConfigError).join('\n'));
  assert.ok(result.kind === 'run');
  return result;
}

function errors(argv: readonly string[], tree: Readonly<Record<string, string>> = {}): string[] {
  const result = load(argv, tree);
  assert.equal(result.kind, 'error');
  return result.kind === 'error' ? result.errors.map(formatConfigError) : [];
}

/** Returns the errors of a configuration file with this body, whose first line is line 3. */
const fileErrors = (body: string): string[] =>
  errors(['--config=/k.yaml'], { '/k.yaml': head + body }).map((line) => line.replace(/^\/k\.yaml:/, ''));

test('without any file the old, open defaults of the command line hold', () => {
  const { config } = run([]);
  assert.deepEqual(
    [
      config.security.anonymousAuth,
      config.security.webhookAuth,
      config.security.authorizationMode,
      config.server.readOnlyPort,
      config.eviction.hard,
    ],
    [true, false, 'AlwaysAllow', 10255, {}],
  );
});

test('with a file the defaults of KubeletConfiguration hold', () => {
  const { config, warnings } = run(['--config=/k.yaml'], { '/k.yaml': head });
  assert.deepEqual(
    [
      config.security.anonymousAuth,
      config.security.webhookAuth,
      config.security.authorizationMode,
      config.server.readOnlyPort,
      config.eviction.hard['memory.available'],
    ],
    [false, true, 'Webhook', 0, '100Mi'],
  );
  assert.deepEqual(warnings, []);
});

test('durations and sizes arrive in milliseconds and bytes', () => {
  const { config } = run(['--config=/k.yaml'], {
    '/k.yaml': `${head}syncFrequency: 1m30s\ncontainerLogMaxSize: 1Mi\nnodeLeaseDurationSeconds: 7\ncpuCFSQuotaPeriod: 5ms\n`,
  });
  assert.deepEqual(
    [
      config.sources.syncPeriodMs,
      config.containerLogs.maxSizeBytes,
      config.node.leaseDurationMs,
      config.cgroups.cpuQuotaPeriodMs,
      config.runtime.restartBackoffMaxMs,
    ],
    [90_000, 1_048_576, 7000, 5, 300_000],
  );
});

test('JSON is read as well, tabs and all', () => {
  const text = JSON.stringify(
    { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 3 },
    undefined,
    '\t',
  );
  assert.equal(run(['--config=/k.json'], { '/k.json': text }).config.node.maxPods, 3);
});

test('relative paths in a file start at its folder', () => {
  const { config } = run(['--config=/etc/kubelet/k.yaml'], {
    '/etc/kubelet/k.yaml': `${head}staticPodPath: manifests\ntlsCertFile: ../c.pem\ntlsPrivateKeyFile: /abs/k.pem\n`,
  });
  assert.deepEqual(
    [config.sources.staticPodPath, config.security.tlsCertFile, config.security.tlsPrivateKeyFile],
    ['/etc/kubelet/manifests', '/etc/c.pem', '/abs/k.pem'],
  );
});

test('flags win over drop-ins, later drop-ins over earlier ones, drop-ins over the file', () => {
  const tree = {
    '/k.yaml': `${head}maxPods: 1\nport: 1001\nhealthzPort: 2001\nclusterDomain: file\nevictionHard: {memory.available: 1Gi}\nclusterDNS: [1.1.1.1]\n`,
    '/d/20-b.conf': `${head}maxPods: 3\nclusterDNS: [3.3.3.3]\nevictionHard: {nodefs.available: 5%}\n`,
    '/d/10-a.conf': `${head}maxPods: 2\nport: 1002\nclusterDNS: [2.2.2.2, 2.2.2.3]\n`,
    '/d/15-sub/x.conf': `${head}healthzPort: 2002\n`,
    '/d/readme.txt': 'not a drop-in',
  };
  const { config, skippedFiles } = run(['--config=/k.yaml', '--config-dir=/d', '--port=1003'], tree);
  assert.deepEqual(
    [
      config.node.maxPods,
      config.server.port,
      config.server.healthzPort,
      config.network.clusterDomain,
      config.network.clusterDns,
      config.eviction.hard,
    ],
    [3, 1003, 2002, 'file', ['3.3.3.3'], { 'memory.available': '1Gi', 'nodefs.available': '5%' }],
  );
  assert.deepEqual(skippedFiles, ['/d/readme.txt']);
});

test('null in a drop-in brings the default back', () => {
  const { config } = run(['--config=/k.yaml', '--config-dir=/d'], {
    '/k.yaml': `${head}maxPods: 5\nhealthzPort: 5\n`,
    '/d/a.conf': `${head}maxPods: null\nhealthzPort: ~\n`,
  });
  assert.deepEqual([config.node.maxPods, config.server.healthzPort], [110, 10248]);
});

test('drop-ins without a file lie over the command line defaults', () => {
  const { config } = run(['--config-dir=/d'], { '/d/a.conf': `${head}maxPods: 5\n` });
  assert.deepEqual(
    [config.node.maxPods, config.security.authorizationMode, config.server.readOnlyPort],
    [5, 'AlwaysAllow', 10255],
  );
});

test('feature gates of files and flags are merged, flags winning', () => {
  const { config } = run(['--config=/k.yaml', '--feature-gates=EventedPLEG=true,PodsAPI=false'], {
    '/k.yaml': `${head}featureGates: {PodsAPI: true, MemoryQoS: true}\n`,
  });
  assert.deepEqual(config.versioned.featureGates, { PodsAPI: false, MemoryQoS: true, EventedPLEG: true });
  assert.deepEqual(['PodsAPI', 'MemoryQoS', 'EventedPLEG', 'GracefulNodeShutdown'].map(config.gates.enabled), [
    false,
    true,
    true,
    true,
  ]);
});

test('a map given by a flag replaces the one of the file', () => {
  const { config } = run(['--config=/k.yaml', '--system-reserved=cpu=1'], {
    '/k.yaml': `${head}systemReserved: {memory: 1Gi}\n`,
  });
  assert.deepEqual(config.reserved.system, { cpu: '1' });
});

test('one warning for each setting that is honoured in part, only if it was changed', () => {
  const { warnings } = run(['--config=/k.yaml', '--kubeconfig=/c', '--housekeeping-interval=9s'], {
    '/k.yaml': `${head}kernelMemcgNotification: true\nenableContentionProfiling: true\nmemoryManagerPolicy: None\n`,
  });
  assert.deepEqual(warnings, [
    `configuration field kernelMemcgNotification is accepted and only partly honoured: ${honouredFields['kernelMemcgNotification']?.note}`,
  ]);
});

const table: readonly (readonly [body: string, error: string])[] = [
  ['maxPodz: 5', '3:1: unknown field "maxPodz"; did you mean "maxPods"?'],
  [
    'featureGates: {KubeletCrashLoopBackOffMax: false}\ncrashLoopBackOff: {maxContainerRestartPeriod: 1m}',
    '4:20: crashLoopBackOff.maxContainerRestartPeriod: invalid configuration: FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set',
  ],
  [
    'featureGates: {KubeletEnsureSecretPulledImages: false}\nimagePullCredentialsVerificationPolicy: AlwaysVerify',
    '4:1: invalid configuration: `imagePullCredentialsVerificationPolicy` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled',
  ],
  [
    'featureGates: {RotateKubeletServerCertificate: false}\nserverTLSBootstrap: true\nrotateCertificates: true',
    '4:1: invalid configuration: serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate',
  ],
  ['maxPods: many', '3:1: maxPods: expected a whole number, found the string "many"'],
  ['maxPods: 1\nmaxPods: 2', '4:1: duplicate field "maxPods"; the last one counts'],
  ['staticPodPath: 5', '3:1: staticPodPath: expected a string, found the number 5; put it in quotes'],
  ['syncFrequency: 5', '3:1: syncFrequency: expected a string, found the number 5; put it in quotes'],
  ['syncFrequency: "5"', '3:1: syncFrequency: expected a duration such as 1m30s, found the string "5"'],
  [
    'authentication:\n  anonymous: {enabled: sometimes}',
    '4:15: authentication.anonymous.enabled: expected true or false, found the string "sometimes"',
  ],
  ['authentication: {oidc: {}}', '3:18: unknown field "authentication.oidc"'],
  ['port: 70000', '3:1: invalid configuration: port (--port) 70000 must be between 1 and 65535, inclusive'],
  [
    'imageGCHighThresholdPercent: 50',
    '3:1: invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 80 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 50',
  ],
  [
    'maxParallelImagePulls: 5\nserializeImagePulls: true',
    '3:1: invalid configuration: maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
  ],
  [
    'runOnce: true',
    '3:1: invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set',
  ],
  [
    'cgroupDriver: cgroupsfs',
    '3:1: invalid configuration: option "cgroupsfs" specified for cgroupDriver (--cgroup-driver). Valid options are "cgroupfs" or "systemd"',
  ],
  [
    'topologyManagerPolicy: all',
    '3:1: invalid configuration: topologyManagerPolicy (--topology-manager-policy) "all" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
  ],
  [
    'enforceNodeAllocatable: [kube-reserved]',
    '3:26: invalid configuration: kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
  ],
  [
    'evictionSoft: {memory.available: 1Gi}',
    '3:16: invalid configuration: grace period must be specified for the soft eviction threshold memory.available, in evictionSoftGracePeriod (--eviction-soft-grace-period)',
  ],
  [
    'systemReserved: {gpu: "1"}',
    '3:18: invalid configuration: systemReserved (--system-reserved): cannot reserve "gpu" resource; accepted are cpu, memory, ephemeral-storage, pid',
  ],
  [
    'reservedSystemCPUs: 0-x',
    '3:1: invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) 0-x; accepted are lists of CPUs and ranges such as 0-3,8',
  ],
  [
    'crashLoopBackOff: {maxContainerRestartPeriod: 301s}',
    '3:20: crashLoopBackOff.maxContainerRestartPeriod: invalid configuration: CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s',
  ],
  ['podLogsDir: /var//log', '3:1: podLogsDir: invalid configuration: pod logs path "/var//log" must be normalized'],
  [
    'logging: {format: xml}',
    '3:11: logging.format: Invalid value: "xml": Unsupported log format; accepted are "text" and "json"',
  ],
  [
    'featureGates: {Nonsense: true}',
    '3:16: featureGates[Nonsense]: unrecognized feature gate: Nonsense; accepted are the feature gates of Kubernetes 1.36',
  ],
  [
    'featureGates: {EventPLEG: true}',
    '3:16: featureGates[EventPLEG]: unrecognized feature gate: EventPLEG (did you mean EventedPLEG?)',
  ],
  [
    'featureGates: {SidecarContainers: false}',
    '3:16: featureGates[SidecarContainers]: cannot set feature gate SidecarContainers to false, feature is locked to true',
  ],
  [
    'allowedUnsafeSysctls: ["kernel.*"]',
    '3:1: allowedUnsafeSysctls: invalid configuration: the sysctls "kernel." are not known to be namespaced',
  ],
  [
    'userNamespaces: {idsPerPod: 65537}',
    '3:18: invalid configuration: userNamespaces.idsPerPod must be a multiple of 65536',
  ],
  [
    'containerRuntimeEndpoint: tcp://1.2.3.4:5',
    '3:1: invalid configuration: containerRuntimeEndpoint "tcp://1.2.3.4:5" must be a unix socket such as "unix:///run/containerd/containerd.sock"',
  ],
  [
    'tlsCertFile: /c',
    '3:1: invalid configuration: tlsCertFile (--tls-cert-file) and tlsPrivateKeyFile (--tls-private-key-file) must be set together; tlsPrivateKeyFile is missing',
  ],
  ['a: [', '3:5: not valid YAML or JSON: '],
  [
    '---\nkind: Other',
    '3:4: more than one document in the file; a kubelet config file holds exactly one KubeletConfiguration',
  ],
];
for (const [body, error] of table) {
  test(`${JSON.stringify(body)} gives one error that names its line`, () => {
    const found = fileErrors(body);
    assert.equal(found.length, 1, found.join('\n'));
    if (error.endsWith(': ')) assert.ok(found[0]?.startsWith(error), found.join('\n'));
    else assert.equal(found[0], error);
  });
}

test('a file must say what it is', () => {
  assert.deepEqual(errors(['--config=/k'], { '/k': 'maxPods: 1\n' }), [
    '/k:1:1: apiVersion is missing; accepted is apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration',
    '/k:1:1: kind is missing; accepted is apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration',
  ]);
  assert.deepEqual(errors(['--config=/k'], { '/k': 'apiVersion: v1\nkind: Pod\nspec: {}\n' }).length, 2);
  assert.deepEqual(errors(['--config=/k'], { '/k': '# nothing\n' }), ['/k: kubelet config file was empty']);
});

test('files and folders that cannot be read are named', () => {
  assert.deepEqual(errors(['--config=/gone', '--config-dir=/nowhere']), [
    "/gone: failed to read kubelet config file: ENOENT: no such file or directory, open '/gone'",
    "/nowhere: failed to walk through kubelet dropin directory (--config-dir): ENOENT: no such file or directory, scandir '/nowhere'",
  ]);
});

test('a wrong value is blamed on the flag or file it came from', () => {
  const tree = { '/k.yaml': `${head}maxPods: -1\nport: 0\n`, '/d/a.conf': `${head}maxPods: -2\n` };
  assert.deepEqual(errors(['--config=/k.yaml', '--config-dir=/d', '--healthz-port=-5', '--cluster-domain=x'], tree), [
    'invalid configuration: healthzPort (--healthz-port) -5 must be between 1 and 65535, inclusive',
    '/d/a.conf:3:1: invalid configuration: maxPods (--max-pods) -2 must not be a negative number',
  ]);
});

test('all errors of the command line and all files are listed together', () => {
  const found = errors(['--nope', '--config=/k.yaml', '--node-labels=kubernetes.io/x=1', 'stray'], {
    '/k.yaml': `${head}maxPodz: 1\nport: 70000\nmaxPods: x\n`,
  });
  assert.deepEqual(
    found.map((line) => line.split(' ').slice(0, 3).join(' ')),
    [
      'unknown flag: --nope',
      'unknown command stray;',
      "unknown 'kubernetes.io' or",
      '/k.yaml:3:1: unknown field',
      '/k.yaml:5:1: maxPods: expected',
      '/k.yaml:4:1: invalid configuration:',
    ],
  );
});

test('a YAML bomb is an error and costs nothing', () => {
  const lines = [
    'a0: &a0 [x, x, x, x, x, x, x, x, x, x]',
    ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(', ')}]`),
  ];
  const [first] = fileErrors(lines.join('\n'));
  assert.match(first ?? '', /aliases expand to more than \d+ values/);
});

test('rules of the flags themselves', () => {
  assert.deepEqual(errors(['--cloud-provider=aws']), [
    'unknown cloud provider "aws" (--cloud-provider); accepted are "" and "external"',
  ]);
  assert.deepEqual(errors(['--node-ip=1.2.3.4,5.6.7.8']), [
    'bad --node-ip "1.2.3.4,5.6.7.8"; accepted are one address, or one IPv4 and one IPv6 address with a comma between them',
  ]);
  assert.deepEqual(errors(['--manifest-server-address=127.0.0.1:9']), [
    '--manifest-server-address needs --manifest-server-token-file: the manifest server accepts no request without a token',
  ]);
  assert.deepEqual(errors(['--exit-on-lock-contention']), [
    'cannot exit on lock file contention: no lock file specified; --exit-on-lock-contention needs --lock-file',
  ]);
  assert.deepEqual(run(['--node-ip=1.2.3.4,::1', '--node-labels=a=b', '--housekeeping-interval=1m']).flags.nodeIps, [
    '1.2.3.4',
    '::1',
  ]);
});

test('help, version and commands are distinguished', () => {
  assert.equal(load(['--help']).kind, 'help');
  assert.deepEqual(load(['--version']), { kind: 'version', text: 'Kubernetes v1.36.0\n' });
  assert.equal(load(['--version=raw']).kind, 'version');
  assert.equal(run(['--version=v1.35.2']).flags.reportedVersion, 'v1.35.2');
  assert.deepEqual(load(['logs', 'web', '-f']), { kind: 'command', name: 'logs', args: ['web', '-f'] });
  assert.deepEqual(errors(['--v=2', 'pods']), ['unknown command pods; a command comes first: kubelet pods ...']);
});

test('whatever the command line and the file hold, the answer is a result and never a throw', () => {
  const flag = fc
    .tuple(
      fc.constantFrom('', '-', '--', '---'),
      fc.constantFrom(...allFlags.map(({ name }) => name), 'nope', 'v', 'h'),
      fc.constantFrom('', '='),
      fc.string(),
    )
    .map((parts) => parts.join(''));
  const text = fc.oneof(
    fc.string(),
    fc
      .json()
      .map(
        (json) =>
          `${head}authentication: ${json}\nevictionHard: ${json}\nlogging: ${json}\nreservedMemory: ${json}\nmaxPods: ${json}\n`,
      ),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(flag, fc.string())), text, (argv, content) => {
      const result = load(['--config=/k.yaml', ...argv], { '/k.yaml': content });
      if (result.kind === 'error')
        assert.ok(result.errors.length > 0 && result.errors.every((error) => !formatConfigError(error).includes('\n')));
    }),
    { numRuns: 300 },
  );
});

test('every single field of the right type but an odd value gives a result that names the field, or runs', () => {
  for (const odd of ['-1', '"\u00e9"', '[]', '{}', 'true', '1.5', 'null', '99999999999999999999']) {
    for (const field of [
      'maxPods',
      'address',
      'clusterDNS',
      'authentication',
      'evictionHard',
      'syncFrequency',
      'featureGates',
      'logging',
      'registerWithTaints',
      'reservedMemory',
      'memoryThrottlingFactor',
    ]) {
      const result = load(['--config=/k.yaml'], { '/k.yaml': `${head}${field}: ${odd}\n` });
      if (result.kind === 'error')
        assert.ok(
          result.errors.every((error) => error.path?.startsWith(field) && error.line === 3),
          `${field}: ${odd}: ${result.errors.map(formatConfigError).join()}`,
        );
      else assert.equal(result.kind, 'run');
    }
  }
});
