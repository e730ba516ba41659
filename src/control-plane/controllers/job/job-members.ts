import type { Job } from '../../../api/batch/job.ts';
import type { Informer } from '../../../api/client/informer.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { ControlledIndex, controllerUidsOf } from '../../controller-runtime/controller-ref.ts';
import { isSameSpec, MemberTally } from '../../controller-runtime/member-tally.ts';
import type { MemberCounts } from '../../controller-runtime/member-tally.ts';
import { isPodActive, isPodReady, isPodTerminating } from '../../controller-runtime/pod-facts.ts';
import { IndexSet } from './index-set.ts';
import { hasTrackingFinalizer, isIndexed, validIndex } from './job-facts.ts';
import type { JobPods } from './job-facts.ts';

export type JobPodTally = MemberTally<Job, Pod, Pod, JobMembers>;

/** Creates incremental counts of the pods of each job. */
export function createJobPodTally(jobs: Informer<Job>, pods: Informer<Pod>): JobPodTally {
  const index = new ControlledIndex(pods);
  return new MemberTally<Job, Pod, Pod, JobMembers>({
    sets: jobs,
    members: pods,
    setsOf: controllerUidsOf,
    membersOf: (job) => index.ofOwner(job),
    createCounts: (job) => new JobMembers(job),
  });
}

/** The pods that one job controls. A change of a pod has a constant cost. */
export class JobMembers implements MemberCounts<Job, Pod, Pod> {
  readonly #job: Job;
  readonly #active = new Set<Pod>();
  readonly #others = new Set<Pod>();
  readonly #indexes = new ActiveIndexes();
  #ready = 0;
  #terminating = 0;
  #restarts = 0;
  #strays = 0;

  constructor(job: Job) {
    this.#job = job;
  }

  /** Counts these pods, which the job must control. */
  static of(job: Job, pods: Iterable<Pod>): JobMembers {
    const members = new JobMembers(job);
    for (const pod of pods) members.add(pod);
    return members;
  }

  /** The number of pods that the selector no longer matches, and that must be released. */
  get strays(): number {
    return this.#strays;
  }

  get pods(): JobPods {
    return {
      active: this.#active.size,
      ready: this.#ready,
      terminating: this.#terminating,
      restarts: this.#restarts,
      activeIndexes: this.#indexes.all,
      others: [...this.#others],
      listActive: () => [...this.#active],
    };
  }

  isFor(job: Job): boolean {
    return isSameSpec(this.#job, job);
  }

  add(pod: Pod): Pod {
    this.#count(pod, 1);
    if (!this.#isSelected(pod)) return pod;
    if (isPodActive(pod)) this.#active.add(pod);
    else if (matters(this.#job, pod)) this.#others.add(pod);
    return pod;
  }

  remove(pod: Pod): void {
    this.#count(pod, -1);
    this.#active.delete(pod);
    this.#others.delete(pod);
  }

  #isSelected({ metadata }: Pod): boolean {
    return matchesLabelSelector(this.#job.spec.selector, metadata.labels ?? {});
  }

  #count(pod: Pod, by: 1 | -1): void {
    if (!this.#isSelected(pod)) {
      this.#strays += by;
      return;
    }
    this.#restarts += by * restartsOf(pod);
    if (isPodTerminating(pod)) this.#terminating += by;
    if (!isPodActive(pod)) return;
    if (isPodReady(pod)) this.#ready += by;
    const index = isIndexed(this.#job) ? validIndex(this.#job, pod) : undefined;
    if (index !== undefined) this.#indexes.count(index, by);
  }
}

/** Whether an inactive pod can still change its job. A failure policy evaluates all failed pods. */
function matters({ spec }: Job, pod: Pod): boolean {
  return (
    hasTrackingFinalizer(pod) ||
    isPodTerminating(pod) ||
    (spec.podFailurePolicy !== undefined && pod.status?.phase === 'Failed')
  );
}

function restartsOf({ status }: Pod): number {
  if (status?.phase !== 'Running' && status?.phase !== 'Pending') return 0;
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** The indexes with the number of their active pods. The set is built on first read, then updated. */
class ActiveIndexes {
  readonly #pods = new Map<number, number>();
  #set: IndexSet | undefined;

  get all(): IndexSet {
    return (this.#set ??= IndexSet.of(this.#pods.keys()));
  }

  count(index: number, by: 1 | -1): void {
    const pods = (this.#pods.get(index) ?? 0) + by;
    if (pods > 0) this.#pods.set(index, pods);
    else this.#pods.delete(index);
    if (pods === 0) this.#set = this.#set?.without(index);
    else if (pods === 1 && by === 1) this.#set = this.#set?.with(index);
  }
}
