import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodSpec } from '../../core/pod-spec.ts';
import { buildPod } from '../../testing/pod-builder.ts';
import type { Changes } from '../../testing/pod-builder.ts';
import { FieldErrors, formatFieldError } from '../field-error.ts';
import { validateHostProcess, validateOs, validateWindowsOptions } from './windows.ts';

function faultsOf(validate: (errors: FieldErrors) => void): readonly string[] {
  const errors = new FieldErrors();
  validate(errors);
  return errors.list.map(formatFieldError);
}

describe('validateWindowsOptions', () => {
  const ofOptions = (options: object | undefined): readonly string[] =>
    faultsOf((errors) => validateWindowsOptions(errors, 'w', options));
  const complaints = (runAsUserName: string): readonly string[] =>
    ofOptions({ runAsUserName }).map((fault) => fault.replace(/^.*": /s, ''));
  const user = "runAsUserName's User";
  const domain = "runAsUserName's Domain";
  const wrongDomain = `${domain} doesn't match the NetBios nor the DNS format`;

  it('accepts users with and without a domain', () => {
    for (const name of ['u', 'a b', 'a.', '.a', 'x'.repeat(104), 'CORP\\u', `${'d'.repeat(15)}\\u`, 'a.example.com\\u'])
      assert.deepEqual(complaints(name), [], name);
    assert.deepEqual([ofOptions(undefined), ofOptions({})], [[], []]);
  });

  it('says what is wrong with a user', () => {
    assert.deepEqual(['', 'a\u007f', 'x'.repeat(105), ' .', `x[`, '\\'].map(complaints), [
      ['runAsUserName cannot be an empty string'],
      ['runAsUserName cannot contain control characters'],
      [`${user} length must not be longer than 104 characters`],
      [`${user} cannot contain only periods or spaces`],
      [`${user} cannot contain the following characters: "/\\:;|=,+*?<>@[]`],
      [wrongDomain, `${user} cannot be empty`],
    ]);
    const long = (bytes: number): string => `${'a.'.repeat(bytes / 2 - 1)}aa\\u`;
    assert.deepEqual(['.d\\u', 'a:b\\u', `${'d'.repeat(14)}_d\\u`, long(254), long(256)].map(complaints), [
      [wrongDomain],
      [wrongDomain],
      [wrongDomain],
      [],
      [`${domain} length must be under 256 characters`],
    ]);
  });

  it('limits the credential spec and its name', () => {
    const spec = (gmsaCredentialSpec: string): readonly string[] =>
      ofOptions({ gmsaCredentialSpec }).map((fault) => fault.replace(/"x.*"/s, '"x"'));
    const field = 'w.gmsaCredentialSpec: Invalid value:';
    assert.deepEqual(['', 'x'.repeat(65_536), 'x'.repeat(65_537)].map(spec), [
      [`${field} "": gmsaCredentialSpec cannot be an empty string`],
      [],
      [`${field} "x": gmsaCredentialSpec size must be under 64 KiB`],
    ]);
    assert.equal(ofOptions({ gmsaCredentialSpecName: 'A' }).length, 1);
    assert.deepEqual(ofOptions({ gmsaCredentialSpecName: 'a.b' }), []);
  });
});

describe('validateHostProcess', () => {
  const faults = (changes: Changes, allowPrivileged = true): readonly string[] =>
    faultsOf((errors) => validateHostProcess(errors, 'spec', buildPod(changes).spec, { allowPrivileged }));
  const own = (hostProcess: boolean): object => ({ windowsOptions: { hostProcess } });
  const ofPod = 'spec.securityContext';
  const ofContainer = 'spec.containers[0].securityContext';

  it('requires the host network and privileges, and all containers of the pod', () => {
    assert.deepEqual(faults({ [ofPod]: own(true), 'spec.hostNetwork': true }), []);
    assert.deepEqual(faults({ [ofPod]: own(false) }), []);
    assert.deepEqual(faults({ [ofPod]: own(true) }, false), [
      'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
      'spec: Forbidden: hostProcess containers are disallowed by cluster policy',
    ]);
    const setUp = [{ name: 'i', image: 'x' }];
    assert.deepEqual(faults({ [ofContainer]: own(true), 'spec.initContainers': setUp, 'spec.hostNetwork': true }), [
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    ]);
  });

  it('requires the same answer of a pod and its containers', () => {
    const differ = 'pod hostProcess value must be identical if both are specified, was';
    assert.deepEqual(faults({ [ofPod]: own(true), [ofContainer]: own(false) }), [
      `${ofContainer}.windowsOptions.hostProcess: Invalid value: false: ${differ} true`,
    ]);
    assert.deepEqual(faults({ [ofPod]: own(true), [ofContainer]: own(true), 'spec.hostNetwork': true }), []);
  });
});

describe('validateOs', () => {
  const faults = (name: string, changes: Changes): readonly string[] =>
    faultsOf((errors) => validateOs(errors, 'spec', buildPod({ ...changes, 'spec.os': { name } }).spec)).map((fault) =>
      fault.replace(/: Forbidden: .*/, ''),
    );
  const ofContainer = 'spec.containers[0].securityContext';

  it('forbids the options of Windows for Linux', () => {
    const windowsOptions = {};
    assert.deepEqual(
      faults('linux', { 'spec.securityContext': { windowsOptions }, [ofContainer]: { windowsOptions } }),
      ['spec.securityContext.windowsOptions', `${ofContainer}.windowsOptions`],
    );
    assert.deepEqual(faults('linux', { 'spec.securityContext': {}, [ofContainer]: {}, 'spec.hostPID': true }), []);
    assert.deepEqual(faults('linux', {}), []);
  });

  it('forbids the options of Linux for Windows', () => {
    const both = ['appArmorProfile', 'seLinuxOptions', 'seccompProfile', 'runAsUser', 'runAsGroup'];
    const pods = ['fsGroup', 'fsGroupChangePolicy', 'supplementalGroups', 'supplementalGroupsPolicy', 'sysctls'];
    const containers = [
      'capabilities',
      'readOnlyRootFilesystem',
      'privileged',
      'allowPrivilegeEscalation',
      'procMount',
    ];
    const filled = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, [1]]));
    const ofPod = [...both, ...pods, 'seLinuxChangePolicy'];
    const ofSpec = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'];
    const spec = {
      ...filled(ofSpec),
      os: { name: 'windows' },
      securityContext: filled(ofPod),
      containers: [{ name: 'main', securityContext: filled([...both, ...containers]) }],
    } as unknown as PodSpec;
    assert.deepEqual(
      faultsOf((errors) => validateOs(errors, 'spec', spec)).toSorted(),
      [
        ...ofSpec.map((name) => `spec.${name}`),
        ...ofPod.map((name) => `spec.securityContext.${name}`),
        ...[...both, ...containers].map((name) => `${ofContainer}.${name}`),
      ]
        .map((field) => `${field}: Forbidden: cannot be set for a windows pod`)
        .toSorted(),
    );
    const empty = { 'spec.hostPID': false, 'spec.hostIPC': false, 'spec.securityContext': { sysctls: [] } };
    assert.deepEqual(faults('windows', empty), []);
    assert.deepEqual(faults('windows', {}), []);
  });

  it('knows two systems', () => {
    assert.deepEqual(faults('', {}), ['spec.os.name: Required value']);
    assert.deepEqual(faults('x', {}), ['spec.os: Unsupported value: "x": supported values: "linux", "windows"']);
  });
});
