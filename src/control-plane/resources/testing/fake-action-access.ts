import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import { conflict, notFound } from '../../../api/status/api-status-error.ts';
import type { ActionAccess, ActionServices } from '../../model/resource-definition.ts';
import { nowMs } from './rules-fixture.ts';

interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** A pod and disruption budgets for the actions of the server. Every write creates a new version. */
export class FakeActionAccess implements ActionAccess<Pod> {
  readonly namespace = 'default';
  readonly name = 'web';
  readonly user = { name: 'tester', groups: [] };
  readonly nowMs = nowMs;
  readonly dryRun: boolean;
  /** The pod; undefined after its deletion. */
  pod: Pod | undefined;
  budgets: readonly PodDisruptionBudget[];
  readonly deletions: DeleteOptions[] = [];
  /** Called before each write, for concurrent changes of other clients. */
  meanwhile: () => void = () => undefined;
  readonly services: ActionServices = {
    apiAudiences: [],
    signServiceAccountToken: () => Promise.reject(new Error('no tokens here')),
  };

  constructor(
    pod: Pod,
    { budgets = [], dryRun = false }: { budgets?: readonly PodDisruptionBudget[]; dryRun?: boolean } = {},
  ) {
    this.pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: '10' } };
    this.budgets = budgets;
    this.dryRun = dryRun;
  }

  get(): Promise<Pod> {
    return this.pod === undefined
      ? Promise.reject(notFound({ group: '', plural: 'pods' }, this.name))
      : Promise.resolve(this.pod);
  }

  async update(change: (current: Pod) => Pod): Promise<Pod> {
    this.meanwhile();
    const next = change(await this.get());
    this.pod = {
      ...next,
      metadata: { ...next.metadata, resourceVersion: String(Number(next.metadata.resourceVersion) + 1) },
    };
    return this.pod;
  }

  async delete(options: DeleteOptions): Promise<void> {
    const { metadata } = await this.get();
    if (options.resourceVersion !== undefined && options.resourceVersion !== metadata.resourceVersion)
      throw conflict({ group: '', plural: 'pods' }, this.name, 'precondition');
    this.deletions.push(options);
    this.pod = undefined;
  }

  list<U extends ApiObject>(type: ResourceType<U>): readonly U[] {
    // The only kind that is asked for.
    return (type.plural === 'poddisruptionbudgets' ? this.budgets : []) as unknown as readonly U[];
  }

  updateOther<U extends ApiObject>(
    _: ResourceType<U>,
    { name }: { name: string },
    change: (current: U) => U,
  ): Promise<U> {
    this.meanwhile();
    const current = this.budgets.find(({ metadata }) => metadata.name === name);
    const next = change(current as unknown as U);
    this.budgets = this.budgets.map((each) => (each === current ? (next as unknown as PodDisruptionBudget) : each));
    return Promise.resolve(next);
  }
}
