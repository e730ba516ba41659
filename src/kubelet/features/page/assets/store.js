// What the page knows: the newest state and usage, and the figures of the last minutes.

/**
 * @typedef {import('../page-state.ts').PageState} PageState
 * @typedef {import('../page-state.ts').PageUsage} PageUsage
 * @typedef {import('../page-state.ts').PageUse} PageUse
 * @typedef {import('../page-state.ts').PagePod} PagePod
 * @typedef {PageUsage['pods'][number]} PodUsage
 * @typedef {PageUsage['node'] & { atMs: number }} NodeSample
 * @typedef {PodUsage & { atMs: number }} PodSample
 */

/** Samples kept of the node and of each pod. */
const SAMPLES = 150;

export class Store {
  /** @type {PageState | undefined} */
  state;
  /** @type {PageUsage | undefined} */
  usage;
  /** @type {NodeSample[]} */
  nodeSamples = [];
  /** @type {Map<string, PodSample[]>} */
  podSamples = new Map();
  /** @type {Map<string, PodUsage>} */
  #uses = new Map();
  /** @type {Map<string, PagePod>} */
  #pods = new Map();

  /** @param {PageState} state */
  setState(state) {
    this.state = state;
    this.#pods = new Map(state.pods.map((pod) => [pod.uid, pod]));
    for (const uid of this.podSamples.keys()) if (!this.#pods.has(uid)) this.podSamples.delete(uid);
  }

  /** @param {NodeSample[]} history */
  setHistory(history) {
    const before = this.nodeSamples[0]?.atMs ?? Infinity;
    this.nodeSamples = [...history.filter(({ atMs }) => atMs < before), ...this.nodeSamples].slice(-SAMPLES);
  }

  /** @param {PageUsage} usage */
  setUsage(usage) {
    const { atMs } = usage;
    this.usage = usage;
    if (this.nodeSamples.at(-1)?.atMs !== atMs) keep(this.nodeSamples, { ...usage.node, atMs });
    this.#uses = new Map(usage.pods.map((use) => [use.uid, use]));
    for (const use of usage.pods) {
      const samples = this.podSamples.get(use.uid) ?? [];
      this.podSamples.set(use.uid, samples);
      if (samples.at(-1)?.atMs !== atMs) keep(samples, { ...use, atMs });
    }
  }

  /** @param {string} uid */
  use(uid) {
    return this.#uses.get(uid);
  }

  /** @param {string} uid */
  pod(uid) {
    return this.#pods.get(uid);
  }
}

/**
 * @template Sample
 * @param {Sample[]} samples
 * @param {Sample} sample
 */
function keep(samples, sample) {
  samples.push(sample);
  if (samples.length > SAMPLES) samples.shift();
}
