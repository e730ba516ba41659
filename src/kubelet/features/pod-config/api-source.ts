import { fieldEquals } from '../../../api/selectors.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { inBackground } from '../../../base/background.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { reflect, withoutManagedFields } from '../../../api/client/reflector.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { pods as podType } from '../../../api/client/resource-types.ts';
import { isOlderVersion } from '../../../api/client/resource-version.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { PodSchema } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import { decode, formatDecodeError } from '../../../api/schema/decode.ts';
import type { RememberedPods } from './remembered-pods.ts';

export interface ApiPodSourceOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  /**
   * Resolves when the node is known. Nothing is requested before, because pods are admitted against their node
   * (upstream: nodeHasSynced).
   */
  readonly nodeKnown: () => Promise<void>;
  /** The pods that the API server last sent. */
  readonly remembered: RememberedPods;
  /** Receives all pods after each change. They are not `complete` while they come from the record of an earlier run. */
  readonly setPods: (pods: readonly Pod[], report: { complete: boolean }) => void;
  /**
   * Called with every version of a pod after it is stored. `listed` means that the API server has just sent its full
   * list.
   */
  readonly onChange: (change: { kind: 'pod'; pod: Pod } | { kind: 'listed' }) => void;
  readonly onInvalid: (pod: Pod, problems: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * If the API server has not sent its list after this time, it counts as unavailable, and the last known pods as wanted.
 */
const RECALL_AFTER_MS = 3000;

/**
 * The API server as a source of pods: those bound to this node, including mirror pods of static pods (upstream:
 * config/apiserver.go). Invariants:
 * 1. Until the API server has sent its full list, no pod on the node counts as unwanted.
 * 2. While the API server is unavailable, the last known state stays.
 * 3. A version older than the known one is ignored, except in a new full list.
 * 4. A pod that cannot be decoded does not affect others, and its last known version stays.
 */
export class ApiPodSource {
  readonly #options: ApiPodSourceOptions;
  readonly #byKey = new Map<string, Pod>();
  readonly #stop = new AbortController();
  #isListed = false;
  #recall: Timer | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ApiPodSourceOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, log } = this.#options;
    this.#recall = clock.setTimer(RECALL_AFTER_MS, () => this.#takeRemembered());
    this.#running ??= this.#run();
    inBackground(log, 'following the pods of the API server', this.#running);
  }

  async stop(): Promise<void> {
    this.#recall?.cancel();
    this.#stop.abort();
    await this.#running;
  }

  /** Whether this run of the agent has received the full list from the API server. */
  isListed(): boolean {
    return this.#isListed;
  }

  /** Returns the newest known version of a pod, from the watch or a response. */
  get(namespace: string, name: string): Pod | undefined {
    return this.#byKey.get(formatKey({ namespace, name }));
  }

  /**
   * Stores the pod of an API response, which often arrives before the watch event. Returns the pod as stored; undefined
   * if it cannot be decoded.
   */
  noteWritten(answered: Pod): Pod | undefined {
    const pod = this.#read(answered);
    const known = pod === undefined ? undefined : this.#byKey.get(formatKey(keyOf(pod)));
    if (
      pod !== undefined &&
      known?.metadata.uid === pod.metadata.uid &&
      !isOlderVersion(pod.metadata.resourceVersion, known.metadata.resourceVersion)
    )
      this.#byKey.set(formatKey(keyOf(pod)), pod);
    return pod;
  }

  async #run(): Promise<void> {
    const { client, nodeName, nodeKnown, clock, random, log } = this.#options;
    const stopped = new Promise<void>((resolve) =>
      this.#stop.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await Promise.race([nodeKnown(), stopped]);
    const sink = {
      replace: (items: readonly Pod[]) => this.#replace(items),
      event: (type: 'ADDED' | 'MODIFIED' | 'DELETED', pod: Pod) => this.#event(type, pod),
    };
    await reflect(
      {
        client,
        type: podType,
        namespace: '',
        fieldSelector: fieldEquals('spec.nodeName', nodeName),
        clock,
        random,
        log,
        sink,
        transform: withoutManagedFields,
      },
      this.#stop.signal,
    );
  }

  #takeRemembered(): void {
    const { remembered, log } = this.#options;
    const pods = remembered.pods();
    if (this.#isListed || pods.length === 0) return;
    log.warn('the API server is unavailable; using its last known pods', { pods: pods.length });
    for (const pod of pods) this.#byKey.set(formatKey(keyOf(pod)), pod);
    this.#report();
  }

  #replace(items: readonly Pod[]): void {
    const before = new Map(this.#byKey);
    this.#byKey.clear();
    for (const item of items) {
      const pod = this.#read(item) ?? before.get(formatKey(keyOf(item)));
      if (pod !== undefined) this.#byKey.set(formatKey(keyOf(pod)), pod);
    }
    this.#recall?.cancel();
    this.#isListed = true;
    this.#options.remembered.replace([...this.#byKey.values()]);
    this.#report();
    this.#options.onChange({ kind: 'listed' });
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED', given: Pod): void {
    const { remembered, onChange } = this.#options;
    const key = formatKey(keyOf(given));
    const known = this.#byKey.get(key);
    if (type === 'DELETED') {
      if (known === undefined || known.metadata.uid !== given.metadata.uid) return;
      this.#byKey.delete(key);
      remembered.forget(given.metadata.uid);
      return this.#report();
    }
    const pod = this.#read(given);
    if (
      pod === undefined ||
      (known?.metadata.uid === pod.metadata.uid &&
        isOlderVersion(pod.metadata.resourceVersion, known.metadata.resourceVersion))
    )
      return;
    if (known !== undefined && known.metadata.uid !== pod.metadata.uid) remembered.forget(known.metadata.uid);
    this.#byKey.set(key, pod);
    remembered.note(pod);
    this.#report();
    onChange({ kind: 'pod', pod });
  }

  #report(): void {
    this.#options.setPods([...this.#byKey.values()], { complete: this.#isListed });
  }

  /** Copies a pod without the fields that the agent does not use, such as those of a newer API. */
  #read(given: Pod): Pod | undefined {
    const { value, errors } = decode(PodSchema, given, { mode: 'lenient' });
    const problems =
      value.metadata.name === '' || value.metadata.uid === ''
        ? 'it has no name or no uid'
        : errors.map(formatDecodeError).join('; ');
    if (problems !== '') {
      this.#options.log.error('a pod of the API server cannot be decoded; its last known version is kept', {
        pod: podKey(value),
        problems,
      });
      this.#options.onInvalid(value, problems);
      return undefined;
    }
    delete value.metadata.managedFields;
    return value;
  }
}
