/** docs/parity.md as text, from the tables of the agent. */
import { configFlags } from '../src/kubelet/cmd/flags/flags-config.ts';
import { agentFlags } from '../src/kubelet/cmd/flags/flags-agent.ts';
import { configFieldTests } from '../src/kubelet/model/config/testing/config-field-tests.ts';
import { honouredFields, honouredFlags } from '../src/kubelet/model/config/honoured-fields.ts';
import {
  endpoints,
  metricFamilies,
  reasonTables,
  reasonsNotYet,
} from '../src/kubelet/model/parity/interface-parity.ts';
import type { Parity, ParityState } from '../src/kubelet/model/parity/parity-state.ts';
import { podFieldTests, testsOfField } from '../src/kubelet/model/parity/testing/pod-field-tests.ts';
import { gateRows } from '../src/kubelet/model/parity/gate-parity.ts';
import { gateTests } from '../src/kubelet/model/parity/testing/gate-tests.ts';
import { computeFeatureGates, gateStates } from '../src/kubelet/model/config/feature-gates.ts';
import { podFieldRows } from '../src/kubelet/model/parity/pod-fields.ts';
import { podTypes } from '../src/kubelet/model/parity/pod-types.ts';
import { testCell, testLinks } from './parity-tests.ts';

const words: Readonly<Record<ParityState, string>> = { honoured: 'yes', partly: 'partly', notYet: '**not yet**' };
const gateWords: Readonly<Record<ParityState, string>> = { honoured: 'yes', partly: 'partly', notYet: 'no' };
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

const code = (text: string): string => `\`${text}\``;

function counted(rows: readonly Parity[]): string {
  const of = (state: ParityState): number => rows.filter((row) => row.state === state).length;
  return `${rows.length} in all: ${of('honoured')} yes, ${of('partly')} partly, ${of('notYet')} not yet`;
}

function fieldSection(): string {
  const flagOf = new Map(
    configFlags.flatMap(({ name, field }) => (field === undefined ? [] : [[field, `--${name}`] as const])),
  );
  const rows = Object.entries(honouredFields).map(([field, { state, note }]) => [
    code(field),
    flagOf.has(field) ? code(flagOf.get(field) ?? '') : '',
    words[state],
    note,
    testCell(configFieldTests.get(field) ?? []),
  ]);
  return `## KubeletConfiguration\n\n${counted(Object.values(honouredFields))}. If a field that has no effect yet is set, the agent logs this once at its start. Tests are named as in the section on pods.\n\n${table(['Field', 'Flag', 'Works', 'Note', 'Shown by'], rows)}`;
}

function flagSection(): string {
  const rows = Object.entries(honouredFlags).map(([flag, { state, note }]) => [code(`--${flag}`), words[state], note]);
  const ignored = agentFlags.filter((flag) => flag.ignored === true).map(({ name }) => code(`--${name}`));
  return `## Flags that set no field\n\n${table(['Flag', 'Works', 'Note'], rows)}\n\nAccepted without effect, because they are deprecated in upstream: ${ignored.join(', ')}.`;
}

function podSection(): string {
  const types = podTypes();
  const rows = types.flatMap(({ schema }) =>
    Object.keys(schema.fields).flatMap((name) => podFieldRows[schema.name]?.[name] ?? []),
  );
  const sections = types.map(({ schema, paths }) => {
    const fields = Object.keys(schema.fields).map((name) => {
      const row = podFieldRows[schema.name]?.[name];
      const shownBy = row === undefined || row.state === 'notYet' ? '' : testCell(testsOfField(schema.name, name));
      return [code(name), row === undefined ? '?' : words[row.state], row?.note ?? '', shownBy];
    });
    const shown = paths.slice(0, 4).map(code).join(', ');
    return `### ${schema.name}\n\nAt ${shown}${paths.length > 4 ? ` and ${paths.length - 4} more places` : ''}.\n\n${table(['Field', 'Works', 'Note', 'Shown by'], fields)}`;
  });
  const shownBy =
    'Each field that works names the tests that show it; those that begin with `integration` run on a real containerd.';
  return `## Pod spec\n\n${counted(rows)}. Types below a field that does not work yet are left out. ${shownBy}\n\n${sections.join('\n\n')}`;
}

function simpleSection(title: string, head: string, rows: Readonly<Record<string, Parity>>): string {
  return `## ${title}\n\n${table(
    [head, 'Works', 'Note'],
    Object.entries(rows).map(([name, { state, note }]) => [code(name), words[state], note]),
  )}`;
}

function gateCount(): string {
  const of = (state: ParityState): number => Object.values(gateRows).filter((row) => row.state === state).length;
  return `${Object.keys(gateRows).length} in all: ${of('honoured')} have upstream's effect, ${of('partly')} some of it, ${of('notYet')} none, for the reason in the note.`;
}

function gateSection(): string {
  const defaults = new Map(gateStates(computeFeatureGates({}).gates).map(({ name, enabled }) => [name, enabled]));
  const rows = Object.entries(gateRows).map(([name, { state, note }]) => [
    code(name),
    defaults.get(name) === true ? 'on' : 'off',
    gateWords[state],
    note,
    testCell([gateTests[name]?.test ?? []].flat()),
  ]);
  return `## Feature gates\n\nThe gates that upstream's kubelet reads and that can be set. Locked and unknown gates are refused. ${gateCount()} Gates of other components are accepted without effect.\n\n${table(['Gate', 'Default', 'Has its effect', 'Note', 'Shown by'], rows)}`;
}

function reasonSection(): string {
  const rows = Object.entries(reasonTables).map(([title, reasons]) => {
    const given = reasons.filter((reason) => !reasonsNotYet.has(reason));
    const missing = reasons.filter((reason) => reasonsNotYet.has(reason));
    return [title, given.map(code).join(', '), missing.map(code).join(', ')];
  });
  const reasonsWhy = [...reasonsNotYet].map(([reason, why]) => [code(reason), why]);
  return `## Reasons\n\nOn a node without an API server, events go to the log, to \`kubelet explain\` and to \`kubelet events\`.\n\n${table(['Where', 'Given', 'Not given'], rows)}\n\n${table(['Not given', 'Why'], reasonsWhy)}`;
}

export function renderParity(): string {
  return [
    '# Parity with upstream kubelet v1.36',
    'Made by `node scripts/parity.ts --write` from the tables in `src/kubelet/model`; a test fails if this file is not current, or if a field has no row. **yes**: as upstream; a note says what differs. **partly**: the note says what is missing. **not yet**: accepted and without effect.',
    fieldSection(),
    flagSection(),
    podSection(),
    gateSection(),
    simpleSection('HTTP endpoints', 'Path', endpoints),
    reasonSection(),
    simpleSection('Metric families', 'Family', metricFamilies),
    testLinks(
      [...configFieldTests.values(), ...Object.values(podFieldTests).flatMap((tests) => Object.values(tests))].flat(),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}
