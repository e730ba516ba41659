import { testRefusals, c0, id } from '../testing/pod-refusals.ts';

testRefusals(
  {
    'security context': [
      [{ 'spec.securityContext.fsGroup': -1 }, `spec.securityContext.fsGroup: Invalid value: -1: ${id}`],
      [{ 'spec.securityContext.runAsUser': -1 }, `spec.securityContext.runAsUser: Invalid value: -1: ${id}`],
      [
        { 'spec.securityContext.supplementalGroups': [1, 4294967296] },
        `spec.securityContext.supplementalGroups[1]: Invalid value: 4294967296: ${id}`,
      ],
      [
        { 'spec.shareProcessNamespace': true, 'spec.hostPID': true },
        'spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
      ],
      [
        { 'spec.securityContext.sysctls': [{ name: '', value: '1' }] },
        'spec.securityContext.sysctls[0].name: Required value',
      ],
      [
        {
          'spec.securityContext.sysctls': [
            { name: 'a', value: '1' },
            { name: 'a', value: '1' },
          ],
        },
        'spec.securityContext.sysctls[1].name: Duplicate value: "a"',
      ],
      [
        { 'spec.securityContext.sysctls': [{ name: 'A', value: '1' }] },
        'spec.securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
      ],
      [
        { 'spec.hostNetwork': true, 'spec.securityContext.sysctls': [{ name: 'net/ipv4/tcp_syncookies', value: '1' }] },
        `spec.securityContext.sysctls[0].name: Invalid value: "net/ipv4/tcp_syncookies": may not be specified when 'hostNetwork' is true`,
      ],
      [
        { 'spec.hostIPC': true, 'spec.securityContext.sysctls': [{ name: 'kernel.sem', value: '1' }] },
        `spec.securityContext.sysctls[0].name: Invalid value: "kernel.sem": may not be specified when 'hostIPC' is true`,
      ],
      [
        { 'spec.securityContext.fsGroupChangePolicy': 'x' },
        'spec.securityContext.fsGroupChangePolicy: Unsupported value: "x": supported values: "Always", "OnRootMismatch"',
      ],
      [
        { 'spec.securityContext.supplementalGroupsPolicy': 'x' },
        'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "x": supported values: "Merge", "Strict"',
      ],
      [
        { 'spec.securityContext.seLinuxChangePolicy': 'x' },
        'spec.securityContext.seLinuxChangePolicy: Unsupported value: "x": supported values: "Recursive"',
      ],
      [
        { 'spec.securityContext.seccompProfile': {} },
        'spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
      ],
      [
        { 'spec.securityContext.seccompProfile': { type: 'Localhost' } },
        'spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
      ],
      [
        { 'spec.securityContext.seccompProfile': { type: 'x' } },
        'spec.securityContext.seccompProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
      ],
      [
        { [`${c0}.securityContext.seccompProfile`]: { type: 'Localhost', localhostProfile: '../x' } },
        `${c0}.securityContext.seccompProfile.localhostProfile: Invalid value: "../x": must not contain '..'`,
      ],
      [
        { [`${c0}.securityContext.appArmorProfile`]: { type: 'RuntimeDefault', localhostProfile: 'x' } },
        `${c0}.securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost`,
      ],
      [
        { [`${c0}.securityContext.appArmorProfile`]: { type: 'Localhost', localhostProfile: ' x' } },
        `${c0}.securityContext.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace`,
      ],
      [
        { [`${c0}.securityContext.procMount`]: 'Unmasked' },
        `${c0}.securityContext.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``,
      ],
      [
        { [`${c0}.securityContext.procMount`]: 'x' },
        `${c0}.securityContext.procMount: Unsupported value: "x": supported values: "Default", "Unmasked"`,
      ],
      [
        { [`${c0}.securityContext`]: { privileged: true, allowPrivilegeEscalation: false } },
        `${c0}.securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
      ],
      [
        {
          'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' },
          [`${c0}.securityContext.appArmorProfile`]: { type: 'RuntimeDefault' },
        },
        `${c0}.securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match`,
      ],
      [
        { 'spec.os.name': 'linux', [`${c0}.securityContext.windowsOptions`]: {} },
        `${c0}.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
      ],
      [{ 'spec.os.name': 'windows', 'spec.hostPID': true }, 'spec.hostPID: Forbidden: cannot be set for a windows pod'],
      [
        { 'spec.os.name': 'windows', 'spec.hostUsers': false },
        'spec.hostUsers: Forbidden: cannot be set for a windows pod',
      ],
      [
        { 'spec.os.name': 'windows', 'spec.shareProcessNamespace': false },
        'spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod',
      ],
      [
        { 'spec.securityContext.seccompProfile': { type: 'RuntimeDefault', localhostProfile: 'x' } },
        'spec.securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"RuntimeDefault","LocalhostProfile":"x"}: can only be set when seccomp type is Localhost',
      ],
      [
        { 'spec.securityContext.windowsOptions': { runAsUserName: 'a\\b\\c' } },
        'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
      ],
      [
        { 'spec.securityContext.windowsOptions': { runAsUserName: 'a\tb' } },
        'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\tb": runAsUserName cannot contain control characters',
      ],
      [
        { 'spec.securityContext.windowsOptions': { runAsUserName: '.d\\u' } },
        `spec.securityContext.windowsOptions.runAsUserName: Invalid value: ".d\\\\u": runAsUserName's Domain doesn't match the NetBios nor the DNS format`,
      ],
      [
        { 'spec.securityContext.windowsOptions': { runAsUserName: 'd\\' } },
        `spec.securityContext.windowsOptions.runAsUserName: Invalid value: "d\\\\": runAsUserName's User cannot be empty`,
      ],
      [
        { 'spec.securityContext.windowsOptions': { runAsUserName: '. .' } },
        `spec.securityContext.windowsOptions.runAsUserName: Invalid value: ". .": runAsUserName's User cannot contain only periods or spaces`,
      ],
      [
        { 'spec.securityContext.windowsOptions': { runAsUserName: 'a@b' } },
        `spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a@b": runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`,
      ],
      [
        { 'spec.securityContext.windowsOptions': { hostProcess: true } },
        'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
      ],
      [{ 'spec.os.name': 'plan9' }, 'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
      [{ 'spec.os': {} }, 'spec.os.name: Required value'],
      [{ 'spec.hostUsers': false, 'spec.hostNetwork': true }, 'spec.hostNetwork: Forbidden: when `hostUsers` is false'],
      [{ 'spec.hostUsers': false, 'spec.hostPID': true }, 'spec.HostPID: Forbidden: when `hostUsers` is false'],
    ],
    resources: [
      [
        { [`${c0}.resources`]: { limits: { cpu: '1' }, requests: { cpu: '2' } } },
        `${c0}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
      ],
      [
        { [`${c0}.resources`]: { requests: { cpu: '-1' } } },
        `${c0}.resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
      ],
      [
        { [`${c0}.resources`]: { limits: { gpu: '1' } } },
        `${c0}.resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`,
        `${c0}.resources.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers`,
        `${c0}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`,
        `${c0}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers`,
      ],
      [
        { [`${c0}.resources`]: { requests: { pods: '1' } } },
        `${c0}.resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers`,
      ],
      [
        { [`${c0}.resources`]: { limits: { 'x.io/gpu': '2' }, requests: { 'x.io/gpu': '1' } } },
        `${c0}.resources.requests: Invalid value: "1": must be equal to x.io/gpu limit of 2`,
      ],
      [
        { [`${c0}.resources`]: { requests: { 'x.io/gpu': '1' } } },
        `${c0}.resources.limits: Required value: Limit must be set for non overcommitable resources`,
      ],
      [
        { [`${c0}.resources`]: { limits: { 'hugepages-2Mi': '4Mi' } } },
        `${c0}.resources: Forbidden: HugePages require cpu or memory`,
      ],
      [
        { [`${c0}.resources`]: { limits: { cpu: '1', 'hugepages-2Mi': '3Mi' } } },
        `${c0}.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${c0}.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
      ],
      [
        { [`${c0}.resources`]: { claims: [{ name: 'c' }] } },
        `${c0}.resources.claims[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims which is empty`,
      ],
      [
        {
          'spec.resourceClaims': [{ name: 'c', resourceClaimName: 'x' }],
          [`${c0}.resources`]: { claims: [{ name: 'c' }, { name: 'c' }] },
        },
        `${c0}.resources.claims[1]: Duplicate value: "c"`,
      ],
      [
        { 'spec.resourceClaims': [{ name: 'c' }] },
        'spec.resourceClaims[0]: Invalid value: {"Name":"c","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      ],
      [
        { 'spec.resourceClaims': [{ name: '', resourceClaimName: 'x' }] },
        'spec.resourceClaims[0].name: Required value',
      ],
      [
        { 'spec.resources': { requests: { cpu: '1' } }, [`${c0}.resources`]: { requests: { cpu: '2' } } },
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
      ],
      [
        { 'spec.resources': { limits: { 'ephemeral-storage': '1Gi' } } },
        'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
      ],
      [
        {
          'spec.resources': { limits: { cpu: '1' } },
          [`${c0}.resources`]: { limits: { cpu: '2' }, requests: { cpu: '1' } },
        },
        'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
      ],
      [
        { 'spec.overhead': { gpu: '1' } },
        'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
        'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
      ],
    ],
  },
  54,
);
