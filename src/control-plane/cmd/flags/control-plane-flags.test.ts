import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeFlags, helpText } from './control-plane-flags.ts';
import { parseCommandLine } from './parse-command-line.ts';
import type { CommandLine } from './parse-command-line.ts';

function lineOf(...args: string[]): CommandLine {
  const parsed = parseCommandLine(args);
  assert.equal(parsed.kind, 'run', JSON.stringify(parsed));
  return parsed.kind === 'run' ? parsed.line : assert.fail();
}

function errorsOf(...args: string[]): readonly string[] {
  const parsed = parseCommandLine(args);
  return parsed.kind === 'error' ? parsed.errors : assert.fail(`${args.join(' ')} is taken`);
}

describe('the command line of the control plane', () => {
  it('needs no flag', () => {
    const { options, files, log } = lineOf();
    assert.deepEqual(options.storage, { backend: 'sqlite' });
    assert.deepEqual(options.authorizationModes, ['Node', 'RBAC']);
    assert.deepEqual(options.scheduler, { enabled: true });
    assert.equal(options.audit, undefined);
    assert.deepEqual(files, []);
    assert.deepEqual(log, { format: 'text', verbosity: 0 });
  });

  it('takes times as Go writes them', () => {
    const { nodeMonitorGraceMs, nodeStartupGraceMs, terminatedPodThreshold } = lineOf(
      '--node-monitor-grace-period=1m30s',
    ).options;
    assert.deepEqual([nodeMonitorGraceMs, nodeStartupGraceMs, terminatedPodThreshold], [90_000, 60_000, 12_500]);
    assert.deepEqual(errorsOf('--node-monitor-grace-period=50', '--node-startup-grace-period=0s'), [
      '--node-monitor-grace-period: "50" is not a duration such as 50s or 1m30s',
      '--node-startup-grace-period: "0s" is not a duration such as 50s or 1m30s',
    ]);
  });

  it('takes ranges of pod addresses, one of each family, with the prefix lengths of nodes', () => {
    const on = '--allocate-node-cidrs';
    assert.equal(lineOf('--cluster-cidr=10.244.0.0/16').options.nodeRanges, undefined);
    assert.deepEqual(lineOf(on, '--cluster-cidr=10.244.0.0/16').options.nodeRanges, {
      clusters: [{ cidr: '10.244.0.0/16', nodeLength: 24 }],
      excluded: ['10.96.0.0/12'],
    });
    assert.deepEqual(
      lineOf(on, '--cluster-cidr=10.244.0.0/16,fd00::/48', '--node-cidr-mask-size-ipv4=26').options.nodeRanges
        ?.clusters,
      [
        { cidr: '10.244.0.0/16', nodeLength: 26 },
        { cidr: 'fd00::/48', nodeLength: 64 },
      ],
    );
    for (const [args, error] of [
      [[], '--allocate-node-cidrs needs --cluster-cidr'],
      [['--cluster-cidr=10.244'], '--cluster-cidr: "10.244" is not a range such as 10.244.0.0/16'],
      [['--cluster-cidr=10.1.0.0/16,10.2.0.0/16'], '--cluster-cidr: two ranges of one IP family'],
      [['--cluster-cidr=10.1.0.0/25'], '--node-cidr-mask-size: 24 is less than the prefix length of 10.1.0.0/25'],
      [['--cluster-cidr=fd00::/32'], '--node-cidr-mask-size: 64 is more than 16 above the prefix length of fd00::/32'],
      [['--cluster-cidr=10.97.0.0/16'], '--cluster-cidr: no address is left beside --service-cluster-ip-range'],
    ] as const)
      assert.deepEqual(errorsOf(on, ...args), [error]);
  });

  it('takes a switch with and without its value', () => {
    assert.equal(lineOf('--anonymous-auth').options.anonymousAuth, true);
    assert.equal(lineOf('--anonymous-auth=false').options.anonymousAuth, false);
    assert.deepEqual(errorsOf('--anonymous-auth=perhaps'), ['--anonymous-auth: "perhaps" is neither true nor false']);
  });

  it('allows privileged containers by default', () => {
    assert.deepEqual(
      [
        lineOf().options.allowPrivileged,
        lineOf('--allow-privileged').options.allowPrivileged,
        lineOf('--allow-privileged=false').options.allowPrivileged,
      ],
      [true, true, false],
    );
  });

  it('tells all that is wrong at once, each by its flag', () => {
    assert.deepEqual(
      errorsOf(
        '--secure-port=abc',
        '--bind-address=here',
        '--advertise-address=there',
        '--service-cluster-ip-range=foo',
      ),
      [
        '--bind-address: "here" is not an IP address',
        '--secure-port: "abc" is not a whole number of at least 1 and at most 65535',
        '--advertise-address: "there" is not an IP address',
        '--service-cluster-ip-range: foo is not a range of addresses such as 10.96.0.0/12',
      ],
    );
  });

  it('says where all flags are listed when it does not know one', () => {
    assert.deepEqual(errorsOf('--bogus'), ["Unknown option '--bogus'", 'kubelet-control-plane --help lists all flags']);
  });

  it('does not open an empty store for a user who names an etcd', () => {
    assert.deepEqual(errorsOf('--etcd-servers=http://10.0.0.1:2379'), [
      '--etcd-servers: only with --storage-backend=etcd3',
    ]);
    assert.deepEqual(lineOf('--storage-backend=etcd3', '--etcd-servers=http://10.0.0.1:2379').options.storage, {
      backend: 'etcd3',
      servers: ['http://10.0.0.1:2379'],
      prefix: '/registry/',
      mediaType: 'application/json',
      overrides: [],
    });
    const etcd = (...flags: readonly string[]): readonly string[] => errorsOf('--storage-backend=etcd3', ...flags);
    assert.match(etcd('--etcd-prefix=a b')[0] ?? '', /^--etcd-prefix: "a b" is not a path of letters/);
    assert.match(
      etcd('--storage-media-type=text/plain')[0] ?? '',
      /^--storage-media-type: "text\/plain" is not one of/,
    );
    assert.deepEqual(errorsOf('--etcd-prefix=/a'), ['--etcd-prefix: only with --storage-backend=etcd3']);
    assert.deepEqual(errorsOf('--storage-backend=etcd3', '--etcd-servers='), ['--etcd-servers names no server']);
    assert.deepEqual(errorsOf('--storage-backend=etcd3', '--etcd-certfile=a.crt'), [
      '--etcd-certfile and --etcd-keyfile go together',
    ]);
  });

  it('refuses to authorize by nothing', () => {
    assert.deepEqual(errorsOf('--authorization-mode='), ['--authorization-mode names none']);
    assert.deepEqual(errorsOf('--authorization-mode=RBAC,Foo,RBAC').length, 2);
    assert.deepEqual(errorsOf('--authorization-mode=ABAC'), [
      '--authorization-mode=ABAC needs --authorization-policy-file',
    ]);
  });

  it('refuses half an audit log', () => {
    assert.deepEqual(errorsOf('--audit-policy-file=p.yaml'), [
      '--audit-policy-file needs --audit-log-path or --audit-webhook-config-file',
    ]);
    assert.deepEqual(errorsOf('--audit-log-path=audit.log'), ['--audit-log-path needs --audit-policy-file']);
    assert.deepEqual(errorsOf('--audit-webhook-config-file=hook.conf'), [
      '--audit-webhook-config-file needs --audit-policy-file',
    ]);
  });

  it('takes files of structured configuration instead of the flags that say the same', () => {
    const { options } = lineOf('--authentication-config=/a', '--authorization-config=/b');
    assert.deepEqual([options.authenticationConfigFile, options.authorizationConfigFile], ['/a', '/b']);
    assert.deepEqual(errorsOf('--authentication-config=/a', '--oidc-signing-algs=ES256'), [
      '--authentication-config and --oidc-* flags are mutually exclusive',
    ]);
    assert.deepEqual(errorsOf('--authorization-config=/b', '--authorization-mode=RBAC'), [
      '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
    ]);
  });

  it('refuses an issuer that is not an https URL, and claims that are no pairs', () => {
    const client = '--oidc-client-id=cluster';
    assert.deepEqual(errorsOf('--oidc-issuer-url=http://issuer', client), [
      '--oidc-issuer-url: "http://issuer" is not an https URL',
    ]);
    assert.deepEqual(errorsOf('--oidc-issuer-url=https://issuer', client, '--oidc-required-claim=a=b,c'), [
      '--oidc-required-claim: c is not of the form key=value',
    ]);
    assert.deepEqual(
      lineOf('--oidc-issuer-url=https://issuer', client, '--oidc-required-claim=a=b=c').options.oidc?.requiredClaims,
      { a: 'b=c' },
    );
    assert.equal(lineOf('--oidc-issuer-url=https://issuer', client).options.oidc?.usernamePrefix, 'https://issuer#');
  });

  it('names the files that have to be read', () => {
    assert.deepEqual(lineOf('--token-auth-file=tokens.csv', '--scheduler-config=s.yaml').files, [
      { flag: 'token-auth-file', file: 'tokens.csv' },
      { flag: 'scheduler-config', file: 's.yaml' },
    ]);
  });

  it('names every command in its help', () => {
    for (const command of ['token create', 'snapshot save|status|restore', 'explain']) {
      assert.ok(helpText().includes(`kubelet-control-plane ${command}`), command);
    }
  });

  it('shows every flag in its help', () => {
    for (const { name } of describeFlags()) assert.match(helpText(), new RegExp(`^ +--${name}( |$)`, 'm'));
  });
});
