/** The tables of docs/control-plane.md, from what the control plane is made of: they cannot promise more than it has. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { knownPlugins } from '../src/control-plane/admission/plugin-names.ts';
import { builtinPlugins } from '../src/control-plane/scheduler/config/plugin-points.ts';
import { controllersTable } from '../src/control-plane/cmd/compose/controllers-table.ts';
import { describeFlags } from '../src/control-plane/cmd/flags/control-plane-flags.ts';
import type { ResourceDefinition } from '../src/control-plane/model/resource-definition.ts';
import { allResources } from '../src/control-plane/resources/all.ts';
import { insteadOf, servedElsewhere, upstreamKinds } from './upstream-kinds.ts';

const ALL_VERBS = 8;

const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    `| ${heads.join(' | ')} |`,
    `|${heads.map(() => '---|').join('')}`,
    ...rows.map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`),
  ].join('\n');

function flagsTable(): string {
  return table(
    ['Flag', 'Default', 'Meaning'],
    describeFlags().map(({ name, default: byDefault, help }) => [
      `\`--${name}\``,
      byDefault === '' ? '' : `\`${byDefault}\``,
      help,
    ]),
  );
}

function kindsTable(): string {
  const byGroup = [...allResources].sort(
    (left, right) => left.type.group.localeCompare(right.type.group) || left.type.kind.localeCompare(right.type.kind),
  );
  const rows = byGroup.map((definition) => {
    const { type, verbs } = definition;
    const groupVersion = type.group === '' ? type.version : `${type.group}/${type.version}`;
    return [
      groupVersion,
      `${type.kind}${type.namespaced ? '' : ' *'}`,
      subresourcesOf(definition)
        .map((name) => `\`${name}\``)
        .join(', '),
      verbs === undefined || verbs.length === ALL_VERBS ? 'all' : verbs.join(', '),
    ];
  });
  return table(['Group and version', 'Kind', 'Subresources', 'Verbs'], rows);
}

function subresourcesOf({ hasStatus, views = [], actions = [], connects = [] }: ResourceDefinition): readonly string[] {
  return [...(hasStatus === true ? ['status'] : []), ...[...views, ...actions, ...connects].map(({ name }) => name)];
}

/** Those of kube-controller-manager that a cluster of these kinds could have, in no order; what is not here is said to be missing. */
export const upstreamControllers: readonly string[] = [
  'bootstrap-signer-controller',
  'certificatesigningrequest-approving-controller',
  'certificatesigningrequest-cleaner-controller',
  'certificatesigningrequest-signing-controller',
  'cronjob-controller',
  'daemonset-controller',
  'deployment-controller',
  'disruption-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'ephemeral-volume-controller',
  'garbage-collector-controller',
  'horizontal-pod-autoscaler-controller',
  'job-controller',
  'legacy-serviceaccount-token-cleaner-controller',
  'namespace-controller',
  'node-ipam-controller',
  'node-lifecycle-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-binder-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
  'pod-garbage-collector-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'resourcequota-controller',
  'root-ca-certificate-publisher-controller',
  'service-cidr-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'statefulset-controller',
  'taint-eviction-controller',
  'token-cleaner-controller',
  'ttl-after-finished-controller',
  'ttl-controller',
  'volumeattributesclass-protection-controller',
];

/** What a user notices of it when one is missing. */
const missed: Readonly<Record<string, string>> = {
  'persistentvolume-attach-detach-controller': 'no VolumeAttachments are created',
};

const CONTROLLERS_FILE = 'src/control-plane/cmd/compose/controllers-table.ts';

