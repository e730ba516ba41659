import { readFileSync } from 'node:fs';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { printable } from '../../../base/printable.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import type { Event } from '../../../api/core/event.ts';
import type { ListOf } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import type { PlannedPod, Problem } from '../../features/server/local-api.ts';
import type { EvictionReport } from '../../model/eviction-report.ts';
import type { CommandName } from '../flags/flags-commands.ts';
import type { ApiClient } from './api-client.ts';
import type { CommandLine } from './command-line.ts';
import type { Terminal } from './exec-session.ts';
import type { ImageGcReport } from '../../model/image-gc-report.ts';
import { imageGcText } from './image-table.ts';
import { evictionText } from './eviction-table.ts';
import { eventTable } from './event-table.ts';
import { explanationText } from '../../../api/explanation/explanation-text.ts';
import { podTable } from './pod-table.ts';

export interface CommandIo {
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly nowMs: () => number;
}

/** A command that queries the running agent. Resolves to the exit code. */
type Command = (line: CommandLine, io: CommandIo) => Promise<number>;

export const agentCommands: Readonly<Record<Exclude<CommandName, 'completion' | 'version'>, Command>> = {
  pods,
  explain,
  events,
  logs,
  exec,
  plan,
  evict,
  images,
};

async function pods(line: CommandLine, { client, terminal, nowMs }: CommandIo): Promise<number> {
  const list = await client.json<ListOf<Pod>>('/pods');
  const items = list.items.filter(
    (pod) => line.values['namespace'] === undefined || pod.metadata.namespace === line.values['namespace'],
  );
  if (line.values['output'] === 'name') {
    terminal.out(printable(items.map((pod) => `${pod.metadata.name}\n`).join('')));
    return 0;
  }
  terminal.out(line.values['output'] === 'json' ? json({ ...list, items }) : printable(podTable(items, nowMs())));
  for (const { message } of await client.json<Problem[]>('/api/problems')) terminal.error(printable(`${message}\n`));
  return 0;
}

/**
 * Explains pods. The exit code is 0 if all requested pods are settled, else 1, so that scripts can wait for it. A
 * manifest with an error counts as a missing pod.
 */
async function explain(line: CommandLine, { client, terminal, nowMs }: CommandIo): Promise<number> {
  const all = await client.json<PodExplanation[]>('/explain');
  const [name] = line.positionals;
  const wanted =
    name === undefined ? all : [pick(all, { name, namespace: line.values['namespace'] }, (explanation) => explanation)];
  const unsettled = wanted.filter((explanation) => !explanation.settled);
  const problems = await client.json<Problem[]>('/api/problems');
  const isSettled = unsettled.length === 0 && (name !== undefined || !problems.some((problem) => problem.blocking));
  if (line.values['output'] === 'json') terminal.out(json(name === undefined ? wanted : wanted[0]));
  else {
    for (const { message } of problems) terminal.out(printable(`${message}\n`));
    for (const explanation of name === undefined ? unsettled : wanted)
      terminal.out(printable(explanationText(explanation, nowMs(), name !== undefined)));
    if (name === undefined && isSettled) terminal.out(`all ${all.length} pods are settled\n`);
  }
  return isSettled ? 0 : 1;
}

/** Prints events. The name may be that of a removed pod, so it is searched for among the events. */
async function events(line: CommandLine, { client, terminal, nowMs }: CommandIo): Promise<number> {
  const list = await client.json<ListOf<Event>>('/api/events');
  const [name] = line.positionals;
  const namespace = line.values['namespace'];
  const items = list.items.filter(
    ({ involvedObject }) =>
      (namespace === undefined || involvedObject.namespace === namespace) &&
      (name === undefined || isNamed(involvedObject, name)),
  );
  if (line.values['output'] === 'json') terminal.out(json({ ...list, items }));
  else if (items.length === 0)
    terminal.error(
      name === undefined ? 'no events within the last hour\n' : `no events of "${name}" within the last hour\n`,
    );
  else terminal.out(printable(eventTable(items, nowMs())));
  return 0;
}

/** Whether the object has this name. A static pod is also found by its name without the node's name. */
function isNamed({ namespace, name = '' }: Event['involvedObject'], wanted: string): boolean {
  const [inNamespace, bare] = wanted.includes('/') ? (wanted.split('/', 2) as [string, string]) : [namespace, wanted];
  return inNamespace === namespace && (name === bare || name.startsWith(`${bare}-`));
}

async function logs(line: CommandLine, { client, terminal }: CommandIo): Promise<number> {
  const pod = await findPod(line, client);
  const query = new URLSearchParams();
  for (const flag of ['follow', 'previous', 'timestamps']) if (line.given.has(flag)) query.set(flag, 'true');
  const { tail, since } = line.values;
  if (tail !== undefined && tail !== '-1') query.set('tailLines', tail);
  if (since !== undefined) query.set('sinceSeconds', String(Math.max(1, Math.ceil(duration(since) / 1000))));
  const container = line.values['container'] ?? line.positionals[1] ?? onlyContainer(pod);
  const path = ['containerLogs', pod.metadata.namespace, pod.metadata.name, container]
    .map((part) => encodeURIComponent(part ?? ''))
    .join('/');
  const response = await client.open(`/${path}?${query}`);
  for await (const chunk of response) terminal.out(chunk as Buffer);
  return 0;
}

