/**
 * Sentences that a feature makes false. A document marks one behind its end: `<!-- false-when: NAME -->`, with one name or several and commas. The names are
 * computed from the tables of the code, so that a sentence such as "there is no X" is found the day that there is one.
 *
 * `kind.StatefulSet` · `group.resource.k8s.io` · `controller.cronjob-controller` · `admission.PodNodeSelector` · `control-plane-flag.NAME` · `metric.FAMILY`
 * · `agent.NAME` (a configuration field, a `--flag`, `Type.field` of a pod, or a path, as in the parity tables) · `cluster.dns` and the like, below
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { controllersTable } from '../src/control-plane/cmd/compose/controllers-table.ts';
import { describeFlags } from '../src/control-plane/cmd/flags/control-plane-flags.ts';
import { knownPlugins } from '../src/control-plane/admission/plugin-names.ts';
import { allResources } from '../src/control-plane/resources/all.ts';
import { metricGroups, namesIn } from '../src/kubelet/model/parity/metric-groups.ts';
import { upstreamControllers } from './docs-control-plane.ts';
import { parityOf } from './docs-works.ts';
import { upstreamKinds } from './upstream-kinds.ts';

export type FeatureState = 'present' | 'absent' | 'unknown';

/** What is no row of a table: the folder that makes it, and what leads to it. */
const clusterFeatures: ReadonlyMap<string, (root: string) => boolean> = new Map<string, (root: string) => boolean>([
  ['dns', (root) => existsSync(path.join(root, 'src/node-network/dns'))],
  ['service-routing', (root) => existsSync(path.join(root, 'src/node-network/service-routing'))],
  ['metrics-api', (root) => existsSync(path.join(root, 'src/control-plane/apiserver/metrics-api'))],
  ['joins', () => parityOf('--kubeconfig')?.state === 'honoured'],
  ['cel', (root) => existsSync(path.join(root, 'src/control-plane/cel'))],
  ['cloud-provider', (root) => existsSync(path.join(root, 'src/control-plane/controllers/service-load-balancer'))],
]);

const stateOf = (isPresent: boolean, isKnown = true): FeatureState =>
  isPresent ? 'present' : isKnown ? 'absent' : 'unknown';

/** A feature that works in part makes no sentence false. */
export function featureState(name: string, root: string): FeatureState {
  const dot = name.indexOf('.');
  const [family, rest] = [name.slice(0, dot), name.slice(dot + 1)];
  switch (family) {
    case 'kind':
      return stateOf(
        allResources.some(({ type }) => type.kind === rest),
        Object.values(upstreamKinds).flat().includes(rest),
      );
    case 'group':
      return stateOf(
        allResources.some(({ type }) => type.group === rest),
        rest in upstreamKinds,
      );
    case 'controller':
      return stateOf(
        controllersTable.some((each) => each.name === rest),
        upstreamControllers.includes(rest),
      );
    case 'admission': {
      const plugin = knownPlugins.find((each) => each.name === rest);
      return stateOf(plugin?.state === 'here', plugin !== undefined);
    }
    case 'control-plane-flag':
      return stateOf(describeFlags().some(({ name: flag }: { readonly name: string }) => flag === rest));
    case 'metric':
      return stateOf(
        metricGroups.some(({ stable, beta, alpha }) =>
          [stable, beta, alpha].some((list) => namesIn(list).includes(rest)),
        ),
      );
    case 'agent': {
      const parity = parityOf(rest);
      return stateOf(parity?.state === 'honoured', parity !== undefined);
    }
    case 'cluster': {
      const isPresent = clusterFeatures.get(rest);
      return isPresent === undefined ? 'unknown' : stateOf(isPresent(root));
    }
    default:
      return 'unknown';
  }
}

const marker = /<!-- false-when: ([^>]*?) -->/g;

/** Each mark names features that are known, and none that is there. */
export function checkFalseWhen(
  file: string,
  text: string,
  stateOfFeature: (name: string) => FeatureState,
): { file: string; line: number; message: string }[] {
  // What stands in backticks is about marks.
  const marked = text.replace(/`[^`\n]*`/g, (code) => ' '.repeat(code.length));
  return [...marked.matchAll(marker)].flatMap((match) => {
    const line = text.slice(0, match.index).split('\n').length;
    return (match[1] ?? '')
      .split(',')
      .map((name) => name.trim())
      .flatMap((name) => {
        const state = stateOfFeature(name);
        if (state === 'unknown')
          return [
            {
              file,
              line,
              message: `false-when: there is no feature ${JSON.stringify(name)} (scripts/docs-features.ts)`,
            },
          ];
        return state === 'present'
          ? [{ file, line, message: `the sentence before this mark is false now: there is ${name}` }]
          : [];
      });
  });
}

/** Sections that say what there is not. */
const aboutMissing = /^##+ .*\b(missing|not here)\b/i;

/** In such a section each paragraph that denies something has a mark, or is made from code. */
export function checkMissingSections(file: string, text: string): { file: string; line: number; message: string }[] {
  const findings: { file: string; line: number; message: string }[] = [];
  let isAbout = false;
  let isMade = false;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.startsWith('#')) isAbout = aboutMissing.test(line);
    if (/^<!-- [\w-]+:begin -->$/.test(line)) isMade = true;
    if (
      isAbout &&
      !isMade &&
      /\b(no|not|nothing)\b/i.test(line) &&
      !line.startsWith('#') &&
      !line.includes('<!-- false-when: ')
    )
      findings.push({
        file,
        line: index + 1,
        message:
          'says what there is not without naming the feature that would make it false: <!-- false-when: NAME -->',
      });
    if (/^<!-- [\w-]+:end -->$/.test(line)) isMade = false;
  }
  return findings;
}
