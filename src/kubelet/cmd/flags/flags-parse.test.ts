import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentFlags } from './flags-agent.ts';
import { configFlags } from './flags-config.ts';
import { parseFlags } from './flags-parse.ts';
import { removedFlags } from './removed-flags.ts';

const parse = (...argv: string[]) => parseFlags(argv, [...agentFlags, ...configFlags]);
const values = (...argv: string[]): Record<string, unknown> => {
  const parsed = parse(...argv);
  assert.deepEqual(parsed.errors, []);
  return Object.fromEntries(parsed.values);
};

test('a value may follow an equals sign or stand alone', () => {
  assert.deepEqual(values('--config=/a', '--config-dir', '/b'), { config: '/a', 'config-dir': '/b' });
});

test('an underscore in a name is a hyphen', () => {
  assert.deepEqual(values('--node_ip=::1', '--root_dir', '/r'), { 'node-ip': '::1', 'root-dir': '/r' });
});

test('a value may look like a flag', () => {
  assert.deepEqual(values('--oom-score-adj', '-5', '--config', '--odd'), { 'oom-score-adj': -5, config: '--odd' });
});

test('a boolean takes a value only after an equals sign', () => {
  const parsed = parse('--fail-swap-on', '--register-node=false', '--anonymous-auth=T', '--seccomp-default', 'false');
  assert.deepEqual(Object.fromEntries(parsed.values), {
    'fail-swap-on': true,
    'register-node': false,
    'anonymous-auth': true,
    'seccomp-default': true,
  });
  assert.deepEqual(parsed.positionals, ['false']);
});

test('the log level is read in every form pflag knows', () => {
  for (const argv of [['-v', '4'], ['-v4'], ['-v=4'], ['--v=4'], ['--v', '4'], ['-hv4']])
    assert.equal(values(...argv).v, 4, argv.join(' '));
});

test('everything after two hyphens is positional', () => {
  assert.deepEqual(parse('--v=1', '--', '--config', 'x').positionals, ['--config', 'x']);
});

test('lists and maps grow when repeated, single values are replaced', () => {
  assert.deepEqual(
    values(
      '--cluster-dns=1.1.1.1,2.2.2.2',
      '--cluster-dns',
      '3.3.3.3',
      '--max-pods=1',
      '--max-pods=2',
      '--system-reserved=cpu=1,memory=1Gi',
      '--system-reserved=cpu=2',
      '--feature-gates=A=true,B=false',
    ),
    {
      'cluster-dns': ['1.1.1.1', '2.2.2.2', '3.3.3.3'],
      'max-pods': 2,
      'system-reserved': { cpu: '2', memory: '1Gi' },
      'feature-gates': { A: true, B: false },
    },
  );
});

test('list items may be quoted as in CSV', () => {
  assert.deepEqual(values('--allowed-unsafe-sysctls="a,b",c')['allowed-unsafe-sysctls'], ['a,b', 'c']);
});

test('the particular notations are understood', () => {
  assert.deepEqual(
    values(
      '--eviction-hard=memory.available<1Gi,nodefs.available<10%',
      '--manifest-url-header=a:1,b:2,a:3',
      '--register-with-taints=k=v:NoSchedule,only:NoExecute',
      '--reserved-memory=0:memory=1Gi,hugepages-2Mi=2Gi;1:memory=1Gi',
      '--node-labels=a=b,c',
      '--vmodule=main=3,sync*=5',
      '--cpu-manager-policy-options=x=1,2',
    ),
    {
      'eviction-hard': { 'memory.available': '1Gi', 'nodefs.available': '10%' },
      'manifest-url-header': { a: ['1', '3'], b: ['2'] },
      'register-with-taints': [
        { key: 'k', value: 'v', effect: 'NoSchedule' },
        { key: 'only', effect: 'NoExecute' },
      ],
      'reserved-memory': [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '2Gi' } },
        { numaNode: 1, limits: { memory: '1Gi' } },
      ],
      'node-labels': { a: 'b', c: '' },
      vmodule: [
        { filePattern: 'main', verbosity: 3 },
        { filePattern: 'sync*', verbosity: 5 },
      ],
      'cpu-manager-policy-options': { x: '1,2' },
    },
  );
});