async function exec(line: CommandLine, { client, terminal }: CommandIo): Promise<number> {
  if (line.rest.length === 0)
    throw new KubeletError(
      'Invalid',
      "exec needs a command after --, as in: kubelet exec web -- ls /\nSee 'kubelet exec --help'.",
    );
  const pod = await findPod(line, client);
  const container = line.values['container'] ?? onlyContainer(pod);
  const path = [
    'api/exec',
    ...[pod.metadata.namespace, pod.metadata.name, container].map((part) => encodeURIComponent(part ?? '')),
  ].join('/');
  const request = { command: line.rest, tty: line.given.has('tty'), stdin: line.given.has('stdin') };
  const { url } = await client.json<{ url: string }>(`/${path}`, request);
  // The WebSocket client, TLS and compression with it, is of use to no other command.
  const { runExec } = await import('./exec-session.ts');
  return runExec(url, request, terminal);
}

async function plan(line: CommandLine, { client, terminal }: CommandIo): Promise<number> {
  const [file] = line.positionals;
  if (file === undefined)
    throw new KubeletError(
      'Invalid',
      "plan needs a manifest file, or - for standard input.\nSee 'kubelet plan --help'.",
    );
  const planned = await client.json<PlannedPod[]>('/api/plan', manifestText(file));
  if (line.values['output'] === 'json') terminal.out(json(planned));
  else for (const pod of planned) terminal.out(printable(planText(pod)));
  return planned.every((pod) => pod.problems.length === 0) ? 0 : 1;
}

async function evict(line: CommandLine, { client, terminal }: CommandIo): Promise<number> {
  if (!line.given.has('dry-run'))
    throw new KubeletError(
      'Invalid',
      "evict only shows what would be evicted; add --dry-run. To evict a pod, use the eviction API: kubectl drain.\nSee 'kubelet evict --help'.",
    );
  const report = await client.json<EvictionReport>('/api/eviction');
  terminal.out(line.values['output'] === 'json' ? json(report) : printable(evictionText(report)));
  return 0;
}

async function images(line: CommandLine, { client, terminal }: CommandIo): Promise<number> {
  if (!line.given.has('gc') || !line.given.has('dry-run'))
    throw new KubeletError(
      'Invalid',
      "images only shows what garbage collection would remove; add --gc --dry-run. To remove one, use crictl rmi.\nSee 'kubelet images --help'.",
    );
  const report = await client.json<ImageGcReport>('/api/image-gc');
  terminal.out(line.values['output'] === 'json' ? json(report) : printable(imageGcText(report)));
  return 0;
}

function manifestText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new KubeletError('Invalid', `the manifest cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

function planText(planned: PlannedPod): string {
  const steps = planned.steps.map((step, index) => `  ${index + 1}. ${step}`);
  const nothing = planned.problems.length === 0 && steps.length === 0 ? ['  nothing to do'] : [];
  return `${[planned.pod, ...planned.problems.map((problem) => `  ! ${problem}`), ...steps, ...nothing].join('\n')}\n`;
}

function json(value: unknown): string {
  return printable(`${JSON.stringify(value, null, 2)}\n`);
}

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined)
    throw new KubeletError('Invalid', `--since: "${text}" is not a duration such as 30s, 10m or 1h30m`);
  return ms;
}

async function findPod(line: CommandLine, client: ApiClient): Promise<Pod> {
  const [name] = line.positionals;
  if (name === undefined)
    throw new KubeletError('Invalid', 'name a pod, as in: kubelet logs web (kubelet pods lists them)');
  const list = await client.json<ListOf<Pod>>('/pods');
  return pick(list.items, { name, namespace: line.values['namespace'] }, (pod) => pod.metadata);
}

/**
 * Returns the only item with this name. A static pod is also found by its name without the node's name, as in its
 * manifest.
 */
export function pick<T>(
  items: readonly T[],
  wanted: { name: string; namespace: string | undefined },
  meta: (item: T) => { name?: string; namespace?: string },
): T {
  const [namespace, name] = wanted.name.includes('/')
    ? (wanted.name.split('/', 2) as [string, string])
    : [wanted.namespace, wanted.name];
  const inNamespace = items.filter((item) => namespace === undefined || meta(item).namespace === namespace);
  const exact = inNamespace.filter((item) => meta(item).name === name);
  const found =
    exact.length > 0 ? exact : inNamespace.filter((item) => meta(item).name?.startsWith(`${name}-`) === true);
  if (found.length === 1) return found[0] as T;
  const names = (found.length > 0 ? found : items).map((item) => `${meta(item).namespace}/${meta(item).name}`);
  if (found.length > 1)
    throw new KubeletError(
      'Invalid',
      `"${wanted.name}" fits several pods: ${names.join(', ')}; give the full name, and the namespace with -n if several have it`,
    );
  throw new KubeletError(
    'NotFound',
    `no pod "${wanted.name}"; there ${names.length === 0 ? 'are none' : `is: ${names.join(', ')}`}`,
  );
}

function onlyContainer(pod: Pod): string {
  const byAnnotation = pod.metadata.annotations?.['kubectl.kubernetes.io/default-container'];
  const names = pod.spec.containers.map((container) => container.name);
  if (byAnnotation !== undefined && names.includes(byAnnotation)) return byAnnotation;
  if (names.length === 1) return names[0] as string;
  throw new KubeletError(
    'Invalid',
    `pod ${pod.metadata.name} has several containers: ${names.join(', ')}; choose with -c`,
  );
}
