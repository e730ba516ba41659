import type { Context, Hono } from 'hono';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { addCheckpointRoute } from './checkpoint.ts';
import type { CheckpointSources } from './checkpoint.ts';
import { addDebugRoutes } from './debug-routes.ts';
import type { DebugSources } from './debug-routes.ts';
import { checkLogQuery } from './log-query.ts';
import { addSystemLogRoutes } from './system-logs.ts';
import type { SystemLogSources } from './system-logs.ts';
import { addDisabledRoutes, createOpenApp, refuseOtherMethods } from './open-app.ts';
import type { OpenSources } from './open-app.ts';
import { addConfigRoute, addRunningPodsRoutes, logResponse } from './pod-routes.ts';
import type { ContainerTarget, PodViews } from './pod-routes.ts';

/** The data and operations of the secure server, as small interfaces that the compose files implement. */
export interface KubeletAppSources extends OpenSources, PodViews, CheckpointSources, SystemLogSources, DebugSources {
  /**
   * Runs a command to completion. Returns both outputs, standard output first. Rejects with NotFound, and with Internal
   * for a command that fails.
   */
  run(target: ContainerTarget & { uid: string }, command: readonly string[]): Promise<Uint8Array>;
  /** Returns why each unsettled pod is not settled. */
  explain(): readonly PodExplanation[];
}

/** The settings of KubeletConfiguration, and feature gates. */
export interface KubeletAppOptions {
  readonly debuggingHandlers: boolean;
  readonly profilingHandler: boolean;
  readonly debugFlagsHandler: boolean;
  readonly systemLogHandler: boolean;
  readonly systemLogQuery: boolean;
  /** The gates ComponentFlagz, ComponentStatusz, ContainerCheckpoint and PodLogsQuerySplitStreams. */
  readonly flagz: boolean;
  readonly statusz: boolean;
  readonly checkpoints: boolean;
  readonly splitLogStreams: boolean;
}

/** Returns the options that the configuration and the feature gates enable. */
export function kubeletAppOptions({ server, gates }: Pick<KubeletConfig, 'server' | 'gates'>): KubeletAppOptions {
  const { debuggingHandlers, profilingHandler, debugFlagsHandler, systemLogHandler, systemLogQuery } = server;
  return {
    debuggingHandlers,
    profilingHandler,
    debugFlagsHandler,
    systemLogHandler,
    systemLogQuery: systemLogQuery && gates.enabled('NodeLogQuery'),
    flagz: gates.enabled('ComponentFlagz'),
    statusz: gates.enabled('ComponentStatusz'),
    checkpoints: gates.enabled('ContainerCheckpoint'),
    splitLogStreams: gates.enabled('PodLogsQuerySplitStreams'),
  };
}

const streams = [
  '/exec/:namespace/:pod/:container',
  '/exec/:namespace/:pod/:uid/:container',
  '/attach/:namespace/:pod/:container',
  '/attach/:namespace/:pod/:uid/:container',
  '/portForward/:namespace/:pod',
  '/portForward/:namespace/:pod/:uid',
];

/** Creates the paths of the secure server behind its guard, except raw connections. */
export function createKubeletApp(sources: KubeletAppSources, options: KubeletAppOptions): Hono {
  const app = createOpenApp(sources);
  if (options.debuggingHandlers) addGuardedRoutes(app, sources, options);
  else addDisabledRoutes(app);
  refuseOtherMethods(app);
  return app;
}

function addGuardedRoutes(app: Hono, sources: KubeletAppSources, options: KubeletAppOptions): void {
  app.get('/containerLogs/:namespace/:pod/:container', (context) =>
    containerLogs(context, sources, options.splitLogStreams),
  );
  for (const path of ['/run/:namespace/:pod/:container', '/run/:namespace/:pod/:uid/:container'])
    app.post(path, (context) => run(context, sources));
  // Requests with an upgrade do not reach this handler.
  for (const path of streams)
    app.on(['GET', 'POST'], path, (context) => context.text('Upgrade request required\n', 500));
  addRunningPodsRoutes(app, sources);
  addConfigRoute(app, sources);
  // Upstream has no such path: the current explanation, for clients that query the whole cluster.
  app.get('/explain', (context) => context.json(sources.explain()));
  if (options.checkpoints) addCheckpointRoute(app, sources);
  addSystemLogRoutes(app, sources, options);
  addDebugRoutes(app, sources, options);
}

/**
 * Returns logs (upstream: getContainerLogs). A failure other than an invalid query has status 400 and its text, which
 * the API server shows.
 */
async function containerLogs(context: Context, sources: KubeletAppSources, splitStreams: boolean): Promise<Response> {
  const { namespace = '', pod = '', container = '' } = context.req.param();
  const checked = checkLogQuery(new URL(context.req.url).searchParams, splitStreams);
  if (checked.outcome !== 'query') return context.text(checked.problem, checked.outcome === 'invalid' ? 422 : 400);
  try {
    return await logResponse(context, sources, { namespace, pod, container }, checked.query);
  } catch (error) {
    return context.text(errorMessage(error), isKind(error, 'NotFound') ? 404 : 400);
  }
}

/** Runs a command. Its arguments are separated by spaces, without quoting (upstream: getRun). */
async function run(context: Context, sources: KubeletAppSources): Promise<Response> {
  const { namespace = '', pod = '', container = '', uid = '' } = context.req.param();
  if (!sources.pods().some(({ metadata }) => metadata.name === pod && metadata.namespace === namespace))
    return context.text('pod does not exist', 404);
  const out = await sources.run({ namespace, pod, uid, container }, (context.req.query('cmd') ?? '').split(' '));
  return context.body(new Uint8Array(out), 200, { 'Content-Type': 'application/json' });
}