const mistakes: readonly (readonly [argv: string[], error: string])[] = [
  [['--max-podz=5'], 'unknown flag: --max-podz (did you mean --max-pods?)'],
  [['--zzzzzz', 'value'], 'unknown flag: --zzzzzz (kubelet --help lists the accepted ones)'],
  [['-x'], "unknown shorthand flag: 'x' in -x"],
  [['-config=/a'], "unknown shorthand flag: 'c' in -config=/a (did you mean --config?)"],
  [['--=x'], 'bad flag syntax: --=x'],
  [['---config'], 'bad flag syntax: ---config'],
  [['--config'], 'flag needs an argument: --config'],
  [['-v'], "flag needs an argument: 'v' in -v"],
  [['-v', 'high'], 'invalid argument "high" for "-v, --v" flag: expected a whole number'],
  [['--port=http'], 'invalid argument "http" for "--port" flag: expected a whole number'],
  [
    ['--port=99999999999'],
    'invalid argument "99999999999" for "--port" flag: value out of range; accepted is -2147483648 to 2147483647',
  ],
  [['--fail-swap-on=maybe'], 'invalid argument "maybe" for "--fail-swap-on" flag: accepted are true and false'],
  [
    ['--sync-frequency=60'],
    'invalid argument "60" for "--sync-frequency" flag: expected a duration such as 300ms, 10s or 2h45m',
  ],
  [['--address=localhost'], 'invalid argument "localhost" for "--address" flag: "localhost" is not a valid IP address'],
  [['--feature-gates=A'], 'invalid argument "A" for "--feature-gates" flag: malformed pair, expect string=bool'],
  [
    ['--feature-gates=A=perhaps'],
    'invalid argument "A=perhaps" for "--feature-gates" flag: invalid value of A: perhaps; accepted are true and false',
  ],
  [
    ['--eviction-hard=memory.available=1Gi'],
    'invalid argument "memory.available=1Gi" for "--eviction-hard" flag: malformed pair, expect string<string',
  ],
  [
    ['--register-with-taints=a=b:Sometimes'],
    'invalid argument "a=b:Sometimes" for "--register-with-taints" flag: invalid taint effect: Sometimes, unsupported taint effect; accepted are NoSchedule, PreferNoSchedule, NoExecute',
  ],
  [
    ['--reserved-memory=x:memory=1Gi'],
    'invalid argument "x:memory=1Gi" for "--reserved-memory" flag: failed to convert the NUMA node ID, expected integer, got x',
  ],
];
for (const [argv, error] of mistakes) {
  test(`${argv.join(' ')} gives exactly one error`, () => {
    const parsed = parse(...argv);
    assert.deepEqual(parsed.errors, [error]);
    assert.deepEqual(parsed.positionals, []);
  });
}

test('all mistakes of a command line are listed', () => {
  assert.equal(parse('--nope', '--port=x', '-z').errors.length, 3);
});

test('a deprecated flag is warned about once, with its field', () => {
  assert.deepEqual(parse('--max-pods=1', '--max-pods=2', '--v=2').warnings, [
    "Flag --max-pods has been deprecated, This parameter should be set via the config file specified by the Kubelet's --config flag. The field is maxPods.",
  ]);
});

test('no two flags share a name or a shorthand', () => {
  const names = [...agentFlags, ...configFlags].flatMap(({ name, shorthand }) =>
    shorthand === undefined || shorthand === name ? [name] : [name, shorthand],
  );
  assert.equal(new Set(names).size, names.length);
});

test('a flag that upstream removed is refused with what does its work now', () => {
  assert.deepEqual(parse('--allow_privileged=true', '--rkt-path', '/x', '--low-diskspace-threshold-mb=256').errors, [
    '--allow-privileged was removed from the kubelet: Pod Security of the API server decides who may run privileged containers',
    '--rkt-path was removed from the kubelet: rkt was discontinued in 2020; run its images on containerd or Docker',
    '--low-diskspace-threshold-mb was removed from the kubelet: --eviction-hard=nodefs.available<SIZE replaces it',
  ]);
});

test('no flag is both removed and accepted', () => {
  const names = new Set([...agentFlags, ...configFlags].map(({ name }) => name));
  assert.deepEqual(
    Object.keys(removedFlags).filter((name) => names.has(name)),
    [],
  );
});
