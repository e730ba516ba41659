import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { BindingPlugin, BindingSteps } from '../framework/binding-plugin.ts';
import { bindPod, isBoundTo } from './bind-pod.ts';
import type { BindResult } from './bind-pod.ts';
import type { SchedulerContext } from './context.ts';

/** The time limit for permits, as in upstream. */
const PERMIT_LIMIT_MS = 15 * 60_000;
const STEP_LIMIT_MS = 600_000;

export interface Chosen {
  readonly steps: BindingSteps;
  /** The pod as it was scheduled, without its node. Plugins key their cycle state by this object. */
  readonly pod: Pod;
  readonly nodeName: string;
}

/** Whether plugins of modules have steps before the volumes are bound. */
export const hasReservations = ({ reserve, permit }: BindingSteps): boolean => reserve.length + permit.length > 0;

/**
 * Runs Reserve, then Permit (upstream: RunReservePluginsReserve, RunPermitPlugins). Rejects with the plugin's message.
 */
export async function reserveAndPermit(context: SchedulerContext, chosen: Chosen): Promise<void> {
  for (const plugin of chosen.steps.reserve) await runStep(context, chosen, { plugin, point: 'reserve' });
  for (const plugin of chosen.steps.permit) await runStep(context, chosen, { plugin, point: 'permit' });
}

/** Runs Unreserve in reverse order. Each plugin must accept it even if its Reserve did not run. Never rejects. */
export async function unreserve(context: SchedulerContext, chosen: Chosen): Promise<void> {
  for (const plugin of [...chosen.steps.reserve].reverse()) {
    await runStep(context, chosen, { plugin, point: 'unreserve' }).catch((error: unknown) =>
      context.log.warn('A plugin did not undo its reservation', { plugin: plugin.name, error: errorMessage(error) }),
    );
  }
}

export async function preBind(context: SchedulerContext, chosen: Chosen): Promise<void> {
  for (const plugin of chosen.steps.preBind) await runStep(context, chosen, { plugin, point: 'preBind' });
}

/** Runs PostBind. Failures are only logged, because the pod is bound. */
export async function postBind(context: SchedulerContext, chosen: Chosen): Promise<void> {
  for (const plugin of chosen.steps.postBind) {
    await runStep(context, chosen, { plugin, point: 'postBind' }).catch((error: unknown) =>
      context.log.warn('A postBind plugin failed', { plugin: plugin.name, error: errorMessage(error) }),
    );
  }
}

async function runStep(
  { clock, stopping }: SchedulerContext,
  { pod, nodeName }: Chosen,
  { plugin, point }: { readonly plugin: BindingPlugin; readonly point: Exclude<keyof BindingPlugin, 'name' | 'bind'> },
): Promise<void> {
  const work = plugin[point];
  if (work === undefined) return;
  const limitMs = point === 'permit' ? PERMIT_LIMIT_MS : STEP_LIMIT_MS;
  await withDeadline({ clock, limitMs, op: `${point} of plugin ${plugin.name}` }, () =>
    untilAborted(Promise.resolve(work(pod, nodeName)), stopping),
  );
}

/** Binds the pod. An interested extender comes first, then the first plugin that does not skip. Never rejects. */
export async function bindChosen(context: SchedulerContext, chosen: Chosen): Promise<BindResult> {
  const byExtender = await bindByExtender(context, chosen);
  if (byExtender !== undefined) return byExtender;
  const { steps, pod, nodeName } = chosen;
  for (const plugin of steps.bind) {
    if (plugin === 'default') return bindPod(context, pod, nodeName);
    try {
      const outcome = await withDeadline(
        { clock: context.clock, limitMs: STEP_LIMIT_MS, op: `bind of plugin ${plugin.name}` },
        () => untilAborted(plugin.bind?.(pod, nodeName) ?? Promise.resolve('skipped' as const), context.stopping),
      );
      if (outcome === 'bound') return { kind: 'bound' };
    } catch (error) {
      if (!context.stopping.aborted && (await isBoundTo(context, pod, nodeName))) return { kind: 'bound' };
      return { kind: 'failed', message: errorMessage(error) };
    }
  }
  return { kind: 'failed', message: 'no bind plugin has bound the pod: each skipped it' };
}

/** Lets an extender bind the pod. Returns undefined if no extender does (upstream: extendersBinding). */
async function bindByExtender(context: SchedulerContext, { pod, nodeName }: Chosen): Promise<BindResult | undefined> {
  const { extenders, stopping, log } = context;
  for (const extender of extenders) {
    if (!extender.binds || !extender.isInterestedIn(pod)) continue;
    try {
      await extender.bind(pod, nodeName, stopping);
      return { kind: 'bound' };
    } catch (error) {
      // The extender may have bound the pod although its response was lost.
      if (!stopping.aborted && (await isBoundTo(context, pod, nodeName))) return { kind: 'bound' };
      const message = `extender ${extender.name}: binding: ${errorMessage(error)}`;
      if (!extender.ignorable) return { kind: 'failed', message };
      log.warn('Skipping an extender that failed to bind and is ignorable', { error: message });
    }
  }
  return undefined;
}