function controllersTableText(root: string): string {
  const source = readFileSync(path.join(root, CONTROLLERS_FILE), 'utf8');
  const fileOf = (factory: string): string =>
    path.posix.join(
      path.posix.dirname(CONTROLLERS_FILE),
      new RegExp(`\\b${factory}\\b[^;]* from '([^']+)'`).exec(source)?.[1] ?? '',
    );
  const rows = controllersTable.map(({ name, account }) => {
    const [, entry = ''] = source.split(`name: '${name}'`);
    const file = fileOf(/\b(create[A-Z]\w+)/.exec(entry)?.[1] ?? '');
    return [`\`${name}\``, account === undefined ? 'the controller manager itself' : `\`${account}\``, `\`${file}\``];
  });
  const missing = upstreamControllers.filter((name) => !controllersTable.some((each) => each.name === name));
  const noticed = missing.flatMap((name) => missed[name] ?? []);
  return `${table(['Controller', 'Account', 'File'], rows)}\n\nControllers of upstream that do not exist here: ${missing.map((name) => `\`${name}\``).join(', ')}.${noticed.length === 0 ? '' : ` Effect: ${noticed.join('; ')}.`}`;
}

/** Kinds of upstream's, by group, that are not served. */
function missingKinds(): readonly (readonly [group: string, kinds: readonly string[]])[] {
  const isServed = (group: string, kind: string): boolean =>
    servedElsewhere.includes(kind) || allResources.some(({ type }) => type.group === group && type.kind === kind);
  return Object.entries(upstreamKinds)
    .map(([group, kinds]) => [group, kinds.filter((kind) => !isServed(group, kind))] as const)
    .filter(([, kinds]) => kinds.length > 0);
}

function missingKindsTable(): string {
  const rows = missingKinds().flatMap(([group, kinds]) =>
    kinds.map((kind) => [group === '' ? 'v1' : group, kind, insteadOf[kind] ?? '']),
  );
  return rows.length === 0 ? 'None.' : table(['Group', 'Kind that is missing', 'Instead'], rows);
}

/** For README.md: one sentence, so that it promises no more than there is. */
export function missingKindsSentence(): string {
  const total = Object.values(upstreamKinds).flat().length;
  const missing = missingKinds().flatMap(([, kinds]) => kinds);
  if (missing.length === 0)
    return `The control plane serves all ${total} kinds that Kubernetes v1.36 has in a stable version.`;
  return `Of the ${total} kinds that Kubernetes v1.36 has in a stable version, the control plane serves ${total - missing.length}. Missing are: ${missing.join(', ')}.`;
}

/** Where a plugin is: the file that says its name and that the compose files use. */
function admissionFiles(root: string): ReadonlyMap<string, string> {
  const composed = globSync('src/control-plane/cmd/**/*.ts', { cwd: root })
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n');
  const sources = globSync(['src/control-plane/admission/**/*.ts', 'src/control-plane/authz/rbac/rbac-escalation.ts'], {
    cwd: root,
    exclude: ['**/*.test.ts'],
  }).sort();
  const used = sources.filter((file) => composed.includes(`../${path.posix.relative('src/control-plane', file)}`));
  return new Map(
    used.flatMap((file) =>
      [...readFileSync(path.join(root, file), 'utf8').matchAll(/\bname: '([A-Z]\w+)'/g)].map(
        (match) => [match[1] ?? '', file] as const,
      ),
    ),
  );
}

function admissionTable(root: string): string {
  const files = admissionFiles(root);
  const rows = knownPlugins
    .filter(({ state }) => state === 'here')
    .map(({ name, isOn }) => [
      name,
      isOn ? 'on' : 'off',
      `\`${files.get(name) ?? 'no file of this plugin was found'}\``,
    ]);
  const missing = knownPlugins.filter(({ state }) => state === 'absent').map(({ name }) => name);
  return `${table(['Plugin', 'By default', 'File'], rows)}\n\nPlugins of upstream that do not exist here: ${missing.join(', ')}. A flag that enables one of them is refused.`;
}

function schedulerTable(root: string): string {
  const rows = builtinPlugins.map((plugin) => {
    const file = `src/control-plane/scheduler/plugins/${plugin.name.replace(/(?<!^)([A-Z])/g, '-$1').toLowerCase()}.ts`;
    const elsewhere: Readonly<Record<string, string>> = {
      PrioritySort: 'queue/scheduling-queue.ts',
      DefaultPreemption: 'preemption/compute-preemption.ts',
      DefaultBinder: 'run/bind-pod.ts',
    };
    return [
      plugin.name,
      plugin.points.join(', '),
      'weight' in plugin ? String(plugin.weight) : '',
      `\`${existsSync(path.join(root, file)) ? file : `src/control-plane/scheduler/${elsewhere[plugin.name] ?? ''}`}\``,
    ];
  });
  return table(['Plugin', 'Extension points', 'Weight', 'File'], rows);
}

/** The document with each block between `<!-- NAME:begin -->` and `<!-- NAME:end -->` as the code has it. */
export function withControlPlaneTables(text: string, root: string): string {
  const blocks: Readonly<Record<string, () => string>> = {
    flags: flagsTable,
    kinds: kindsTable,
    'missing-kinds': missingKindsTable,
    controllers: () => controllersTableText(root),
    'admission-plugins': () => admissionTable(root),
    'scheduler-plugins': () => schedulerTable(root),
  };
  return Object.entries(blocks).reduce((whole, [name, render]) => {
    const block = new RegExp(`(<!-- ${name}:begin -->\\n)[\\s\\S]*?(<!-- ${name}:end -->)`);
    return whole.replace(block, (_, begin: string, end: string) => `${begin}${render()}\n${end}`);
  }, text);
}
